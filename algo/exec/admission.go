package exec

import (
	"errors"
	"fmt"

	"tandem/algo/exec/dense"
	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// idsMax is the largest number of ids per sample and slot, averaged over a message from another process.
const idsMax = 4096

// Admission checks the payloads of messages that come from other processes.
type Admission struct {
	*numerics
	shards []*embedding.Shard // by PS; nil where it is not here
	dense  dense.Strategy
	layout *model.Layout
	cut    cut
	quorum bool // the gradients of some ranks may be dropped
}

func newAdmission(n *numerics, shards []*embedding.Shard, dense dense.Strategy, layout *model.Layout,
	quorum bool) *Admission {
	own := n.job.GroupsPerRank()
	return &Admission{n, shards, dense, layout, cut{n.job.TotalGroups(), own}, quorum}
}

// CheckPayload returns an error unless the payload of a message has the type, sizes and counts that the
// message, the job and the data set demand. The message comes from another process, and role.Admit has
// admitted it. CheckPayload does not look for values that are not finite; the work on the payload does.
//
// The error names the field. CheckPayload allocates no memory, except for signs that are unpacked where slots
// differ in dimension. Cost: a pass over bounds, over the scales of values in blocks, and over counts and
// positions of compressed ids.
func (a *Admission) CheckPayload(m msg.Message, payload Payload) error {
	if m.Rank < 0 || int(m.Rank) >= a.job.Roles.Ranks {
		return fmt.Errorf("%v: rank: %d, want 0 to %d", m, m.Rank, a.job.Roles.Ranks-1)
	}
	if err := a.checkSamples(m); err != nil {
		return fmt.Errorf("%v: %w", m, err)
	}
	size, err := a.checkContent(m, payload)
	if err == nil && size != m.Bytes-msg.HeaderBytes {
		err = fmt.Errorf("bytes: %d, but the payload has %d beside the header", m.Bytes, size)
	}
	if err != nil {
		return fmt.Errorf("%v: payload: %w", m, err)
	}
	return nil
}

// checkSamples checks the sample counts of a message.
func (a *Admission) checkSamples(m msg.Message) error {
	switch m.Kind {
	case msg.IDFeatures, msg.Samples, msg.GetEmbeddings, msg.Lookup, msg.Rows, msg.Embeddings,
		msg.PutGradients, msg.Put:
	default:
		return nil
	}
	if m.StepSamples < 1 || int(m.StepSamples) > a.job.Training.GlobalBatch {
		return fmt.Errorf("samples of the step: %d, want 1 to %d", m.StepSamples, a.job.Training.GlobalBatch)
	}
	if a.quorum && (m.Kind == msg.PutGradients || m.Kind == msg.Put) {
		return nil // StepSamples are those of the ranks that count
	}
	if want := a.cut.share(m); int(m.Samples) != want {
		return fmt.Errorf("samples: %d of the step's %d, but rank %d has %d of them", m.Samples,
			m.StepSamples, m.Rank, want)
	}
	return nil
}

// checkContent checks a payload, and returns the size that its message must state, without the header.
func (a *Admission) checkContent(m msg.Message, payload Payload) (unit.Bytes, error) {
	switch m.Kind {
	case msg.IDFeatures:
		if ids, ok := payload.(*IDs); ok {
			return unit.Bytes(ids.Size()), a.checkIDs(m, ids, a.schema)
		}
	case msg.Samples:
		if part, ok := payload.(Samples); ok {
			if part.Part == nil || part.Batch == nil {
				return 0, errors.New("samples: none")
			}
			return sampleBytes(part.Batch), a.checkPart(m, part.Part)
		}
	case msg.Lookup:
		if signs, ok := payload.(Signs); ok {
			_, _, err := a.checkSigns(m, signs.Signs)
			return unit.Bytes(signs.Size()), err
		}
	case msg.Put:
		if put, ok := payload.(*Put); ok {
			return unit.Bytes(put.Signs.Size() + put.Sums.Size()), a.checkPut(m, put)
		}
	case msg.Rows, msg.Embeddings, msg.PutGradients:
		if mixed, ok := payload.(*MixedRows); ok && m.Kind == msg.Embeddings && a.hasHotRows() {
			return unit.Bytes(mixed.Size()), mixed.check(m, a)
		}
		if a.plan.AllOnRanks() && m.Kind != msg.Rows {
			return checkOnRanks(a, m, payload)
		}
		if a.divided != nil && m.Kind == msg.Embeddings {
			return checkDivided(a, m, payload)
		}
		if a.winners > 0 && m.Kind != msg.Rows {
			return checkPooled(a, m, payload)
		}
		if values, ok := payload.(Values); ok && !(m.Kind == msg.Embeddings && a.hasHotRows()) {
			want := int(m.Samples) * a.width
			switch {
			case m.Kind == msg.Rows: // how many there must be is not known here
				return unit.Bytes(values.Size()), nil
			case a.hasHotRows(): // nor here, where the rank keeps some
				want = min(values.Len(), want)
			}
			return unit.Bytes(values.Size()), a.checkCount(values.Values, want)
		}
	case msg.Params, msg.Push:
		if values, ok := payload.(DenseShard); ok {
			return unit.Bytes(4 * len(values)), a.dense.CheckShard(m, values)
		}
	default:
		if payload == nil {
			return 0, nil
		}
	}
	return 0, fmt.Errorf("type: %T is not that of %v", payload, m.Kind)
}

// checkOnRanks is checkContent of Embeddings and PutGradients where the ranks have all rows: ids come to the
// rank, and no gradient goes back.
func checkOnRanks(a *Admission, m msg.Message, payload Payload) (unit.Bytes, error) {
	switch payload := payload.(type) {
	case *IDs:
		if m.Kind == msg.Embeddings {
			return unit.Bytes(payload.Size()), a.checkIDs(m, payload, a.schema)
		}
	case Values:
		if m.Kind == msg.PutGradients {
			return unit.Bytes(payload.Size()), a.checkCount(payload.Values, 0)
		}
	}
	return 0, fmt.Errorf("type: %T is not that of %v where ranks have the rows", payload, m.Kind)
}

// checkPooled is checkContent of Embeddings and PutGradients where slots take maxima. A rank, which has no
// ids, returns the winners of Embeddings as they are; an EW compares those of PutGradients with its ids, in
// CheckHeld.
func checkPooled(a *Admission, m msg.Message, payload Payload) (unit.Bytes, error) {
	pooled, ok := payload.(*Pooled)
	if !ok || m.Kind == msg.Embeddings && a.hasHotRows() {
		return 0, fmt.Errorf("type: %T is not that of %v where slots take maxima", payload, m.Kind)
	}
	want := int(m.Samples) * a.width
	if a.hasHotRows() { // the rank keeps some
		want = min(pooled.Values.Len(), want)
	}
	err := a.checkCount(pooled.Values, want)
	if err == nil {
		err = pooled.Winners.check(int(m.Samples) * a.winners)
	}
	return unit.Bytes(pooled.Size()), err
}

// checkDivided is checkContent of Embeddings where GPUs have some rows, and PSs the others.
func checkDivided(a *Admission, m msg.Message, payload Payload) (unit.Bytes, error) {
	both, ok := payload.(*PooledAndIDs)
	if !ok {
		return 0, fmt.Errorf("type: %T is not that of %v where ranks have some of the rows", payload,
			m.Kind)
	}
	err := a.checkCount(both.Values, int(m.Samples)*a.width)
	if err == nil {
		err = both.Winners.check(int(m.Samples) * a.winners)
	}
	if err == nil {
		err = a.checkIDs(m, &both.IDs, a.divided.gpu)
	}
	return unit.Bytes(both.Size()), err
}

// checkIDs checks the ids of the slots of a schema.
func (a *Admission) checkIDs(m msg.Message, ids *IDs, schema *batch.Schema) error {
	if err := a.cut.check(m, ids.Samples, ids.FirstGroup, ids.Bounds); err != nil {
		return err
	}
	slots, count := len(schema.Slots), 0
	if a.job.Wire.Index == job.IndexCompressed && slots > 0 {
		var err error
		if count, err = compress.CountIDs(ids.Packed, slots, ids.Samples); err != nil {
			return fmt.Errorf("ids: %w", err)
		}
		if len(ids.Columns) > 0 {
			return errors.New("ids: raw, want them compressed")
		}
	} else {
		if len(ids.Columns) != slots || len(ids.Packed) > 0 {
			return fmt.Errorf("ids: %d raw columns and %d compressed bytes, want %d columns",
				len(ids.Columns), len(ids.Packed), slots)
		}
		for slot, c := range ids.Columns {
			// The decoder checks that offsets ascend.
			if n := len(c.Offsets); n != ids.Samples+1 || int(c.Offsets[n-1]) != len(c.IDs) {
				return fmt.Errorf("ids of slot %d: %d offsets do not cut %d ids into %d samples", slot, n,
					len(c.IDs), ids.Samples)
			}
			count += len(c.IDs)
		}
	}
	if most := idsMax * slots * ids.Samples; count > most {
		return fmt.Errorf("ids: %d, want at most %d: %d a sample and slot", count, most, idsMax)
	}
	if len(ids.Weights) > 0 {
		_, err := ids.part(schema)
		return err
	}
	return nil
}

func (a *Admission) checkPart(m msg.Message, part *batch.Part) error {
	if err := a.cut.check(m, part.Samples, part.FirstGroup, part.Bounds); err != nil {
		return err
	}
	if got, want := len(part.Dense), part.Samples*len(a.schema.Dense); got != want {
		return fmt.Errorf("numeric features: %d, want %d", got, want)
	}
	if got, want := len(part.Labels), part.Samples*len(a.schema.Labels); got != want {
		return fmt.Errorf("labels: %d, want %d", got, want)
	}
	weights := 0
	if a.schema.Weight != "" {
		weights = part.Samples
	}
	if got := len(part.Weights); got != weights {
		return fmt.Errorf("weights: %d, want %d", got, weights)
	}
	return nil
}

// checkSigns returns the number of signs, and that of the values of their rows.
func (a *Admission) checkSigns(m msg.Message, signs compress.Signs) (count, values int, err error) {
	if len(signs.Packed) > 0 && (len(signs.Plain) > 0 || a.job.Wire.Index != job.IndexCompressed) {
		return 0, 0, errors.New("signs: compressed, want them plain")
	}
	if count, err = signs.Count(); err != nil {
		return 0, 0, fmt.Errorf("signs: %w", err)
	}
	if most := a.signsMax(m); count > most {
		return 0, 0, fmt.Errorf("signs: %d, want at most %d", count, most)
	}
	if len(a.dims.Lengths()) <= 1 {
		return count, count * a.dim, nil
	}
	plain, err := signs.Unpack()
	if err == nil {
		values, err = a.dims.Values(plain)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("signs: %w", err)
	}
	return count, values, nil
}

// countOf returns the numbers of signs of each dimension, of signs that checkSigns has accepted.
func (n *numerics) countOf(signs compress.Signs) []int {
	if len(n.dims.Lengths()) <= 1 {
		count, _ := signs.Count()
		return []int{count}
	}
	plain, _ := signs.Unpack()
	cut, _ := n.dims.Cut(plain)
	counts := make([]int, len(cut))
	for place, of := range cut {
		counts[place] = len(of)
	}
	return counts
}

// signsMax returns the largest number of distinct signs that the batch of a message may have.
func (a *Admission) signsMax(m msg.Message) int {
	rows := 0
	for _, slot := range a.schema.Slots {
		rows += slot.RowsPerID()
	}
	return idsMax * rows * a.samplesOf(m)
}

// samplesOf returns the number of samples of a message, within bounds.
func (a *Admission) samplesOf(m msg.Message) int {
	return min(max(int(m.Samples), 0), a.job.Training.GlobalBatch)
}

func (a *Admission) checkPut(m msg.Message, put *Put) error {
	if put.Samples != int(m.Samples) {
		return fmt.Errorf("samples: %d, but the message states %d", put.Samples, m.Samples)
	}
	signs, values, err := a.checkSigns(m, put.Signs)
	if err != nil {
		return err
	}
	if err := put.Sums.Check(a.job.Wire.Precision, values); err != nil {
		return fmt.Errorf("sums of %d signs: %w", signs, err)
	}
	return nil
}

// CheckHeld compares the counts of a payload, which CheckPayload has accepted, with what the receiver holds
// of the batch, work under way included. Work on a payload that CheckHeld accepts meets no wrong length.
func (a *Admission) CheckHeld(s *Store, m msg.Message, payload Payload) error {
	switch payload := payload.(type) {
	case Values:
		if count, known := valuesOf(a.numerics, s, m); known {
			if err := a.checkCount(payload.Values, count); err != nil {
				return fmt.Errorf("%v: payload: %w", m, err)
			}
		}
	case *Pooled:
		if count, known := valuesOf(a.numerics, s, m); known {
			if err := a.checkCount(payload.Values, count); err != nil {
				return fmt.Errorf("%v: payload: %w", m, err)
			}
		}
		if err := checkWinners(a, s, m, payload.Winners); err != nil {
			return fmt.Errorf("%v: payload: %w", m, err)
		}
	case *PooledAndIDs:
		if part, here := find[*batch.Part](s, role.Handle{Kind: role.BatchSamples, Rank: m.Rank,
			Step: m.Step}); here && part.Samples != payload.IDs.Samples {
			return fmt.Errorf("%v: payload: ids of %d samples, and the rank holds %d", m, payload.IDs.Samples,
				part.Samples)
		}
	case Signs:
		put, here := find[*Put](s, role.Handle{Kind: role.ShardGrads, Rank: m.Rank, Step: m.Step})
		if here {
			return checkSame(m, a.countOf(put.Signs), a.countOf(payload.Signs))
		}
	case *Put:
		if looked, known := looked(a, s, m); known {
			return checkSame(m, a.countOf(payload.Signs), looked)
		}
	}
	return nil
}

// checkWinners returns an error if an EW has the ids of a batch and a winner is not one of its bag.
func checkWinners(a *Admission, s *Store, m msg.Message, winners Winners) error {
	routed, here := find[*resolved](s, role.Handle{Kind: role.RoutedIDs, Rank: m.Rank, Step: m.Step})
	if m.Kind != msg.PutGradients || !here {
		return nil
	}
	numbers, err := winners.unpack(routed.Samples() * a.winners)
	if err != nil {
		return err
	}
	return routed.Routed[0].CheckWinners(a.schema, numbers) // of all kinds of rows
}

// looked returns how many signs of each dimension the batch of a message has looked up, if its put has not
// come.
func looked(a *Admission, s *Store, m msg.Message) (signs []int, known bool) {
	// The work of a lookup runs beside its role: the signs are in the store until the role knows it done.
	held, here := find[compress.Signs](s, role.Handle{Kind: role.ShardSigns, Rank: m.Rank, Step: m.Step})
	if here {
		return a.countOf(held), true
	}
	return a.shards[m.To.Index].SignsOf(embedding.BatchKey{Rank: m.Rank, Step: m.Step})
}

// checkSame compares the signs of a put with those that were looked up, by dimension.
func checkSame(m msg.Message, put, looked []int) error {
	for place, n := range looked {
		if put[place] != n {
			return fmt.Errorf("%v: payload: signs: a put of %d, but %d were looked up", m, put[place], n)
		}
	}
	return nil
}

// valuesOf returns how many values a message of its batch carries, if the receiver has asked for them.
func valuesOf(n *numerics, s *Store, m msg.Message) (count int, known bool) {
	h := role.Handle{Kind: role.RoutedIDs, Rank: m.Rank, Step: m.Step}
	switch routed, here := find[*resolved](s, h); {
	case here && n.plan.AllOnRanks():
		return 0, true // the rank has all rows
	case m.Kind == msg.Rows && here:
		return routed.ShardValues(int(m.From.Index)), true
	case m.Kind == msg.PutGradients && here:
		return n.gradValues(routed), true
	}
	h.Kind = role.BatchSamples
	if part, here := find[*batch.Part](s, h); m.Kind == msg.Embeddings && here && !n.hasHotRows() &&
		!n.plan.AllOnRanks() {
		return part.Samples * n.width, true
	}
	return 0, false
}

// hasHotRows reports whether every rank holds rows, in the memory of its host.
func (n *numerics) hasHotRows() bool { return n.job.HasHotRows() && n.plan.Hot().Len() > 0 }

// buckets returns the number of buckets of the all-reduce: those of the dense network, and one of rows that
// ranks have together, because they are hot or on GPUs.
func (n *numerics) buckets(layout *model.Layout) int {
	if n.hasHotRows() || n.job.SharesRowsOnGPUs() {
		return len(layout.Buckets) + 1
	}
	return len(layout.Buckets)
}

// checkCount returns an error unless there are count values.
func (a *Admission) checkCount(values compress.Values, count int) error {
	if err := values.Check(a.job.Wire.Precision, count); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	return nil
}

// FrameMax returns the largest size that the frame of a message from another process may have. Every payload
// that CheckPayload accepts fits.
func (a *Admission) FrameMax(m msg.Message) unit.Bytes {
	if !m.Kind.HasPayload() {
		return msg.HeaderBytes
	}
	samples := unit.Bytes(a.samplesOf(m))
	slots, most := unit.Bytes(len(a.schema.Slots)), unit.Bytes(0)
	switch m.Kind {
	case msg.IDFeatures:
		most = samples * (slots*(8*idsMax+4) + 4*idsMax*weightedSlots(a.schema))
	case msg.Samples:
		most = 4 * samples * unit.Bytes(len(a.schema.Dense)+len(a.schema.Labels))
	case msg.Lookup:
		most = 8 * unit.Bytes(a.signsMax(m))
	case msg.Rows:
		most = 4 * unit.Bytes(a.signsMax(m)*a.dim)
	case msg.Put:
		most = unit.Bytes(a.signsMax(m) * (8 + 4*a.dim))
	case msg.Embeddings, msg.PutGradients:
		most = 4 * samples * unit.Bytes(a.width+a.winners)
		if m.Kind == msg.Embeddings && a.plan.AllOnRanks() {
			most = samples * slots * (8*idsMax + 4)
		}
		if m.Kind == msg.Embeddings && a.divided != nil {
			most += samples * unit.Bytes(len(a.divided.onGPU)) * (8*idsMax + 4)
		}
		if m.Kind == msg.Embeddings && a.hasHotRows() {
			most += unit.Bytes(a.signsMax(m)*4*(2+a.dim)) + 4*slots*(samples+1)
		}
	case msg.Params, msg.Push:
		layout := a.layout
		return msg.HeaderBytes + frameOverhead + unit.Bytes(4*(layout.Params+layout.Running+
			a.job.TotalGroups()*layout.Stats))
	}
	// The bytes that roles count do not include lengths, bounds and zeros behind arrays.
	overhead := frameOverhead + 32*slots + 8*unit.Bytes(a.job.TotalGroups())
	return min(max(m.Bytes, msg.HeaderBytes), msg.HeaderBytes+most) + overhead
}

// weightedSlots returns the number of slots whose ids have weights.
func weightedSlots(schema *batch.Schema) (n unit.Bytes) {
	for _, slot := range schema.Slots {
		if slot.Weighted {
			n++
		}
	}
	return n
}

// frameOverhead bounds the lengths and trailing zeros of a frame, except those of slots and groups.
const frameOverhead = 256
