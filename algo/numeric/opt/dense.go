package opt

import (
	"fmt"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/nn"
	"tandem/algo/numeric/kernel/vec"
)

// Dense updates the flat parameter vector of a network. Without clip-norm the elements
// do not interact, so Dense can also update any contiguous part.
type Dense interface {
	// StateSize returns the number of state values that params parameters need.
	StateSize(params int) int
	// Init writes the state before the first step.
	Init(state []float32)
	// Step applies one update in place, at the rate of the schedule for the step,
	// which counts from 0. Grad is the mean gradient of the step's samples; Step
	// changes grad only if clip-norm scales it. It panics if len(grad)
	// differs from len(params), or len(state) from StateSize(len(params)).
	Step(params, state, grad []float32, step int)
	// StepSum divides the sum of the gradients of at least one sample by the number of
	// samples, in place, and applies the mean as Step does. Tasks run on the pool, or
	// on the calling goroutine if it is nil.
	StepSum(params, state, sum []float32, samples, step int, pool gemm.Pool)
}

// NewDense returns the optimizer that spec describes, or the error of its
// Validate.
func NewDense(spec DenseSpec) (Dense, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("opt: dense optimizer: %w", err)
	}
	return dense{newDenseRule(spec), spec.Rate, spec.Schedule, spec.ClipNorm, 1}, nil
}

// NewDenseShard returns the optimizer of a part of the parameters that is updated
// updatesPerStep times a step, once for each rank; its schedule counts steps, not
// updates. It does not clip, because clipping needs the whole gradient: see
// DenseSpec.Clip.
func NewDenseShard(spec DenseSpec, updatesPerStep int) (Dense, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("opt: dense optimizer: %w", err)
	}
	return dense{newDenseRule(spec), spec.Rate, spec.Schedule, 0, updatesPerStep}, nil
}

// StateSize returns the number of state values that the optimizer of a valid spec
// keeps for params parameters.
func (s DenseSpec) StateSize(params int) int { return newDenseRule(s).StateSize(params) }

// RateOf returns the learning rate of a step, which counts from 0.
func (s DenseSpec) RateOf(step int) float32 { return float32(s.Schedule.Rate(s.Rate, step)) }

// AdamFactors returns the factors and divisors with which adam takes a step, which counts from 0.
func (s DenseSpec) AdamFactors(step int) nn.AdamFactors {
	return newAdam(s.Epsilon, s.Beta1, s.Beta2).factors(s.RateOf(step), float64(step+1))
}

// Clip scales a whole gradient down to clip-norm, if it is longer.
func (s DenseSpec) Clip(grad []float32) { clipNorm(grad, s.ClipNorm) }

// dense holds what all kinds have: the rate of a step and the clipping of its
// gradient.
type dense struct {
	denseRule
	rate     float64
	schedule Schedule
	clip     float64
	perStep  int // updates in a step of the schedule
}

func (o dense) Step(params, state, grad []float32, step int) {
	o.check(params, state, grad)
	clipNorm(grad, o.clip)
	o.update(params, state, grad, 0, len(params), o.rateOf(step), step)
}

func (o dense) rateOf(step int) float32 { return float32(o.schedule.Rate(o.rate, step/o.perStep)) }

// sweepBlock is the number of parameters that StepSum divides and then updates, so
// that the mean is still in the first-level cache; sweepTask that of a task.
const (
	sweepBlock = 2048
	sweepTask  = 64 * sweepBlock
)

func (o dense) StepSum(params, state, sum []float32, samples, step int, pool gemm.Pool) {
	o.check(params, state, sum)
	if o.clip != 0 { // which needs the whole mean
		vec.Divide(sum, float32(samples))
		o.Step(params, state, sum, step)
		return
	}
	rate := o.rateOf(step)
	if pool == nil || len(params) <= sweepTask {
		o.sweep(params, state, sum, 0, len(params), float32(samples), rate, step)
		return
	}
	pool.ForEach((len(params)+sweepTask-1)/sweepTask, func(task int) {
		lo := task * sweepTask
		o.sweep(params, state, sum, lo, min(lo+sweepTask, len(params)), float32(samples), rate, step)
	})
}

// sweep is StepSum without clip-norm for the parameters [lo, hi).
func (o dense) sweep(params, state, sum []float32, lo, hi int, samples, rate float32, step int) {
	for ; lo < hi; lo += sweepBlock {
		end := min(lo+sweepBlock, hi)
		vec.Divide(sum[lo:end], samples)
		o.update(params, state, sum, lo, end, rate, step)
	}
}

// denseRule is one kind of optimizer. Its update changes the parameters [lo, hi); the
// slices hold all parameters.
type denseRule interface {
	StateSize(params int) int
	Init(state []float32)
	update(params, state, grad []float32, lo, hi int, rate float32, step int)
}

func newDenseRule(spec DenseSpec) denseRule {
	switch spec.Kind {
	case SGD:
		return denseSGD{}
	case Adagrad:
		return denseAdagrad{newAdagrad(spec.Order, spec.Epsilon, spec.InitialAccumulator)}
	case Adam:
		return denseAdam{newAdam(spec.Epsilon, spec.Beta1, spec.Beta2)}
	}
	panic(fmt.Sprintf("opt: no dense rule of kind %q, which Validate accepts", spec.Kind))
}

// denseSGD is stochastic gradient descent, w −= rate·g, without state.
type denseSGD struct{}

func (denseSGD) StateSize(int) int { return 0 }
func (denseSGD) Init([]float32)    {}

func (denseSGD) update(params, _, grad []float32, lo, hi int, rate float32, _ int) {
	nn.Descend(params[lo:hi], grad[lo:hi], rate)
}

// denseAdagrad holds one sum of squares a parameter.
type denseAdagrad struct{ adagrad }

func (denseAdagrad) StateSize(params int) int { return params }
func (o denseAdagrad) Init(state []float32)   { fill(state, o.initial) }

func (o denseAdagrad) update(params, state, grad []float32, lo, hi int, rate float32, _ int) {
	o.elementwise(params[lo:hi], state[lo:hi], grad[lo:hi], rate)
}

// denseAdam holds the mean gradients of all parameters, then the mean squares of
// all.
type denseAdam struct{ adam }

func (denseAdam) StateSize(params int) int { return 2 * params }
func (denseAdam) Init(state []float32)     { clear(state) }

func (o denseAdam) update(params, state, grad []float32, lo, hi int, rate float32, step int) {
	mean, square := state[:len(params)], state[len(params):]
	nn.Adam(params[lo:hi], mean[lo:hi], square[lo:hi], grad[lo:hi], o.factors(rate, float64(step+1)))
}

// check panics unless the arguments of Step fit together.
func (o dense) check(params, state, grad []float32) {
	checkLen("grad", len(grad), len(params))
	checkLen("state", len(state), o.StateSize(len(params)))
}
