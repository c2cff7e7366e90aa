package opt

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"tandem/algo/numeric/isa"
	"tandem/algo/rng"
)

// A batch of rows comes out as its rows do one by one, wherever there are kernels for many rows: under SGD
// and both Adagrads.
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
			applied := o.HasBatch()
			if applied {
				o.ApplyBatch(&b)
			}
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
		}
	}
}

// Values that lie apart are updated there, and what lies in their place stays; an absent row keeps its
// values, as does one whose gradient is not finite.
func TestValuesOfABatchMayLieApart(t *testing.T) {
	const rows, dim, absent, infinite = 5, 19, 1, 3
	for _, spec := range rowSpecs() {
		for _, set := range isa.Sets() {
			o := newRow(spec, set)
			stride := dim + o.StateSize(dim)
			lying := slices.Repeat([]float32{7}, rows*stride) // 7 where the values would be
			b := Batch{StateAt: 4 * dim, Dim: dim, Done: make([]bool, rows), Rates: make([]float32, rows)}
			var want []float32
			for row := range rows {
				state := lying[row*stride+dim:][:stride-dim]
				o.Init(state)
				b.Places, b.Rates[row] = append(b.Places, unsafe.Pointer(&lying[row*stride])), 0.1
				for i := range dim {
					b.Values = append(b.Values, rng.Unit(1, row*dim+i))
					b.Grads = append(b.Grads, rng.Unit(2, row*dim+i)-0.5)
				}
				if row == infinite {
					b.Grads[row*dim+17] = float32(math.Inf(1))
				}
				single := slices.Clone(b.Values[row*dim:])
				if row != absent {
					o.Apply(single, slices.Clone(state), b.Grads[row*dim:], 0.1)
				}
				want = append(want, single...)
			}
			b.Places[absent] = nil
			if !o.HasBatch() {
				continue
			}
			o.ApplyBatch(&b)
			done := []bool{true, false, true, false, true}
			if !slices.Equal(b.Values, want) || !slices.Equal(b.Done, done) {
				t.Errorf("%s %s, %v: %v, done %v; want %v", spec.Kind, spec.Order, set, b.Values, b.Done,
					want)
			}
			for row := range rows {
				if !slices.Equal(lying[row*stride:][:dim], slices.Repeat([]float32{7}, dim)) {
					t.Errorf("%s %s, %v: what lies in row %d has changed", spec.Kind, spec.Order, set, row)
				}
			}
		}
	}
}
