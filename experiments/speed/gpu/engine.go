package gpu

import (
	"context"
	"fmt"
	"time"

	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/runtime/cuda/engine"
)

// replica is the network of a case on the GPU, as Tandem trains it.
type replica struct {
	*engine.Measured
	in    *inputs
	steps int       // of its optimizer
	grads []float32 // of the pooled embeddings
}

// newReplica returns a replica with the first parameters. Stays says that gradients of parameters stay on the
// GPU.
func newReplica(g *engine.GPUs, in *inputs, stays bool) (*replica, error) {
	optimizer := opt.DefaultDense()
	m, err := g.NewMeasured(in.engine, model.ReplicaConfig{Ranks: 1, Initial: in.initial,
		Optimizer: &optimizer, Groups: 1, SamplesMax: in.part.Samples, Summed: stays})
	if err != nil {
		return nil, err
	}
	return &replica{Measured: m, in: in, grads: make([]float32, len(in.pooled))}, nil
}

// step is forward, backward and optimizer, with the checks that ranks make.
func (r *replica) step() error {
	if err := r.Forward(r.in.part, r.in.pooled, r.grads); err != nil {
		return err
	}
	_, notFinite, err := r.Backward(func(int32) {})
	if err != nil {
		return err
	}
	if notFinite != "" {
		return fmt.Errorf("not finite after %d steps: %s", r.steps, notFinite)
	}
	r.steps++
	return r.StepSum(r.Gradients(), r.in.part.Samples, r.steps-1)
}

// loss returns the mean loss of the latest step.
func (r *replica) loss() float64 { return r.Loss() / float64(r.in.part.Samples) }

// steps is a side: Tandem's step, with or without the copies of samples.
type steps struct {
	*replica
	bare bool
}

// run implements side.
func (s steps) run(ctx context.Context, n int) (time.Duration, error) {
	s.LeaveOutCopies(s.bare)
	begin := time.Now()
	for range n {
		if err := s.step(); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	if err := s.Sync(); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}
