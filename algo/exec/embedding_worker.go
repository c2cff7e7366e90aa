package exec

import (
	"slices"

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
	route.ByDim
	signs []compress.Signs
	// Where rows are hot, mixed has the bags with hot rows, and places these rows in shard.Hot.Signs.
	mixed  *route.Mixed
	places []int32
	ids    *IDs // those that the rank resolves, because its GPU has their rows
}

// split resolves the ids of a batch to signs by PS.
func (w *embeddingWorkerWork) split(i item) (role.Result, error) {
	ids := get[*IDs](i.store, i.Reads[0])
	part, err := ids.part(w.schema)
	if err != nil {
		return role.Result{}, err
	}
	var routed *resolved
	if w.plan.AllOnRanks() {
		none := &route.Routed{Bounds: make([]int32, w.plan.Owners()+1)}
		routed = &resolved{ByDim: route.ByDim{Routed: []*route.Routed{none}, Dims: []int{w.dim}}, ids: ids}
	} else {
		var onGPU *IDs
		if w.divided != nil {
			part, onGPU = w.divide(i.batch(), part)
		}
		routed = &resolved{ByDim: route.RouteByDim(w.numerics.pool, w.schema, part, w.plan), ids: onGPU}
		if err := routed.CheckApart(w.schema); err != nil {
			return role.Result{}, err
		}
	}
	if hot := w.plan.Hot(); w.hasHotRows() {
		routed.mixed = routed.Routed[0].Mixed(w.schema)
		for _, sign := range routed.ShardSigns(w.plan.Servers()) {
			place, _ := hot.Place(sign)
			routed.places = append(routed.places, place)
		}
	}
	var r role.Result
	for shard := range w.plan.Servers() {
		own := routed.ShardSigns(shard)
		signs := compress.Signs{Plain: own}
		if w.job.Wire.Index == job.IndexCompressed {
			signs = compress.PackSigns(own, w.schema.PrefixBits)
		}
		routed.signs = append(routed.signs, signs)
		r.Rows = append(r.Rows, int32(len(own)))
		r.SignBytes = append(r.SignBytes, unit.Bytes(signs.Size()))
		r.ValueBytes = append(r.ValueBytes, unit.Bytes(w.job.Wire.Precision.Size(routed.ShardValues(shard))))
	}
	i.store.set(i.Makes[0], routed)
	return r, nil
}

// pool joins the rows of all PSs and pools them.
func (w *embeddingWorkerWork) pool(i item) (role.Result, error) {
	routed := get[*resolved](i.store, i.Reads[0])
	if w.plan.AllOnRanks() {
		i.store.set(i.Makes[0], routed.ids)
		return role.Result{Bytes: unit.Bytes(routed.ids.Size())}, nil
	}
	var rows []float32
	all := routed.Values()
	for shard := range routed.signs {
		n := routed.ShardValues(shard)
		if n == 0 {
			continue // it may not have been asked
		}
		answers := get[[]compress.Values](i.store, i.Reads[1])
		part, err := answers[shard].Unpack(n)
		if err != nil {
			return role.Result{}, err
		}
		if n == all {
			rows = part
			continue
		}
		if rows == nil {
			joined := w.buffers.borrow(all)
			defer w.buffers.giveBack(joined)
			rows = joined[:0]
		}
		rows = append(rows, part...)
	}
	if routed.mixed != nil { // anything stands for the hot rows
		rows = slices.Grow(rows, all-len(rows))[:all]
	}
	pooled := w.buffers.borrow(routed.Samples() * w.schema.EmbeddingWidth())
	var scratch []float32
	if routed.Gathers() {
		scratch = w.buffers.borrow(all)
		defer w.buffers.giveBack(scratch)
	}
	winners := make([]int32, routed.Samples()*w.winners)
	routed.Pool(w.numerics.pool, pooled, winners, w.schema, routed.Gather(scratch, rows))
	if routed.mixed != nil {
		return role.Result{Bytes: w.storeMixed(i, routed, rows, pooled, packWinners(winners))}, nil
	}
	if w.divided != nil {
		return role.Result{Bytes: w.storeForGPU(i, routed, pooled, packWinners(winners))}, nil
	}
	return role.Result{Bytes: w.storePooled(i.store, i.Makes[0], pooled, packWinners(winners))}, nil
}

