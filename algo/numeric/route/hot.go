package route

import (
	"math"

	"tandem/algo/numeric/batch"
)

// A bag is the ids of a sample in a slot, whose rows are pooled together. Bags are numbered sample by sample
// and, within a sample, slot by slot.
type bag uint8

const (
	coldBag  bag = iota // without a hot row: the EW pools it
	mixedBag            // with hot rows and others: the rank pools it, and the EW needs its gradient
	hotBag              // with hot rows alone: the rank pools it, and the EW does not need its gradient
)

// Bags has the bags of a slot in which a row is hot: the rows of sample i are Rows[Offsets[i]:Offsets[i+1]],
// or none if no row of the sample's bag is hot.
type Bags struct{ Rows, Offsets []int32 }

// Mixed is the part of a rank's batch in which rows are hot, as the rank needs it: it holds the hot rows, and
// pools every bag with a hot row itself, in the order of all rows of the bag. So the sums have the bits that
// they have where no row is hot. It is immutable.
//
// Pooled embeddings and their gradients travel without the bags that the receiver makes, or does not need:
// see Expand and CompactGrads.
type Mixed struct {
	// Cold are the positions in Routed.Signs of the rows that share a bag with hot ones, in order of first
	// occurrence; on the rank only their number matters. Hot is the number of distinct hot rows.
	Cold []int32
	Hot  int
	// Slots have the bags by slot. A row below len(Cold) is a cold one, and the next ones are the hot rows in
	// the order of Routed.Signs.
	Slots []Bags

	// The pooled values of cold bags, and of cold and mixed bags, by sample and slot.
	cold, toEW runs
}

// runs are pieces of pooled values that travel, in ascending order: those at pieces[i].lo to below
// pieces[i].hi, total in all.
type runs struct {
	pieces []piece
	total  int
}

type piece struct{ lo, hi int32 }

// add adds the values of a bag, which follow those of all bags before it.
func (r *runs) add(lo, hi int32) {
	if last := len(r.pieces) - 1; last >= 0 && r.pieces[last].hi == lo {
		r.pieces[last].hi = hi
	} else {
		r.pieces = append(r.pieces, piece{lo, hi})
	}
	r.total += int(hi - lo)
}

// gather copies the pieces of values to dst, one after the other, and scatter copies them back.
func (r *runs) gather(dst, values []float32) {
	mustMatch("dst", len(dst), r.total)
	for _, p := range r.pieces {
		dst = dst[copy(dst, values[p.lo:p.hi]):]
	}
}

func (r *runs) scatter(values, compact []float32) {
	mustMatch("compact", len(compact), r.total)
	for _, p := range r.pieces {
		compact = compact[copy(values[p.lo:p.hi], compact):]
	}
}

// Mixed returns the part of the batch in which rows are hot: those of the last owner. No row of a Raw slot
// may be hot. Cost: some 5 ns an occurrence of a row.
func (r *Routed) Mixed(schema *batch.Schema) *Mixed {
	first := r.Bounds[len(r.Bounds)-2] // of the hot rows
	m := &Mixed{Hot: len(r.Signs) - int(first), Slots: make([]Bags, len(r.Index))}
	numbers := make([]int32, first) // of cold rows, plus one
	for s := range r.Index {
		each, own := schema.Slots[s].RowsPerID(), Bags{Offsets: make([]int32, r.part.Samples+1)}
		for i := range r.part.Samples {
			rows := r.occurrences(s, i, each)
			for _, row := range rows {
				if row >= first {
					own.Rows = append(own.Rows, rows...)
					break
				}
			}
			own.Offsets[i+1] = int32(len(own.Rows))
		}
		for _, row := range own.Rows {
			if row < first && numbers[row] == 0 {
				m.Cold = append(m.Cold, row)
				numbers[row] = int32(len(m.Cold))
			}
		}
		m.Slots[s] = own
	}
	shift := int32(len(m.Cold)) - first // of hot rows
	for _, own := range m.Slots {
		for i, row := range own.Rows {
			if row >= first {
				own.Rows[i] = row + shift
			} else {
				own.Rows[i] = numbers[row] - 1
			}
		}
	}
	m.classify(schema, r.part.Samples)
	return m
}

