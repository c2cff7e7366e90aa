package opt

import (
	"fmt"
	"math"
)

// Dense updates the flat parameter vector of a network, or any contiguous part
// of it: the elements do not interact.
type Dense interface {
	// StateSize returns the number of state values that params parameters need.
	StateSize(params int) int
	// Init writes the state before the first step.
	Init(state []float32)
	// Step applies one update in place. Step counts from 0; grad is the mean
	// gradient of the step's samples and is not changed. It panics if len(grad)
	// differs from len(params), or len(state) from StateSize(len(params)).
	Step(params, state, grad []float32, step int)
}

// NewDense returns the optimizer that spec describes, or the error of its
// Validate.
func NewDense(spec DenseSpec) (Dense, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("opt: dense optimizer: %w", err)
	}
	rate := float32(spec.Rate)
	switch spec.Kind {
	case SGD:
		return denseSGD{rate}, nil
	case Adagrad:
		return denseAdagrad{newAdagrad(spec.Rate, spec.Order, spec.Epsilon, spec.InitialAccumulator)}, nil
	default: // Validate leaves only Adam
		return denseAdam{rate, float32(spec.Epsilon), spec.Beta1, spec.Beta2}, nil
	}
}

// denseSGD is stochastic gradient descent, w −= rate·g, without state.
type denseSGD struct{ rate float32 }

func (denseSGD) StateSize(int) int { return 0 }
func (denseSGD) Init([]float32)    {}

func (o denseSGD) Step(params, state, grad []float32, _ int) {
	checkStep(o, params, state, grad)
	descend(params, grad, o.rate)
}

// denseAdagrad holds one sum of squares a parameter.
type denseAdagrad struct{ adagrad }

func (denseAdagrad) StateSize(params int) int { return params }
func (o denseAdagrad) Init(state []float32)   { fill(state, o.initial) }

func (o denseAdagrad) Step(params, state, grad []float32, _ int) {
	checkStep(o, params, state, grad)
	o.elementwise(params, state, grad)
}

// denseAdam is Adam with bias correction; with t = step + 1,
//
//	m = β₁·m + (1−β₁)·g;    v = β₂·v + (1−β₂)·g²
//	w −= rate · (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + epsilon)
//
// The state is m of all parameters, then v of all. Cost: about 12 operations and
// a square root a parameter.
//
// Source: Kingma, Ba, ICLR 2015, algorithm 1.
type denseAdam struct {
	rate, epsilon float32
	beta1, beta2  float64
}

func (denseAdam) StateSize(params int) int { return 2 * params }
func (denseAdam) Init(state []float32)     { clear(state) }

func (o denseAdam) Step(params, state, grad []float32, step int) {
	checkStep(o, params, state, grad)
	mean, square := state[:len(params)], state[len(params):]
	beta1, beta2 := float32(o.beta1), float32(o.beta2)
	rest1, rest2 := float32(1-o.beta1), float32(1-o.beta2)
	correct1 := float32(1 - math.Pow(o.beta1, float64(step+1)))
	correct2 := float32(1 - math.Pow(o.beta2, float64(step+1)))
	for i, g := range grad {
		mean[i] = float32(beta1*mean[i]) + float32(rest1*g)
		square[i] = float32(beta2*square[i]) + float32(float32(rest2*g)*g)
		params[i] -= float32(o.rate*(mean[i]/correct1)) / (sqrt(square[i]/correct2) + o.epsilon)
	}
}

// checkStep panics unless the arguments of Step fit together.
func checkStep(o Dense, params, state, grad []float32) {
	checkLen("grad", len(grad), len(params))
	checkLen("state", len(state), o.StateSize(len(params)))
}

// descend subtracts rate·grad from w.
func descend(w, grad []float32, rate float32) {
	for i, g := range grad {
		w[i] -= float32(rate * g)
	}
}
