package opt

import "fmt"

// Row updates one embedding row. A row's state changes only when the row has a
// gradient, so rows never wait for a common step count.
type Row interface {
	// StateSize returns the number of state values of a row of dim values.
	StateSize(dim int) int
	// Init writes the state of a new row.
	Init(state []float32)
	// Apply applies one gradient in place and clamps every embedding value to
	// the weight bound. Grad is not changed. It panics if len(grad) differs from
	// len(embedding), or len(state) from StateSize(len(embedding)).
	Apply(embedding, state, grad []float32)
}

// NewRow returns the optimizer that spec describes, or the error of its
// Validate.
func NewRow(spec RowSpec) (Row, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("opt: row optimizer: %w", err)
	}
	rate, bound := float32(spec.Rate), weightBound(spec.WeightBound)
	adagrad := newAdagrad(spec.Order, spec.Epsilon, spec.InitialAccumulator)
	switch spec.Kind {
	case SGD:
		return rowSGD{rate, bound}, nil
	case Adagrad:
		return rowAdagrad{adagrad, rate, bound}, nil
	case RowwiseAdagrad:
		return rowwiseAdagrad{adagrad, rate, bound}, nil
	case Adam:
		return rowAdam{newAdam(spec.Epsilon, spec.Beta1, spec.Beta2), rate, bound}, nil
	default: // Validate leaves only FTRL
		return rowFTRL{rate, float32(spec.Beta), float32(spec.L1), float32(spec.L2), bound}, nil
	}
}

// rowSGD is stochastic gradient descent, e −= rate·g, without state.
type rowSGD struct {
	rate  float32
	bound weightBound
}

func (rowSGD) StateSize(int) int { return 0 }
func (rowSGD) Init([]float32)    {}

func (o rowSGD) Apply(embedding, state, grad []float32) {
	checkApply(o, embedding, state, grad)
	descend(embedding, grad, o.rate)
	o.bound.clamp(embedding)
}

// rowAdagrad holds one sum of squares a value.
type rowAdagrad struct {
	adagrad
	rate  float32
	bound weightBound
}

func (rowAdagrad) StateSize(dim int) int  { return dim }
func (o rowAdagrad) Init(state []float32) { fill(state, o.initial) }

func (o rowAdagrad) Apply(embedding, state, grad []float32) {
	checkApply(o, embedding, state, grad)
	o.elementwise(embedding, state, grad, o.rate)
	o.bound.clamp(embedding)
}

// rowwiseAdagrad holds one sum of mean squares a row.
type rowwiseAdagrad struct {
	adagrad
	rate  float32
	bound weightBound
}

func (rowwiseAdagrad) StateSize(int) int      { return 1 }
func (o rowwiseAdagrad) Init(state []float32) { fill(state, o.initial) }

func (o rowwiseAdagrad) Apply(embedding, state, grad []float32) {
	checkApply(o, embedding, state, grad)
	o.rowwise(embedding, &state[0], grad, o.rate)
	o.bound.clamp(embedding)
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

// checkApply panics unless the arguments of Apply fit together.
func checkApply(o Row, embedding, state, grad []float32) {
	checkLen("grad", len(grad), len(embedding))
	checkLen("state", len(state), o.StateSize(len(embedding)))
}
