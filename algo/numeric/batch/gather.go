package batch

// Gatherer gathers samples of one batch repeatedly. It knows the slots in which every sample has one id,
// whose ids are a column like any other. NewGatherer returns one; the zero value is not usable. It is safe
// for concurrent use.
type Gatherer struct {
	from   *Batch
	single []bool // by slot: every sample has exactly one id
}

// NewGatherer returns a gatherer of the samples of b, which must not change.
func NewGatherer(b *Batch) *Gatherer {
	g := &Gatherer{from: b, single: make([]bool, len(b.Slots))}
	for s, slot := range b.Slots {
		if s > 0 && sameArray(slot.Offsets, b.Slots[s-1].Offsets) {
			g.single[s] = g.single[s-1]
			continue
		}
		g.single[s] = true
		for i, offset := range slot.Offsets {
			g.single[s] = g.single[s] && int(offset) == i
		}
	}
	return g
}

// Rows returns what Gather returns; slots of one id a sample share their offsets.
//
// Cost: one copy of the rows. Each value of a single column is a load of its own
// that waits for no other, so the processor has as many of them under way as it
// can, and a prefetch would add nothing.
func (g *Gatherer) Rows(rows []int32) *Batch {
	b := g.from
	out := &Batch{
		Samples: len(rows),
		Slots:   make([]Jagged, len(b.Slots)),
		Dense:   gatherValues(b.Dense, width(b.Dense, b), rows),
		Labels:  gatherValues(b.Labels, width(b.Labels, b), rows),
		Weights: gatherValues(b.Weights, width(b.Weights, b), rows),
	}
	var one []int32
	for s, slot := range b.Slots {
		if !g.single[s] {
			out.Slots[s] = gatherIDs(slot, rows)
			continue
		}
		if one == nil {
			one = make([]int32, len(rows)+1)
			for i := range one {
				one[i] = int32(i)
			}
		}
		ids := make([]uint64, len(rows))
		for i, row := range rows {
			ids[i] = slot.IDs[row]
		}
		out.Slots[s] = Jagged{Offsets: one, IDs: ids, Weights: gatherWeights(slot, one, rows)}
	}
	return out
}

// sameArray reports whether two slices of offsets are the same memory.
func sameArray(a, b []int32) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }
