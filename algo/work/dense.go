package work

import (
	"hash/fnv"
	"math"
	"sync"

	"tandem/algo/job"
	"tandem/algo/kernel"
	"tandem/algo/model"
	"tandem/algo/opt"
)

// Dense is the state of the dense network. Ranks that train in lock step have
// equal replicas, so those of one process share one: the first rank to reach
// the optimizer step of a step performs it, the others find it done. No rank
// can still be reading the parameters of a step then, because the gradients of
// that step are complete only when every rank has finished it.
type Dense struct {
	Params  []float32
	Running []float32 // batch-norm statistics

	layout    *model.Layout
	engine    model.Engine
	optimizer opt.Dense
	state     []float32
	crew      kernel.Crew // shares the optimizer step; nil: the caller alone

	mu      sync.Mutex
	applied int       // optimizer steps performed
	grads   []float32 // sums over the step in hand
	stats   []float32 // batch-norm statistics of its groups, in group order
}

// NewDense returns the initial state of a training's network.
func NewDense(t *job.Training, engine model.Engine) (*Dense, error) {
	optimizer, err := opt.NewDense(t.Dense)
	if err != nil {
		return nil, err
	}
	d := &Dense{layout: engine.Layout(), engine: engine, optimizer: optimizer}
	d.Params, d.Running = engine.Init(t.Seed)
	d.state = make([]float32, optimizer.StateSize(d.layout.Params))
	optimizer.Init(d.state)
	d.grads = make([]float32, d.layout.Params)
	return d, nil
}

// apply performs the optimizer step of a training step, unless another rank
// has. The gradient is the sum divided, once, by the step's samples.
func (d *Dense) apply(step, samples int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.applied > step {
		return
	}
	d.optimizer.StepSum(d.Params, d.state, d.grads, samples, step, d.crew)
	d.engine.UpdateRunning(d.Running, d.stats)
	d.applied++
}

// Digest returns a fingerprint of parameters, running statistics and optimizer
// state: equal bits, equal digests.
func (d *Dense) Digest() uint64 {
	h := fnv.New64a()
	var b [4]byte
	for _, values := range [][]float32{d.Params, d.Running, d.state} {
		for _, v := range values {
			u := math.Float32bits(v)
			b = [4]byte{byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)}
			h.Write(b[:])
		}
	}
	return h.Sum64()
}
