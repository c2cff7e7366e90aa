package speed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tandem/algo/batch"
	"tandem/algo/collective"
	"tandem/algo/kernel"
	"tandem/algo/model"
	"tandem/algo/opt"
	"tandem/algo/rng"
)

// schema returns the data that a network takes: slots of one pooled row each, and
// numbers.
func (n *net) schema() *batch.Schema {
	s := &batch.Schema{Labels: []string{"label"}, PrefixBits: 8}
	for i := range n.Slots {
		s.Slots = append(s.Slots, batch.Slot{Name: fmt.Sprintf("c%d", i+1), Dim: n.Dim})
	}
	for i := range n.Numeric {
		s.Dense = append(s.Dense, fmt.Sprintf("n%d", i+1))
	}
	return s
}

// fillDense draws inputs and first parameters.
func (p *prepared) fillDense() error {
	engine, err := model.New(p.Net.spec(), p.Net.schema(), nil)
	if err != nil {
		return err
	}
	params, _ := engine.Init(1)
	l, random := engine.Layout(), rng.New(1, "speed/dense")
	draw := func(n int, value func() float32) []float32 {
		values := make([]float32, n)
		for i := range values {
			values[i] = value()
		}
		return values
	}
	normal := func() float32 { return float32(random.NormFloat64()) }
	for _, a := range []struct {
		name   string
		values []float32
	}{
		{"params", params},
		{"embeddings", draw(p.Batch*l.EmbeddingWidth, normal)},
		{"numbers", draw(p.Batch*l.DenseWidth, normal)},
		{"labels", draw(p.Batch, func() float32 { return float32(random.IntN(2)) })},
	} {
		if err := p.add(a.name, a.values); err != nil {
			return err
		}
	}
	return nil
}

// denseStep is one rank's dense work of a step, as the runtime does it: forward
// and backward by groups, one a thread; the sum of their gradients, its mean, the
// check that it is finite; one step of the optimizer.
type denseStep struct {
	layout         *model.Layout
	optimizer      opt.Dense
	params         []float32
	states         [][]float32 // of the optimizer, by piece of the parameters
	passes         []model.Pass
	inputs         []model.Input
	grads          [][]float32 // by group
	losses         []float64   // by group
	finite         []bool      // by goroutine
	samples, steps int
	team           team
}

func newDenseStep(p *prepared) (*denseStep, error) {
	engine, err := model.New(p.Net.spec(), p.Net.schema(), kernel.NewProducts(nil))
	if err != nil {
		return nil, err
	}
	optimizer, err := opt.NewDense(opt.DefaultDense())
	if err != nil {
		return nil, err
	}
	l := engine.Layout()
	d := &denseStep{
		layout: l, optimizer: optimizer, params: append([]float32(nil), p.arrays["params"]...), samples: p.Batch,
		losses: make([]float64, p.Threads), finite: make([]bool, p.Threads), team: team(p.Threads),
	}
	for g := range p.Threads {
		d.states = append(d.states, make([]float32, optimizer.StateSize((g+1)*l.Params/p.Threads-g*l.Params/p.Threads)))
		optimizer.Init(d.states[g])
		lo, hi := g*p.Batch/p.Threads, (g+1)*p.Batch/p.Threads
		d.passes = append(d.passes, engine.NewPass(hi-lo))
		d.grads = append(d.grads, make([]float32, l.Params))
		d.inputs = append(d.inputs, model.Input{
			Samples: hi - lo, Labels: p.arrays["labels"][lo:hi],
			Embeddings: p.arrays["embeddings"][lo*l.EmbeddingWidth : hi*l.EmbeddingWidth],
			Dense:      p.arrays["numbers"][lo*l.DenseWidth : hi*l.DenseWidth],
		})
	}
	return d, nil
}

// check implements stepper: the loss.
func (d *denseStep) check() float64 { return d.loss() }

// loss is the mean over the samples.
func (d *denseStep) loss() float64 {
	sum := 0.0
	for _, loss := range d.losses {
		sum += loss
	}
	return sum / float64(d.samples)
}

// run implements stepper.
func (d *denseStep) run(ctx context.Context, steps int) (time.Duration, error) {
	return timed(ctx, steps, d.step)
}

func (d *denseStep) step() error {
	d.team.Do(d.team.Size(), func(g int) {
		_, d.losses[g] = d.passes[g].Forward(d.params, nil, d.inputs[g], true)
		for bucket := range d.layout.Buckets {
			d.passes[g].Backward(d.params, bucket, d.grads[g])
		}
		d.finite[g] = kernel.Finite(d.passes[g].EmbeddingGrad())
	})
	d.update()
	if loss := d.loss(); math.IsNaN(loss) || math.IsInf(loss, 0) || slices.Contains(d.finite, false) {
		return fmt.Errorf("the loss or a gradient is not finite after %d steps", d.steps)
	}
	d.steps++
	return nil
}

// update sums the gradients of all groups and gives the network its optimizer
// step, every goroutine a part of the parameters.
func (d *denseStep) update() {
	pieces := d.team.Size()
	d.team.Do(pieces, func(piece int) {
		lo, hi := piece*d.layout.Params/pieces, (piece+1)*d.layout.Params/pieces
		parts := make([][]float32, len(d.grads))
		for g, grad := range d.grads {
			parts[g] = grad[lo:hi]
		}
		collective.Tree(parts)
		grad := parts[0]
		d.finite[piece] = d.finite[piece] && kernel.Finite(grad)
		for i := range grad {
			grad[i] /= float32(d.samples)
		}
		d.optimizer.Step(d.params[lo:hi], d.states[piece], grad, d.steps)
	})
}
