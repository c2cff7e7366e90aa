package opt

import (
	"fmt"
	"math"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/vec"
)

// Row updates embedding rows. The state of a row changes only when the row has a
// gradient, so rows have no common step count.
type Row interface {
	// StateSize returns the number of state values of a row of dim values.
	StateSize(dim int) int
	// Init writes the state of a new row.
	Init(state []float32)
	// Rate returns the learning rate of the schedule for a training step, which
	// counts from 0.
	Rate(step int) float32
	// Apply applies one gradient in place, at a learning rate, and clamps every
	// embedding value to the weight bound. If the gradient has a NaN or Inf, it
	// changes nothing and returns false. Grad is not changed. It panics if
	// len(grad) differs from len(embedding), or len(state) from
	// StateSize(len(embedding)).
	Apply(embedding, state, grad []float32, rate float32) bool
	// HasBatch reports whether there is an ApplyBatch: a kernel that is faster than Apply.
	HasBatch() bool
	// ApplyBatch applies the gradients of many rows, at least one, of at least one value.
	// It panics if lengths disagree, or if there is no kernel.
	ApplyBatch(b *Batch)
}

// NewRow returns the optimizer that spec describes, or the error of its
// Validate.
func NewRow(spec RowSpec) (Row, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("opt: row optimizer: %w", err)
	}
	return newRow(spec, isa.Best()), nil
}

func newRow(spec RowSpec, set isa.Set) *row {
	return &row{newRowRule(spec, set), spec.Rate, spec.Schedule, newWeightBound(spec.WeightBound)}
}

// row holds what all kinds have: the rate of a step and the weight bound.
type row struct {
	rowRule
	rate     float64
	schedule Schedule
	bound    weightBound
}

func (o *row) Rate(step int) float32 { return float32(o.schedule.Rate(o.rate, step)) }

func (o *row) Apply(embedding, state, grad []float32, rate float32) bool {
	checkLen("grad", len(grad), len(embedding))
	checkLen("state", len(state), o.StateSize(len(embedding)))
	return len(grad) == 0 || o.update(embedding, state, grad, rate, o.bound)
}

func (o *row) HasBatch() bool {
	rule, ok := o.rowRule.(batchRule)
	return ok && rule.hasKernel()
}

func (o *row) ApplyBatch(b *Batch) { o.rowRule.(batchRule).updateBatch(b, o.bound) }

// batchRule is a rowRule that may have kernels for many rows.
type batchRule interface {
	hasKernel() bool
	updateBatch(b *Batch, bound weightBound)
}

// rowRule is one kind of optimizer. Its update is Apply of at least one value. Kinds
// whose speed memory limits have kernels, with the bits of the form in Go.
type rowRule interface {
	StateSize(dim int) int
	Init(state []float32)
	update(embedding, state, grad []float32, rate float32, bound weightBound) bool
}

func newRowRule(spec RowSpec, set isa.Set) rowRule {
	adagrad := newAdagrad(spec.Order, spec.Epsilon, spec.InitialAccumulator)
	switch spec.Kind {
	case SGD:
		return rowSGD{bySet[set].descend}
	case Adagrad:
		kernel := bySet[set].adagradAfter
		if spec.Order == Before {
			kernel = bySet[set].adagradBefore
		}
		return rowAdagrad{adagrad, kernel}
	case RowwiseAdagrad:
		kernel := bySet[set].rowwiseAfter
		if spec.Order == Before {
			kernel = bySet[set].rowwiseBefore
		}
		return rowwiseAdagrad{adagrad, kernel}
	case Adam:
		return rowAdam{newAdam(spec.Epsilon, spec.Beta1, spec.Beta2)}
	case FTRL:
		return rowFTRL{float32(spec.Beta), float32(spec.L1), float32(spec.L2)}
	}
	panic(fmt.Sprintf("opt: no rule for rows of kind %q, which Validate accepts", spec.Kind))
}

// rowSGD is stochastic gradient descent, e −= rate·g, without state.
type rowSGD struct{ kernel func(*batch) } // nil: in Go

func (rowSGD) StateSize(int) int { return 0 }
func (rowSGD) Init([]float32)    {}

func (o rowSGD) update(embedding, _, grad []float32, rate float32, bound weightBound) bool {
	return descendRow(o.kernel, embedding, grad, rate, 1, bound) // dividing by 1 rounds nothing
}

func (o rowSGD) hasKernel() bool { return o.kernel != nil }

func (o rowSGD) updateBatch(b *Batch, bound weightBound) {
	updateAll(o.kernel, b, 1, bound)
}

// descendRow subtracts rate·grad/divisor, by a kernel or, if it is nil, in Go.
func descendRow(kernel func(*batch), embedding, grad []float32, rate, divisor float32,
	bound weightBound) bool {
	if kernel != nil {
		return updateOne(kernel, embedding, nil, grad, rate, divisor, bound)
	}
	if !vec.Finite(grad) {
		return false
	}
	for i, g := range grad {
		embedding[i] -= float32(rate*g) / divisor
	}
	bound.clamp(embedding)
	return true
}

// rowAdagrad holds one sum of squares a value.
type rowAdagrad struct {
	adagrad
	kernel func(*batch) // nil: in Go
}

func (rowAdagrad) StateSize(dim int) int  { return dim }
func (o rowAdagrad) Init(state []float32) { fill(state, o.initial) }

func (o rowAdagrad) update(embedding, state, grad []float32, rate float32, bound weightBound) bool {
	if o.kernel != nil {
		return updateOne(o.kernel, embedding, state, grad, rate, o.epsilon, bound)
	}
	if !vec.Finite(grad) {
		return false
	}
	o.elementwise(embedding, state, grad, rate)
	bound.clamp(embedding)
	return true
}

func (o rowAdagrad) hasKernel() bool { return o.kernel != nil }

func (o rowAdagrad) updateBatch(b *Batch, bound weightBound) {
	updateAll(o.kernel, b, o.epsilon, bound)
}

// weightBound is the largest magnitude of an embedding value, infinite for no bound.
//
// Source: Persia's weight_bound.
type weightBound float32

// newWeightBound returns a bound; 0 or less means no bound.
func newWeightBound(b float64) weightBound {
	if b <= 0 {
		return weightBound(math.Inf(1))
	}
	return weightBound(b)
}

// clamp moves every element into [−b, b]. NaN stays NaN.
func (b weightBound) clamp(x []float32) {
	limit := float32(b)
	for i, v := range x {
		x[i] = min(max(v, -limit), limit)
	}
}
