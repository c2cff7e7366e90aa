package datasets

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/internal/parallel"
)

// derivation adds the derived slots of a job to rows whose numbers are still those of the file.
type derivation []derivedSlot

// derivedSlot is a derived slot of rows with a schema.
type derivedSlot struct {
	name    string
	columns []derivedColumn
}

// derivedColumn is a slot or, with edges, a numeric column.
type derivedColumn struct {
	index int
	edges []float64
}

// newDerivation returns the derivation of slots, and adds them to the schema that rows have without them.
func newDerivation(spec []job.DerivedSlot, schema *batch.Schema) (derivation, error) {
	var d derivation
	known := slotNames(schema)
	for i, s := range spec {
		if slices.Contains(known, s.Name) || slices.Contains(schema.Dense, s.Name) {
			return nil, fmt.Errorf("derived[%d].name: %q is a column of the data already", i, s.Name)
		}
		slot := derivedSlot{name: s.Name}
		for k, c := range s.Columns {
			names, what := known, "slot"
			if len(c.Edges) > 0 {
				names, what = schema.Dense, "numeric column"
			}
			at := slices.Index(names, c.Column)
			if at < 0 {
				return nil, fmt.Errorf("derived[%d].columns[%d].column: no %s %q: the data have %s", i, k,
					what, c.Column, strings.Join(names, ", "))
			}
			slot.columns = append(slot.columns, derivedColumn{at, c.Edges})
		}
		d = append(d, slot)
		schema.Slots = append(schema.Slots, batch.Slot{Name: s.Name})
	}
	schema.PrefixBits = max(schema.PrefixBits, bits.Len(uint(len(schema.Slots))))
	return d, nil
}

// withSlots returns rows with the derived slots. The argument is not changed.
func (d derivation) withSlots(b *batch.Batch) (*batch.Batch, error) {
	if len(d) == 0 {
		return b, nil
	}
	all := *b
	first := len(b.Slots)
	all.Slots = slices.Concat(b.Slots, make([]batch.Jagged, len(d)))
	errs := make([]error, len(d))
	parallel.ForEach(parallel.Cores(), len(d), func(i int) { all.Slots[first+i], errs[i] = d[i].ids(b) })
	return &all, cmp.Or(errs...)
}

// derivedMost is the largest number of ids that a row may have in a derived slot: the product of the lengths
// of its lists, which nothing else bounds.
const derivedMost = 10_000

// ids returns the ids of a derived slot: the finalizer of SplitMix64 of the id of the first column, and then,
// column by column, of its exclusive or with the next one.
func (s *derivedSlot) ids(b *batch.Batch) (batch.Jagged, error) {
	out := batch.Jagged{Offsets: make([]int32, 1, b.Samples+1), IDs: make([]uint64, 0, b.Samples)}
	numbers := len(b.Dense) / max(b.Samples, 1)
	var ids, combined, interval []uint64
	for row := range b.Samples {
		ids = append(ids[:0], 0)
		for _, c := range s.columns {
			var own []uint64
			if len(c.edges) == 0 {
				own = b.Slots[c.index].SampleIDs(row)
			} else {
				interval = append(interval[:0], c.interval(b.Dense[row*numbers+c.index]))
				own = interval
			}
			if n := len(ids) * len(own); n > derivedMost {
				return out, fmt.Errorf("derived slot %q: a row has %d combinations of the values of its "+
					"lists, and %d are allowed: combine fewer lists, or shorter ones", s.name, n, derivedMost)
			}
			combined = combined[:0]
			for _, before := range ids {
				for _, id := range own {
					combined = append(combined, rng.Mix(before^id))
				}
			}
			ids, combined = combined, ids
		}
		out.IDs = append(out.IDs, ids...)
		if len(out.IDs) > math.MaxInt32 {
			return out, fmt.Errorf("derived slot %q: the rows have more than %d combinations: combine fewer "+
				"lists, or let the rows stay in their file", s.name, math.MaxInt32)
		}
		out.Offsets = append(out.Offsets, int32(len(out.IDs)))
	}
	return out, nil
}

// interval returns the number of edges that are not above a value, or one more than all for a missing number.
func (c *derivedColumn) interval(value float32) uint64 {
	x := float64(value)
	if x != x {
		return uint64(len(c.edges)) + 1
	}
	return uint64(sort.Search(len(c.edges), func(i int) bool { return c.edges[i] > x }))
}
