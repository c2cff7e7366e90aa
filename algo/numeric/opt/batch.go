package opt

import (
	"runtime"
	"unsafe"

	"tandem/algo/numeric/internal/stack"
)

// Batch holds rows of a table that are updated together. Kernels prefetch the next rows
// while they update these.
type Batch struct {
	Places   []unsafe.Pointer // where each row is; nil for none
	ValuesAt int              // bytes from a place to the embedding, Dim values
	StateAt  int              // bytes from a place to the state
	Dim      int
	Grads    []float32 // len(Places) × Dim
	Rates    []float32 // learning rates, as long as Places
	Done     []bool    // as long as Places: whether each row was updated
	// Values, if not nil, are the embeddings, len(Places) × Dim, of rows that hold them in another format:
	// these are updated in the place of what lies at ValuesAt.
	Values []float32

	// Next and Groups are as long as Places, or nil. The kernels prefetch the cache lines of the bytes From
	// to below To of each of Next, and a line of each of Groups. Any address is allowed.
	Next, Groups []unsafe.Pointer
	From, To     int
}

// batch is a Batch in the layout that kernels read.
type batch struct {
	places            *unsafe.Pointer
	n                 int
	valuesAt, stateAt int
	dim               int
	grads, rates      *float32
	done              *bool
	next, groups      *unsafe.Pointer
	from, to          int
	divisor, limit    float32
	values            *float32
}

// kernelBatch returns a Batch, of at least one row and value, for a kernel.
func (b *Batch) kernelBatch(divisor float32, bound weightBound) batch {
	n := len(b.Places)
	checkLen("grads", len(b.Grads), n*b.Dim)
	checkLen("rates", len(b.Rates), n)
	checkLen("done", len(b.Done), n)
	k := batch{
		places: &b.Places[0], n: n, valuesAt: b.ValuesAt, stateAt: b.StateAt, dim: b.Dim,
		grads: &b.Grads[0], rates: &b.Rates[0], done: &b.Done[0], divisor: divisor, limit: float32(bound),
	}
	if b.Values != nil {
		checkLen("values", len(b.Values), n*b.Dim)
		k.values = &b.Values[0]
	}
	if b.Next != nil {
		checkLen("next", len(b.Next), n)
		checkLen("groups", len(b.Groups), n)
		k.next, k.groups, k.from, k.to = &b.Next[0], &b.Groups[0], b.From, b.To
	}
	return k
}

// kernels are the updates of rows in one set of instructions; nil in portable Go.
type kernels struct {
	descend       func(b *batch) // values −= rate·grad/divisor
	adagradBefore func(b *batch)
	adagradAfter  func(b *batch)
	rowwiseBefore func(b *batch)
	rowwiseAfter  func(b *batch)
}

// updateAll updates the rows of a Batch by a kernel.
func updateAll(kernel func(*batch), b *Batch, divisor float32, bound weightBound) {
	k := b.kernelBatch(divisor, bound)
	kernel(stack.Pointer(&k))
}

// updateOne updates one row by a kernel. It returns false if the gradient is not finite.
func updateOne(kernel func(*batch), values, state, grad []float32, rate, divisor float32,
	bound weightBound) (done bool) {
	place := unsafe.Pointer(&values[0])
	b := batch{
		places: &place, n: 1, dim: len(grad), grads: &grad[0], rates: &rate, done: &done, divisor: divisor,
		limit: float32(bound),
	}
	if len(state) > 0 {
		b.stateAt = int(uintptr(unsafe.Pointer(&state[0])) - uintptr(place))
	}
	kernel(stack.Pointer(&b))
	runtime.KeepAlive(state) // the kernel knows only its distance from values
	return done
}
