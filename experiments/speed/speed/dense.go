package speed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/pytorch"
	"tandem/runtime/probe"
)

// dense draws inputs and initial parameters. A step is the dense work of a step as the roles of one rank with
// one group do it, with the checks that roles make.
func (p *prepared) dense() error {
	in, err := pytorch.Draw(p.Net, p.Batch, 1, p.products)
	if err != nil {
		return err
	}
	p.files = in.Files
	l := in.Engine.Layout()
	p.tandem = func() (*work, error) {
		optimizer, err := opt.NewDense(opt.DefaultDense())
		if err != nil {
			return nil, err
		}
		params, state := slices.Clone(in.Initial.Params), make([]float32, optimizer.StateSize(l.Params))
		optimizer.Init(state)
		pass, grad, loss, steps := in.Engine.NewPass(p.Batch), make([]float32, l.Params), 0.0, 0
		return stepwise(func() error {
			_, loss = pass.Forward(params, nil, in.Input, true)
			finite := !math.IsNaN(loss) && !math.IsInf(loss, 0)
			for i, bucket := range l.Buckets {
				pass.Backward(params, i, grad)
				finite = vec.Finite(grad[bucket.Lo:bucket.Hi]) && finite
			}
			if !finite || !vec.Finite(pass.EmbeddingGrad()) {
				return fmt.Errorf("the loss or a gradient is not finite after %d steps", steps)
			}
			optimizer.StepSum(params, state, grad, p.Batch, steps, p.pool)
			steps++
			return nil
		}, func() float64 { return loss / float64(p.Batch) }), nil
	}
	if isa.Best() != isa.Portable { // which has no loop for the limit
		flops := float64(p.Batch) * float64(l.Cost.ForwardFLOPs+l.Cost.BackwardFLOPs)
		p.limit = func() (*work, error) { return p.arithmetic(flops), nil }
	}
	return nil
}

// bareTurns is the length of the bare loop, which takes a few milliseconds.
const bareTurns = 1_000_000

// arithmetic is the limit of a dense step: the time of its operations if all cores only multiply and add in
// registers. It measures their current speed once, for any number of steps.
func (p *prepared) arithmetic(flops float64) *work {
	return &work{run: func(_ context.Context, steps int) (time.Duration, error) {
		begin := time.Now()
		done := make([]float64, p.pool.Size())
		p.pool.ForEach(len(done), func(core int) { done[core] = probe.MultiplyAdd(bareTurns) })
		took, sum := time.Since(begin), 0.0
		for _, flops := range done {
			sum += flops
		}
		return time.Duration(float64(took) * float64(steps) * flops / sum), nil
	}}
}
