package gpu

import (
	"context"
	"fmt"
	"time"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/unit"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/turns"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/calibrate"
	"tandem/runtime/cuda/engine"
)

// inputs are the network of a case with the values that all sides compute with, as one group of samples.
type inputs struct {
	*pytorch.Inputs
	part *batch.Part
}

// newInputs draws the values of a case.
func newInputs(c testCase, seed uint64) (*inputs, error) {
	in, err := pytorch.Draw(c.Network, c.Batch, seed, nil)
	if err != nil {
		return nil, err
	}
	all := &batch.Batch{Samples: c.Batch, Dense: in.Dense, Labels: in.Labels}
	return &inputs{in, &batch.Part{Bounds: []int{0, c.Batch}, Batch: all}}, nil
}

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
	m, err := g.NewMeasured(in.Engine, model.ReplicaConfig{Ranks: 1, Initial: in.Initial,
		Optimizer: &optimizer, Groups: 1, SamplesMax: in.Samples, Summed: stays})
	if err != nil {
		return nil, err
	}
	return &replica{Measured: m, in: in, grads: make([]float32, len(in.Embeddings))}, nil
}

// step is forward, backward and optimizer, with the checks that ranks make.
func (r *replica) step() error {
	if err := r.Forward(r.in.part, r.in.Embeddings, r.grads); err != nil {
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
	return r.StepSum(r.Gradients(), r.in.Samples, r.steps-1)
}

// loss returns the mean loss of the latest step.
func (r *replica) loss() float64 { return r.Loss() / float64(r.in.Samples) }

// steps is a side: Tandem's step, with or without the copies of samples.
type steps struct {
	*replica
	bare bool
}

// Run implements turns.Side.
func (s steps) Run(ctx context.Context, n int) (time.Duration, error) {
	s.LeaveOutCopies(s.bare)
	begin := time.Now()
	if _, err := turns.Time(ctx, n, s.step); err != nil {
		return 0, err
	}
	err := s.Sync()
	return time.Since(begin), err
}

// products is a side: the matrix products of a step, each measured alone. Its time is the sum of their
// medians.
type products struct {
	*calibrate.Meter
	list   []cuda.Product
	counts map[cuda.Product]int // in a step
	budget time.Duration        // for one of the list
	flops  unit.FLOPs           // of a step
}

// newProducts prepares the products, to be measured in about a time. They are measured without the strides
// that matrices have within the parameters, without a bias, and without adding to what is there.
func newProducts(device *cuda.Device, of []engine.Multiplication, window time.Duration) (*products, error) {
	p := &products{counts: map[cuda.Product]int{}}
	most := calibrate.MemoryMin
	for _, m := range of {
		plain := cuda.Product{Rows: m.Rows, Columns: m.Columns, Inner: m.Inner, TransposeA: m.TransposeA,
			TransposeB: m.TransposeB, Type: m.Type, Out: m.Out}
		if p.counts[plain]++; p.counts[plain] == 1 {
			p.list = append(p.list, plain)
		}
		p.flops += calibrate.FLOPs(plain)
		most = max(most, calibrate.Bytes(plain))
	}
	p.budget = window / time.Duration(len(p.list))
	var err error
	p.Meter, err = calibrate.Open(device, most)
	return p, err
}

// Run implements turns.Side. The number of steps changes nothing: each product is repeated for its part of
// the window.
func (p *products) Run(ctx context.Context, steps int) (time.Duration, error) {
	var sum float64 // of a step, in nanoseconds
	for _, product := range p.list {
		times, err := p.Product(product, p.budget)
		if err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		sum += float64(p.counts[product]) * float64(times.Mid)
	}
	return time.Duration(float64(steps) * sum), nil
}

// Ways of PyTorch to do a step.
const (
	eager          = "eager"
	compiled       = "compiled"
	compiledGraphs = "compiled with graphs" // of CUDA
)

// way is a side: PyTorch, which does its steps in one way.
type way struct {
	*pytorch.Peer
	name string
}

// Run implements turns.Side.
func (w way) Run(ctx context.Context, steps int) (time.Duration, error) {
	return w.Seconds(ctx, map[string]any{"way": w.name, "steps": steps})
}
