package worth

import (
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// Feature is a column of the data, with all that the model sees of it.
type Feature struct {
	Name string
	// Slots and Numbers are indices of columns of the schema: the column itself, and the slots that are
	// derived from it.
	Slots, Numbers []int
	// Means are indices of the numeric columns that have means of these slots.
	Means []int
}

// Features returns the columns of a schema of data, slots before numbers, without derived slots and means,
// which belong to the columns that they are made of.
func Features(schema *batch.Schema, data *job.Data) (all []Feature) {
	derived, file := data.Derived, len(schema.Dense)-len(data.Means)
	isDerived := func(name string) bool {
		return slices.ContainsFunc(derived, func(d job.DerivedSlot) bool { return d.Name == name })
	}
	for i, slot := range schema.Slots {
		if !isDerived(slot.Name) {
			all = append(all, Feature{Name: slot.Name, Slots: []int{i}})
		}
	}
	for i, name := range schema.Dense[:file] {
		all = append(all, Feature{Name: name, Numbers: []int{i}})
	}
	for _, d := range derived {
		at := slices.IndexFunc(schema.Slots, func(s batch.Slot) bool { return s.Name == d.Name })
		for i := range all {
			f := &all[i]
			if at >= 0 && slices.ContainsFunc(d.Columns, func(c job.DerivedColumn) bool {
				return c.Column == f.Name && len(c.Edges) > 0 == (len(f.Numbers) > 0)
			}) {
				f.Slots = append(f.Slots, at)
			}
		}
	}
	for k, name := range data.Means {
		at := slices.IndexFunc(schema.Slots, func(s batch.Slot) bool { return s.Name == name })
		for i := range all {
			if slices.Contains(all[i].Slots, at) {
				all[i].Means = append(all[i].Means, file+k)
			}
		}
	}
	return all
}

// permuted returns rows in which row i has the values of row order[i] in the columns of features.
func permuted(b *batch.Batch, features []Feature, order []int32) *batch.Batch {
	moved := batch.Batch{Samples: b.Samples}
	out := *b
	out.Slots = slices.Clone(b.Slots)
	var slots []int
	for _, f := range features {
		slots = append(slots, f.Slots...)
	}
	slices.Sort(slots)
	slots = slices.Compact(slots)
	for _, at := range slots {
		moved.Slots = append(moved.Slots, b.Slots[at])
	}
	for i, slot := range batch.Gather(&moved, order).Slots {
		out.Slots[slots[i]] = slot
	}
	width := len(b.Dense) / max(b.Samples, 1)
	cloned := false
	for _, f := range features {
		for _, at := range slices.Concat(f.Numbers, f.Means) {
			if !cloned {
				out.Dense, cloned = slices.Clone(b.Dense), true
			}
			for row, from := range order {
				out.Dense[row*width+at] = b.Dense[int(from)*width+at]
			}
		}
	}
	return &out
}