// NewMixed returns the Mixed of a number of samples from its slots, with a number of cold and of hot rows.
func NewMixed(schema *batch.Schema, samples int, slots []Bags, cold, hot int) *Mixed {
	m := &Mixed{Cold: make([]int32, cold), Hot: hot, Slots: slots}
	m.classify(schema, samples)
	return m
}

// classify finds the kind of every bag, and what travels.
func (m *Mixed) classify(schema *batch.Schema, samples int) {
	slots, cold := len(m.Slots), int32(len(m.Cold))
	widths, bags := make([]int32, slots), make([]bag, samples*slots)
	for s, own := range m.Slots {
		widths[s] = int32(schema.Slots[s].Width())
		for i := range samples {
			kind := coldBag
			for _, row := range own.Rows[own.Offsets[i]:own.Offsets[i+1]] {
				if row < cold {
					kind = mixedBag
					break
				}
				kind = hotBag
			}
			bags[i*slots+s] = kind
		}
	}
	at := int32(0)
	for i, kind := range bags {
		next := at + widths[i%slots]
		if kind == coldBag {
			m.cold.add(at, next)
		}
		if kind != hotBag {
			m.toEW.add(at, next)
		}
		at = next
	}
}

// PooledValues returns how many pooled values travel to the rank: those of bags without a hot row.
func (m *Mixed) PooledValues() int { return m.cold.total }

// GradValues returns how many gradients of pooled values travel from the rank: those of bags with a row that
// is not hot, or without a row.
func (m *Mixed) GradValues() int { return m.toEW.total }

// Compact copies the pooled values that travel to the rank from those of all bags.
func (m *Mixed) Compact(dst, pooled []float32) { m.cold.gather(dst, pooled) }

// Expand copies pooled values that Compact has written to their places among those of all bags.
func (m *Mixed) Expand(pooled, compact []float32) { m.cold.scatter(pooled, compact) }

// CompactGrads copies the gradients that travel from the rank from those of all pooled values.
func (m *Mixed) CompactGrads(dst, grads []float32) { m.toEW.gather(dst, grads) }

// ExpandGrads copies gradients that CompactGrads has written to their places among those of all pooled
// values. It leaves the others, which only hot rows have, as they are.
func (m *Mixed) ExpandGrads(grads, compact []float32) { m.toEW.scatter(grads, compact) }

// Routed returns the bags with a hot row as a batch by itself, of the samples and groups of a part: its rows
// are the cold ones and then the hot ones. In its pooled values all other bags are zeros.
func (m *Mixed) Routed(schema *batch.Schema, part batch.Part) *Routed {
	rows := len(m.Cold) + m.Hot
	r := &Routed{
		Signs: make([]uint64, rows), Bounds: []int32{0, int32(len(m.Cold)), int32(rows)},
		Index: make([][]int32, len(m.Slots)),
		part: batch.Part{
			Batch:      &batch.Batch{Samples: part.Samples, Slots: make([]batch.Jagged, len(m.Slots))},
			FirstGroup: part.FirstGroup, Bounds: part.Bounds,
		},
	}
	for s, own := range m.Slots {
		offsets, each := own.Offsets, int32(schema.Slots[s].RowsPerID())
		if each > 1 { // a part counts ids
			offsets = make([]int32, len(own.Offsets))
			for i, end := range own.Offsets {
				offsets[i] = end / each
			}
		}
		r.Index[s], r.part.Slots[s].Offsets = own.Rows, offsets
	}
	return r
}

// Absent writes what stands for the gradient sum of a row that does not occur: −0, which leaves every value
// as it is when a sum adds it, sign of zero included.
func Absent(sums []float32) {
	zero := float32(math.Copysign(0, -1))
	for i := range sums {
		sums[i] = zero
	}
}