// gradValues returns the number of gradients of pooled embeddings that the rank of a batch sends.
func (n *numerics) gradValues(routed *resolved) int {
	if n.plan.AllOnRanks() {
		return 0 // the rank keeps them
	}
	if routed.mixed != nil {
		return routed.mixed.GradValues()
	}
	return routed.Samples() * n.width
}

// merge computes row gradient sums, by PS, from the gradients of pooled embeddings.
func (w *embeddingWorkerWork) merge(i item) (role.Result, error) {
	routed := get[*resolved](i.store, i.Reads[0])
	if w.plan.AllOnRanks() {
		puts := make([]*Put, w.plan.Servers())
		for server := range puts {
			puts[server] = &Put{Samples: int(i.Samples), Sums: compress.Pack(w.job.Wire.Precision, nil)}
		}
		i.store.set(i.Makes[0], puts)
		return role.Result{}, nil
	}
	packed, winners, err := w.gradients(i, routed)
	if err != nil {
		return role.Result{}, err
	}
	grads, err := packed.Unpack(w.gradValues(routed))
	if err != nil {
		return role.Result{}, err
	}
	if m := routed.mixed; m != nil {
		all := w.buffers.borrow(routed.Samples() * w.width)
		defer w.buffers.giveBack(all)
		m.ExpandGrads(all, grads)
		grads = all
	}
	if w.divided != nil {
		all := w.buffers.borrow(routed.Samples() * w.divided.full)
		defer w.buffers.giveBack(all)
		w.divided.expand(all, grads)
		grads = all
	}
	sums := w.sums(routed, grads, winners)
	puts, rest := make([]*Put, len(routed.signs)), sums
	for shard := range puts {
		n := routed.ShardValues(shard)
		puts[shard] = &Put{Samples: int(i.Samples), Signs: routed.signs[shard],
			Sums: compress.Pack(w.job.Wire.Precision, rest[:n:n])}
		rest = rest[n:]
	}
	i.store.setLeased(i.Makes[0], puts, w.lease(sums))
	return role.Result{}, nil
}

// gradients returns the gradients that a rank has sent of a batch and, if slots take maxima, the winners.
func (w *embeddingWorkerWork) gradients(i item, routed *resolved) (compress.Values, []int32, error) {
	if w.winners == 0 {
		return get[compress.Values](i.store, i.Reads[1]), nil, nil
	}
	pooled := get[*Pooled](i.store, i.Reads[1])
	winners, err := pooled.Winners.unpack(routed.Samples() * w.winners)
	if err == nil {
		err = routed.Routed[0].CheckWinners(w.schema, winners) // of all kinds of rows
	}
	return pooled.Values, winners, err
}

// sums returns the row gradient sums of all PSs, one after the other, in a borrowed buffer.
func (w *embeddingWorkerWork) sums(routed *resolved, grads []float32, winners []int32) []float32 {
	if routed.mixed != nil {
		cold := int(routed.Routed[0].Bounds[w.plan.Servers()]) // rows; the rank sums those of hot ones
		sums := w.buffers.borrow(cold * w.dim)
		routed.Routed[0].MergeRange(w.numerics.pool, sums, w.schema, grads, winners, w.dim, 0, cold)
		return sums
	}
	sums := w.buffers.borrow(routed.Values())
	routed.Merge(w.numerics.pool, routed.Cut(sums), w.schema, grads, winners)
	if !routed.Gathers() {
		return sums
	}
	byOwner := w.buffers.borrow(len(sums))
	routed.Scatter(byOwner, sums)
	w.buffers.giveBack(sums)
	return byOwner
}
