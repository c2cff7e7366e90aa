package similar

import "tandem/algo/numeric/batch"

// table holds rows with dense numbers in place of ids.
type table struct {
	rows    int
	columns []column
	numbers []float32 // rows × numeric
	numeric int
	labels  []float32 // 1 or 0, by row
}

// column holds the ids of one column, numbered from 0.
type column struct {
	offsets []int32 // the ids of row i are at offsets[i] to offsets[i+1]
	ids     []int32
	count   int // number of different ids
	longest int // largest number of ids in a row
}

// newTable returns some rows and slots of a batch with the first of its labels; no slots are all slots.
func newTable(b *batch.Batch, rows []int32, slots []int) *table {
	if slots == nil {
		for slot := range b.Slots {
			slots = append(slots, slot)
		}
	}
	t := &table{rows: len(rows), numeric: len(b.Dense) / b.Samples, columns: make([]column, len(slots))}
	labels := len(b.Labels) / b.Samples
	for _, row := range rows {
		t.labels = append(t.labels, b.Labels[int(row)*labels])
		t.numbers = append(t.numbers, b.Dense[int(row)*t.numeric:int(row+1)*t.numeric]...)
	}
	for c := range t.columns {
		t.columns[c] = newColumn(b.Slots[slots[c]], rows)
	}
	return t
}

func newColumn(slot batch.Jagged, rows []int32) column {
	c := column{offsets: make([]int32, 1, len(rows)+1)}
	numbers := map[uint64]int32{}
	for _, row := range rows {
		ids := slot.SampleIDs(int(row))
		for _, id := range ids {
			number, ok := numbers[id]
			if !ok {
				number = int32(len(numbers))
				numbers[id] = number
			}
			c.ids = append(c.ids, number)
		}
		c.offsets = append(c.offsets, int32(len(c.ids)))
		c.longest = max(c.longest, len(ids))
	}
	c.count = len(numbers)
	return c
}

// row returns the ids of a row.
func (c *column) row(i int32) []int32 { return c.ids[c.offsets[i]:c.offsets[i+1]] }
