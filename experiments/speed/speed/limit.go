package speed

import (
	"context"
	"time"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/runtime/probe"
)

// arithmetic is the third side of a dense case: the time of the operations of a step if all cores only
// multiply and add in registers.
type arithmetic struct {
	pool  gemm.Pool
	flops float64 // of a step
}

func newArithmetic(p *prepared) (side, error) {
	engine, err := model.New(p.Net.Spec(), p.Net.Schema(), nil)
	if err != nil {
		return nil, err
	}
	cost := engine.Layout().Cost
	return &arithmetic{p.pool, float64(p.Batch) * float64(cost.ForwardFLOPs+cost.BackwardFLOPs)}, nil
}

// open implements side.
func (*arithmetic) open(context.Context, *prepared) (warmState, error) { return warmState{}, nil }

// bareTurns is the length of the bare loop, which takes a few milliseconds.
const bareTurns = 1_000_000

// run implements side. It measures the current speed once, for any number of steps.
func (a *arithmetic) run(_ context.Context, steps int) (time.Duration, error) {
	begin := time.Now()
	done := make([]float64, a.pool.Size())
	a.pool.ForEach(len(done), func(core int) { done[core] = probe.MultiplyAdd(bareTurns) })
	took, sum := time.Since(begin), 0.0
	for _, flops := range done {
		sum += flops
	}
	return time.Duration(float64(took) * float64(steps) * a.flops / sum), nil
}

// close implements side.
func (*arithmetic) close(context.Context) error { return nil }
