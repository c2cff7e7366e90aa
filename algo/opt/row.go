package opt

import (
	"fmt"

	"tandem/algo/kernel"
)

// Row updates one embedding row. A row's state changes only when the row has a
// gradient, so rows never wait for a common step count.
type Row interface {
	// StateSize returns the number of state values of a row of dim values.
	StateSize(dim int) int
	// Init writes the state of a new row.
	Init(state []float32)
	// Rate returns the learning rate that the schedule gives a training step,
	// which counts from 0.
	Rate(step int) float32
	// Apply applies one gradient in place, at a learning rate, and clamps every
	// embedding value to the weight bound. Grad is not changed. It panics if
	// len(grad) differs from len(embedding), or len(state) from
	// StateSize(len(embedding)).
	Apply(embedding, state, grad []float32, rate float32)
}

// NewRow returns the optimizer that spec describes, or the error of its
// Validate.
func NewRow(spec RowSpec) (Row, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("opt: row optimizer: %w", err)
	}
	return row{newRowRule(spec), spec.Rate, spec.Schedule, weightBound(spec.WeightBound)}, nil
}

// row is what all kinds share: the rate of a step and the weight bound.
type row struct {
	rowRule
	rate     float64
	schedule Schedule
	bound    weightBound
}

func (o row) Rate(step int) float32 { return float32(o.schedule.Rate(o.rate, step)) }

func (o row) Apply(embedding, state, grad []float32, rate float32) {
	checkLen("grad", len(grad), len(embedding))
	checkLen("state", len(state), o.StateSize(len(embedding)))
	o.update(embedding, state, grad, rate)
	o.bound.clamp(embedding)
}

// rowRule is what makes a kind a kind.
type rowRule interface {
	StateSize(dim int) int
	Init(state []float32)
	update(embedding, state, grad []float32, rate float32)
}

func newRowRule(spec RowSpec) rowRule {
	adagrad := newAdagrad(spec.Order, spec.Epsilon, spec.InitialAccumulator)
	switch spec.Kind {
	case SGD:
		return rowSGD{}
	case Adagrad:
		return rowAdagrad{adagrad}
	case RowwiseAdagrad:
		return rowwiseAdagrad{adagrad}
	case Adam:
		return rowAdam{newAdam(spec.Epsilon, spec.Beta1, spec.Beta2)}
	default: // Validate leaves only FTRL
		return rowFTRL{float32(spec.Beta), float32(spec.L1), float32(spec.L2)}
	}
}

// rowSGD is stochastic gradient descent, e −= rate·g, without state.
type rowSGD struct{}

func (rowSGD) StateSize(int) int { return 0 }
func (rowSGD) Init([]float32)    {}

func (rowSGD) update(embedding, _, grad []float32, rate float32) {
	kernel.Descend(embedding, grad, rate)
}

// rowAdagrad holds one sum of squares a value.
type rowAdagrad struct{ adagrad }

func (rowAdagrad) StateSize(dim int) int  { return dim }
func (o rowAdagrad) Init(state []float32) { fill(state, o.initial) }

func (o rowAdagrad) update(embedding, state, grad []float32, rate float32) {
	o.elementwise(embedding, state, grad, rate)
}

// rowwiseAdagrad holds one sum of mean squares a row.
type rowwiseAdagrad struct{ adagrad }

func (rowwiseAdagrad) StateSize(int) int      { return 1 }
func (o rowwiseAdagrad) Init(state []float32) { fill(state, o.initial) }

func (o rowwiseAdagrad) update(embedding, state, grad []float32, rate float32) {
	o.rowwise(embedding, &state[0], grad, rate)
}

// weightBound is the largest size of an embedding value; 0 or less is no bound.
//
// Source: Persia's weight_bound.
type weightBound float32

// clamp moves every element into [−b, b]. NaN stays NaN.
func (b weightBound) clamp(x []float32) {
	if b <= 0 {
		return
	}
	limit := float32(b)
	for i, v := range x {
		x[i] = min(max(v, -limit), limit)
	}
}
