package decode

import (
	"fmt"
	"math"
	"sync"

	"tandem/algo/numeric/batch"
	"tandem/internal/parallel"
)

// columns holds the rows of a block, column by column.
type columns struct {
	samples       int
	slots         []column
	dense, labels []float32 // row-major
	weighted      bool
	weights       []float32
}

// column holds the ids of one slot.
type column struct {
	ids     []uint64
	offsets []int32 // as in batch.Jagged; nil while every row has one id
	weights []float32
}

// newColumns returns empty columns with space for a number of rows with one id per slot.
func newColumns(schema *batch.Schema, rows int) columns {
	c := columns{slots: make([]column, len(schema.Slots)), weighted: schema.Weight != ""}
	for s := range c.slots {
		c.slots[s].ids = make([]uint64, 0, rows)
	}
	c.dense, c.labels = make([]float32, 0, rows*len(schema.Dense)),
		make([]float32, 0, rows*len(schema.Labels))
	return c
}

// add appends a row.
func (c *columns) add(r *Row) {
	for s, ids := range r.IDs {
		slot := &c.slots[s]
		if len(ids) == 1 && slot.offsets == nil {
			slot.ids = append(slot.ids, ids[0])
			continue
		}
		if slot.offsets == nil {
			slot.offsets = append(counting(0, c.samples), int32(c.samples))
		}
		slot.ids = append(slot.ids, ids...)
		slot.offsets = append(slot.offsets, int32(len(slot.ids)))
	}
	for _, s := range r.weighted {
		c.slots[s].weights = append(c.slots[s].weights, r.IDWeights[s]...)
	}
	for _, value := range r.Dense {
		c.dense = append(c.dense, float32(value))
	}
	c.labels = append(c.labels, r.Labels...)
	if c.weighted {
		c.weights = append(c.weights, r.Weight)
	}
	c.samples++
}

// counting returns count consecutive numbers.
func counting(first, count int) []int32 {
	numbers := make([]int32, count)
	for i := range numbers {
		numbers[i] = int32(first + i)
	}
	return numbers
}

// joiner joins the columns of blocks.
type joiner struct {
	parts    []columns
	samples  int
	ids      []int // by slot
	slots    []batch.Slot
	weighted bool
}

func newJoiner(schema *batch.Schema) *joiner {
	return &joiner{ids: make([]int, len(schema.Slots)), slots: schema.Slots, weighted: schema.Weight != ""}
}

// add appends the columns of the next block.
func (j *joiner) add(c columns) error {
	j.samples += c.samples
	for s := range c.slots {
		j.ids[s] += len(c.slots[s].ids)
		if j.ids[s] > math.MaxInt32 || j.samples >= math.MaxInt32 {
			return fmt.Errorf("more than %d ids in one column: split the file", math.MaxInt32)
		}
	}
	if c.samples > 0 {
		j.parts = append(j.parts, c)
	}
	return nil
}

// batch returns all rows. It releases the columns of blocks as it copies them. Slots in which
// every row has one id share their offsets, because batches are immutable.
func (j *joiner) batch(workers int) *batch.Batch {
	out := &batch.Batch{Samples: j.samples, Slots: make([]batch.Jagged, len(j.ids))}
	one := sync.OnceValue(func() []int32 { return counting(0, j.samples+1) })
	if j.weighted {
		out.Weights = concat(j.parts, func(c *columns) *[]float32 { return &c.weights })
	}
	parallel.ForEach(workers, len(j.ids)+2, func(i int) {
		switch i {
		case len(j.ids):
			out.Dense = concat(j.parts, func(c *columns) *[]float32 { return &c.dense })
		case len(j.ids) + 1:
			out.Labels = concat(j.parts, func(c *columns) *[]float32 { return &c.labels })
		default:
			out.Slots[i].Offsets = j.offsets(i, one)
			out.Slots[i].IDs = concat(j.parts, func(c *columns) *[]uint64 { return &c.slots[i].ids })
			if j.slots[i].Weighted {
				out.Slots[i].Weights = concat(j.parts,
					func(c *columns) *[]float32 { return &c.slots[i].weights })
			}
		}
	})
	return out
}

// offsets returns the offsets of a slot.
func (j *joiner) offsets(slot int, one func() []int32) []int32 {
	single := true
	for i := range j.parts {
		single = single && j.parts[i].slots[slot].offsets == nil
	}
	if single {
		return one()
	}
	out := make([]int32, 1, j.samples+1)
	for i := range j.parts {
		first, part := out[len(out)-1], &j.parts[i]
		offsets := part.slots[slot].offsets
		if offsets == nil {
			out = append(out, counting(int(first)+1, part.samples)...)
			continue
		}
		for _, offset := range offsets[1:] {
			out = append(out, first+offset)
		}
	}
	return out
}

// concat returns one column of all parts joined, and clears it in the parts.
func concat[T any](parts []columns, of func(*columns) *[]T) []T {
	total := 0
	for i := range parts {
		total += len(*of(&parts[i]))
	}
	out := make([]T, 0, total)
	for i := range parts {
		values := of(&parts[i])
		out = append(out, *values...)
		*values = nil
	}
	return out
}
