package torch

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
)

// engine is the module of one training. It is a model.Ranked: every rank of this process has a Python.
type engine struct {
	modules *Modules
	config  []byte
	description
	spec   model.Spec
	layout model.Layout
	fresh  *fresh

	mu      sync.Mutex
	current *processes // for new passes
	err     error      // why a pass, or Init, has failed
}

// fresh are the parameters that an engine has returned. They lie in shared memory, so that those of weights
// that begin with them need not be copied.
type fresh struct {
	mu    sync.Mutex
	areas map[*float32]*area // by their first value
}

func newEngine(p *processes, spec model.Spec, schema *batch.Schema) (*engine, error) {
	e := &engine{modules: p.modules, config: p.config, description: p.description, spec: spec,
		fresh: &fresh{areas: map[*float32]*area{}}, current: p}
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
	l.Cost = model.Cost{ForwardFLOPs: unit.FLOPs(p.Cost.Forward), BackwardFLOPs: unit.FLOPs(p.Cost.Backward),
		ActivationBytes: unit.Bytes(p.Cost.Bytes), Kernels: p.Cost.Kernels}
	if err := e.checkLoss(schema); err != nil {
		return nil, err
	}
	// Weights hold their engine, so that nothing has these areas once it is gone.
	runtime.AddCleanup(e, func(f *fresh) {
		for _, a := range f.areas { // order-free: areas of one size
			a.of.release(a)
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
	case slices.ContainsFunc(e.spec.Heads, func(h model.Head) bool {
		return h.Weight != 0 || h.PositiveWeight != 0
	}):
		return fmt.Errorf("%s of %s computes its own loss: leave weight and positive-weight out, or return "+
			"logits", e.spec.Class, e.spec.File)
	}
	return nil
}

// Layout implements model.Engine.
func (e *engine) Layout() *model.Layout { return &e.layout }

// Err implements model.Engine.
func (e *engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// fail sets the error of the engine, if it has none.
func (e *engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = cmp.Or(e.err, err)
}

// processes returns the processes for a new pass.
func (e *engine) processes() *processes {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current
}

// replace returns processes in the place of those that have died.
func (e *engine) replace(dead *processes) (*processes, error) {
	p, err := e.modules.processes(e.config)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(p.description, e.description) {
		return nil, fmt.Errorf("%s of %s is another network after its Python has died and was started "+
			"again: make its parameters in a fixed order", e.spec.Class, e.spec.File)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == dead {
		e.current = p
	}
	return e.current, nil
}

// Init implements model.Engine: the constructor of the class, after torch.manual_seed, or the state_dict of
// Modules.Begin. After a failure it returns zeros.
func (e *engine) Init(seed uint64) (params, running []float32) {
	l, p := &e.layout, e.processes()
	params, running = make([]float32, l.Params), make([]float32, l.Running)
	a, err := p.allocate(l.Params)
	if err != nil {
		e.fail(err)
		return params, running
	}
	e.fresh.mu.Lock()
	e.fresh.areas[&a.values[0]] = a
	e.fresh.mu.Unlock()
	answer, err := p.ask(request{Do: "init", Seed: seed, Area: a.number, File: e.modules.Begin}, a)
	if err != nil {
		e.fail(err)
		return params, running
	}
	copy(running, answer.Running)
	return a.values, running
}

// WriteState implements export.Module: torch.save writes the state_dict. It refuses running statistics that
// are not finite, which are no JSON.
func (e *engine) WriteState(values model.Values, file string) error {
	_, err := e.write(values, file, request{Do: "save"})
	return err
}

// WriteONNX implements export.Module, by torch.onnx.
func (e *engine) WriteONNX(values model.Values, scaling [][2]float64, units [][2]float32, file string) error {
	answer, err := e.write(values, file, request{Do: "onnx", Scaling: scaling, Units: units})
	if err == nil && answer.LeftOut != "" {
		err = errors.New(answer.LeftOut)
	}
	return err
}

// write lets a process write a trained module to a file.
func (e *engine) write(values model.Values, file string, r request) (answer reply, err error) {
	for i, v := range values.Running {
		if v-v != 0 {
			return answer, fmt.Errorf("running statistic %d of batch norm is %g: the training has diverged; "+
				"take an earlier checkpoint, or lower the rates", i, v)
		}
	}
	file, err = filepath.Abs(file) // a module may change its working directory
	if err != nil {
		return answer, err
	}
	p := e.processes()
	a, err := p.allocate(len(values.Params))
	if err != nil {
		return answer, err
	}
	defer p.release(a)
	copy(a.values, values.Params)
	r.Area, r.Running, r.File = a.number, values.Running, file
	return p.ask(r, a)
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
func (e *engine) NewPass(samplesMax int) model.Pass { return newPass(e, 0, samplesMax) }

// OfRank implements model.Ranked.
func (e *engine) OfRank(rank int) model.Engine { return &ranked{e, rank} }

// EndUnused implements model.Ranked: it ends a Python that no rank has taken over.
func (e *engine) EndUnused() { e.processes().endSpare() }

// ranked is the engine in the process of a rank.
type ranked struct {
	*engine
	rank int
}

// NewPass implements model.Engine.
func (r *ranked) NewPass(samplesMax int) model.Pass { return newPass(r.engine, r.rank, samplesMax) }
