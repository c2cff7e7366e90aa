package speed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/rng"
)

// fillDense draws inputs and initial parameters.
func (p *prepared) fillDense() error {
	engine, err := model.New(p.Net.Spec(), p.Net.Schema(), nil)
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

// denseStep is the dense work of a step, as the roles of one rank with one group do it. Matrix products and
// optimizer run on a pool.
type denseStep struct {
	layout         *model.Layout
	optimizer      opt.Dense
	params, state  []float32
	pass           model.Pass
	input          model.Input
	grad           []float32
	loss           float64 // of the last step, summed over the samples
	samples, steps int
	pool           gemm.Pool
}

func newDenseStep(p *prepared) (*denseStep, error) {
	engine, err := model.New(p.Net.Spec(), p.Net.Schema(), p.products)
	if err != nil {
		return nil, err
	}
	optimizer, err := opt.NewDense(opt.DefaultDense())
	if err != nil {
		return nil, err
	}
	l := engine.Layout()
	d := &denseStep{
		layout: l, optimizer: optimizer, pool: p.pool, samples: p.Batch,
		pass: engine.NewPass(p.Batch), grad: make([]float32, l.Params),
		params: slices.Clone(p.arrays["params"]), state: make([]float32, optimizer.StateSize(l.Params)),
		input: model.Input{
			Samples: p.Batch, Embeddings: p.arrays["embeddings"],
			Dense: p.arrays["numbers"], Labels: p.arrays["labels"],
		},
	}
	optimizer.Init(d.state)
	return d, nil
}

// run implements stepper.
func (d *denseStep) run(ctx context.Context, steps int) (time.Duration, error) {
	return timed(ctx, steps, d.step)
}

// step does one step, with the checks that roles make.
func (d *denseStep) step() error {
	_, d.loss = d.pass.Forward(d.params, nil, d.input, true)
	finite := !math.IsNaN(d.loss) && !math.IsInf(d.loss, 0)
	for i, bucket := range d.layout.Buckets {
		d.pass.Backward(d.params, i, d.grad)
		finite = vec.Finite(d.grad[bucket.Lo:bucket.Hi]) && finite
	}
	if !finite || !vec.Finite(d.pass.EmbeddingGrad()) {
		return fmt.Errorf("the loss or a gradient is not finite after %d steps", d.steps)
	}
	d.optimizer.StepSum(d.params, d.state, d.grad, d.samples, d.steps, d.pool)
	d.steps++
	return nil
}

// check implements stepper: the loss, as mean over the samples.
func (d *denseStep) check() float64 { return d.loss / float64(d.samples) }
