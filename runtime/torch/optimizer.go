package torch

import (
	"math"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/opt"
)

// optimizer is the torch.optim of the module's file. It is an opt.Dense whose state is kept here: for every
// entry of the state of torch.optim a slot, one value for each parameter. So checkpoints, ranks that come
// back and means of replicas have it as any other.
type optimizer struct {
	engine *engine
	spec   opt.DenseSpec // for the schedule and clip-norm
}

// Optimizer implements model.OwnOptimizer.
func (e *engine) Optimizer(spec opt.DenseSpec) opt.Dense {
	if e.Slots == nil {
		return nil
	}
	return &optimizer{e, spec}
}

// StateSize implements opt.Dense.
func (o *optimizer) StateSize(params int) int { return *o.engine.Slots * params }

// Init implements opt.Dense. NaN stands for a state that torch.optim has yet to make, as in a first step.
func (o *optimizer) Init(state []float32) {
	for i := range state {
		state[i] = float32(math.NaN())
	}
}

// StepSum implements opt.Dense.
func (o *optimizer) StepSum(params, state, sum []float32, samples, step int, _ gemm.Pool) {
	vec.Divide(sum, float32(samples))
	o.Step(params, state, sum, step)
}

// Step implements opt.Dense. After a failure, which is that of the engine, it has no effect.
func (o *optimizer) Step(params, state, grad []float32, step int) {
	o.spec.Clip(grad)
	if err := o.step(params, state, grad, o.spec.Schedule.Rate(1, step)); err != nil {
		o.engine.fail(err)
	}
}

// step lets a process take a step at a share of the learning rates.
func (o *optimizer) step(params, state, grad []float32, share float64) error {
	p := o.engine.processes()
	a, err := p.allocate(2*len(params) + len(state))
	if err != nil {
		return err
	}
	defer p.release(a)
	copy(a.values, params)
	copy(a.values[len(params):], grad)
	copy(a.values[2*len(params):], state)
	if _, err := p.ask(request{Do: "step", Area: a.number, Share: share}, a); err != nil {
		return err
	}
	copy(params, a.values)
	copy(state, a.values[2*len(params):])
	return nil
}
