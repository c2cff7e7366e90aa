package opt

import (
	"slices"
	"testing"
	"unsafe"

	"tandem/algo/numeric/isa"
	"tandem/algo/rng"
)

// A batch of rows comes out as its rows do one by one, wherever there are kernels for many rows: under SGD
// and both Adagrads. Without them nothing changes, and no rows are none to update.
func TestABatchOfRowsIsItsRowsOneByOne(t *testing.T) {
	const rows, dim = 5, 19
	for _, spec := range rowSpecs() {
		for _, set := range isa.Sets() {
			o := newRow(spec, set)
			stride := dim + o.StateSize(dim)
			batched, single := make([]float32, rows*stride), make([]float32, rows*stride)
			b := Batch{StateAt: 4 * dim, Dim: dim, Done: make([]bool, rows)}
			for row := range rows {
				of := batched[row*stride:][:stride]
				for i := range dim {
					of[i] = rng.Unit(1, row*dim+i)
					b.Grads = append(b.Grads, rng.Unit(2, row*dim+i)-0.5)
				}
				o.Init(of[dim:])
				b.Places = append(b.Places, unsafe.Pointer(&of[0]))
				b.Rates = append(b.Rates, float32(row+1)/8)
			}
			copy(single, batched)
			before := slices.Clone(batched)
			applied := o.ApplyBatch(&b)
			for row := range rows {
				of := single[row*stride:][:stride]
				o.Apply(of[:dim], of[dim:], b.Grads[row*dim:][:dim], b.Rates[row])
			}
			want := before
			kinds := []string{SGD, Adagrad, RowwiseAdagrad}
			if fast := set != isa.Portable && slices.Contains(kinds, spec.Kind); applied != fast {
				t.Errorf("%s %s, %v: applied %t, want %t", spec.Kind, spec.Order, set, applied, fast)
			} else if fast {
				want = single
			}
			if !slices.Equal(batched, want) {
				t.Errorf("%s %s, %v: %v, want %v", spec.Kind, spec.Order, set, batched, want)
			}
			if slices.Contains(b.Done, false) == applied {
				t.Errorf("%s %s, %v: done %v, applied %t", spec.Kind, spec.Order, set, b.Done, applied)
			}
			if o.ApplyBatch(&Batch{Dim: dim}) {
				t.Errorf("%s %s, %v: no rows were updated together", spec.Kind, spec.Order, set)
			}
		}
	}
}
