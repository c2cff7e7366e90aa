package torch

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// engine is the module of one training. It is a model.Ranked: every rank of this process has a Python.
type engine struct {
	*processes
	spec   model.Spec
	layout model.Layout
	fresh  *fresh
}

// fresh are the parameters that an engine has returned. They lie in shared memory, so that those of weights
// that begin with them need not be copied.
type fresh struct {
	mu    sync.Mutex
	areas map[*float32]*area // by their first value
}

func newEngine(p *processes, spec model.Spec, schema *batch.Schema) (*engine, error) {
	e := &engine{processes: p, spec: spec, fresh: &fresh{areas: map[*float32]*area{}}}
	l := &e.layout
	*l = model.Layout{EmbeddingWidth: schema.EmbeddingWidth(), DenseWidth: len(schema.Dense),
		Labels: len(schema.Labels), Units: model.NewLoss(spec).Units()}
	for _, t := range p.Tensors {
		size := 1
		for _, n := range t.Shape {
			size *= n
		}
		l.Tensors = append(l.Tensors, model.Tensor{Name: t.Name, Shape: t.Shape, Lo: l.Params,
			Hi: l.Params + size})
		l.Params += size
	}
	for _, b := range p.Buckets {
		l.Buckets = append(l.Buckets, model.Bucket{Lo: b[0], Hi: b[1]})
	}
	for _, width := range p.Norms {
		l.Variances = append(l.Variances, model.Bucket{Lo: l.Running + width, Hi: l.Running + 2*width})
		l.Running += 2 * width
	}
	if l.Running > 0 {
		l.Stats = 1 + l.Running
	}
	if err := e.checkLoss(schema); err != nil {
		return nil, err
	}
	// Weights hold their engine, so that nothing has these areas once it is gone.
	runtime.AddCleanup(e, func(f *fresh) {
		for _, a := range f.areas { // order-free: areas of one size
			p.giveBack(a)
		}
	}, e.fresh)
	return e, nil
}

// checkLoss refuses settings of losses that a module with its own ignores.
func (e *engine) checkLoss(schema *batch.Schema) error {
	switch {
	case !e.OwnLoss:
		return nil
	case schema.Weight != "":
		return fmt.Errorf("%s of %s computes its own loss, which has no weights of rows (%s): return logits",
			e.spec.Class, e.spec.File, schema.Weight)
	case e.spec.Loss != "" || slices.ContainsFunc(e.spec.Heads, func(h model.Head) bool {
		return h.Weight != 0 || h.PositiveWeight != 0
	}):
		return fmt.Errorf("%s of %s computes its own loss: leave model.loss, weight and positive-weight "+
			"out, or return logits", e.spec.Class, e.spec.File)
	}
	return nil
}

// Layout implements model.Engine.
func (e *engine) Layout() *model.Layout { return &e.layout }

// Err implements model.Engine.
func (e *engine) Err() error { return e.failure() }

// Init implements model.Engine: the constructor of the class, after torch.manual_seed. After a failure it
// returns zeros.
func (e *engine) Init(seed uint64) (params, running []float32) {
	l := &e.layout
	a, err := e.take(l.Params)
	if err != nil {
		return make([]float32, l.Params), make([]float32, l.Running)
	}
	e.fresh.mu.Lock()
	e.fresh.areas[&a.values[0]] = a
	e.fresh.mu.Unlock()
	running = make([]float32, l.Running)
	if answer, err := e.ask(request{Do: "init", Seed: seed, Area: a.number}, a); err == nil {
		copy(running, answer.Running)
	}
	return a.values, running
}

// UpdateRunning implements model.Engine.
func (e *engine) UpdateRunning(running, stats []float32) {
	at := 0
	for _, width := range e.Norms {
		model.FoldMoments(running, stats, e.layout.Stats, at, width)
		at += 2 * width
	}
}

// NewPass implements model.Engine.
func (e *engine) NewPass(samplesMax int) model.Pass { return e.newPass(0, samplesMax) }

// OfRank implements model.Ranked.
func (e *engine) OfRank(rank int) model.Engine { return &ranked{e, rank} }

// Rest implements model.Ranked: it ends a Python that no rank has taken over.
func (e *engine) Rest() { e.rest() }

// ranked is the engine in the process of a rank.
type ranked struct {
	*engine
	rank int
}

// NewPass implements model.Engine.
func (r *ranked) NewPass(samplesMax int) model.Pass { return r.newPass(r.rank, samplesMax) }
