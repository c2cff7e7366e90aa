package exec

import (
	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/route"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// embeddingWorkerWork is the work of EWs.
type embeddingWorkerWork struct{ *numerics }

func (w *embeddingWorkerWork) byKind() map[role.WorkKind]workFunc {
	return map[role.WorkKind]workFunc{role.Split: w.split, role.Pool: w.pool, role.Merge: w.merge}
}

// resolved is a batch with its ids resolved to rows, and the distinct signs of each PS as they travel.
type resolved struct {
	*route.Routed
	signs []compress.Signs
}

// split resolves the ids of a batch to signs by PS.
func (w *embeddingWorkerWork) split(i item) (role.Result, error) {
	ids := get[*IDs](i.store, i.Reads[0])
	part, err := ids.part(len(w.schema.Slots))
	if err != nil {
		return role.Result{}, err
	}
	plan := w.job.ShardPlan()
	routed := &resolved{Routed: route.RouteOn(w.numerics.pool, w.schema, part, plan)}
	var r role.Result
	for shard := range plan.Servers() {
		own := routed.ShardSigns(shard)
		signs := compress.Signs{Plain: own}
		if w.job.Wire.Index == job.IndexCompressed {
			signs = compress.PackSigns(own, w.schema.PrefixBits)
		}
		routed.signs = append(routed.signs, signs)
		r.Rows = append(r.Rows, int32(len(own)))
		r.SignBytes = append(r.SignBytes, unit.Bytes(signs.Size()))
		r.ValueBytes = append(r.ValueBytes, unit.Bytes(w.job.Wire.Precision.Size(len(own)*w.dim)))
	}
	i.store.set(i.Makes[0], routed)
	return r, nil
}

// pool joins the rows of all PSs and pools them.
func (w *embeddingWorkerWork) pool(i item) (role.Result, error) {
	routed := get[*resolved](i.store, i.Reads[0])
	var rows []float32
	for shard := range routed.signs {
		n := len(routed.ShardSigns(shard))
		if n == 0 {
			continue // it may not have been asked
		}
		answers := get[[]compress.Values](i.store, i.Reads[1])
		part, err := answers[shard].Unpack(n * w.dim)
		if err != nil {
			return role.Result{}, err
		}
		if n == len(routed.Signs) {
			rows = part
			continue
		}
		if rows == nil {
			joined := w.buffers.borrow(len(routed.Signs) * w.dim)
			defer w.buffers.giveBack(joined)
			rows = joined[:0]
		}
		rows = append(rows, part...)
	}
	pooled := w.buffers.borrow(routed.Samples() * w.width)
	routed.PoolOn(w.numerics.pool, pooled, w.schema, rows, w.dim)
	return role.Result{Bytes: w.storeValues(i.store, i.Makes[0], pooled)}, nil
}

// merge computes row gradient sums, by PS, from the gradients of pooled embeddings.
func (w *embeddingWorkerWork) merge(i item) (role.Result, error) {
	routed := get[*resolved](i.store, i.Reads[0])
	packed := get[compress.Values](i.store, i.Reads[1])
	grads, err := packed.Unpack(routed.Samples() * w.width)
	if err != nil {
		return role.Result{}, err
	}
	sums := w.buffers.borrow(len(routed.Signs) * w.dim)
	routed.MergeOn(w.numerics.pool, sums, w.schema, grads, w.dim)
	puts := make([]*Put, len(routed.signs))
	for shard := range puts {
		lo, hi := int(routed.Bounds[shard]), int(routed.Bounds[shard+1])
		puts[shard] = &Put{
			Samples: int(i.Samples), Signs: routed.signs[shard],
			Sums: compress.Pack(w.job.Wire.Precision, sums[lo*w.dim:hi*w.dim:hi*w.dim]),
		}
	}
	i.store.setLeased(i.Makes[0], puts, w.lease(sums))
	return role.Result{}, nil
}
