package onnx

import (
	"cmp"
	"math"
	"runtime"

	"tandem/algo/numeric/model"
)

// engine is a network with its values, for predictions.
type engine struct {
	library *Library
	layout  model.Layout
	session uintptr
}

// Names of the inputs and the output of a graph, for C.
var (
	embeddingsName = cString("embeddings")
	numbersName    = cString("numbers")
	logitsName     = cString("logits")
)

func cString(s string) []byte { return append([]byte(s), 0) }

// Engine returns the network of a graph with its values, for predictions alone: what trains panics. Its
// passes compute with these values, whichever they are given. It tries a sample; the error says in a sentence
// why there is no network. Memory: the values twice, once while it is made.
func (l *Library) Engine(graph []byte, layout model.Layout, values model.Values) (model.Engine, error) {
	filled, err := fill(graph, values)
	if err != nil {
		return nil, err
	}
	if len(filled) == 0 {
		return nil, errGraph
	}
	session, err := l.newSession(filled)
	if err != nil {
		return nil, err
	}
	e := &engine{library: l, layout: layout, session: session}
	runtime.AddCleanup(e, func(session uintptr) { l.release(releaseSession, session) }, session)
	in := model.Input{Samples: 1, Embeddings: make([]float32, layout.EmbeddingWidth),
		Dense: make([]float32, layout.DenseWidth)}
	first := &pass{engine: e, logits: make([]float32, layout.Labels), tensors: new(tensors)}
	first.Forward(values.Params, values.Running, in, false)
	if err := first.Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// Layout implements model.Engine.
func (e *engine) Layout() *model.Layout { return &e.layout }

// Init implements model.Engine.
func (e *engine) Init(uint64) (params, running []float32) { panic(onlyPredicts) }

// UpdateRunning implements model.Engine.
func (e *engine) UpdateRunning(_, _ []float32) { panic(onlyPredicts) }

// onlyPredicts is the mistake of a caller.
const onlyPredicts = "onnx: a graph predicts, and is not trained"

// Err implements model.Engine. What fails is a pass.
func (e *engine) Err() error { return nil }

// NewPass implements model.Engine.
func (e *engine) NewPass(samplesMax int) model.Pass {
	return &pass{engine: e, logits: make([]float32, samplesMax*e.layout.Labels), tensors: new(tensors)}
}

// pass is a model.Pass.
type pass struct {
	engine  *engine
	logits  []float32
	tensors *tensors
	err     error // of the samples since Err
}

// Err returns why samples could not be computed since the last call, as where a value is none that the graph
// takes. Others can be.
func (p *pass) Err() error {
	err := p.err
	p.err = nil
	return err
}

// Forward implements model.Pass. It computes with the values of the engine.
func (p *pass) Forward(_, _ []float32, in model.Input, train bool) (logits []float32, lossSum float64) {
	if train || in.Labels != nil {
		panic(onlyPredicts)
	}
	logits = p.logits[:in.Samples*p.engine.layout.Labels]
	if in.Samples == 0 {
		return logits, 0
	}
	if err := p.compute(logits, in); err != nil {
		p.err = cmp.Or(p.err, err)
		for i := range logits {
			logits[i] = float32(math.NaN())
		}
	}
	return logits, 0
}

// compute writes logits.
func (p *pass) compute(logits []float32, in model.Input) error {
	l, e, t := &p.engine.layout, p.engine, p.tensors
	defer runtime.KeepAlive(e) // and its session
	defer t.release(e.library)
	err := t.add(e.library, embeddingsName, in.Samples, l.EmbeddingWidth, in.Embeddings)
	if err == nil && l.DenseWidth > 0 {
		err = t.add(e.library, numbersName, in.Samples, l.DenseWidth, in.Dense)
	}
	if err == nil {
		err = t.add(e.library, logitsName, in.Samples, l.Labels, logits)
	}
	if err == nil {
		err = t.run(e.library, e.session)
	}
	runtime.KeepAlive(in.Embeddings)
	runtime.KeepAlive(in.Dense)
	return err
}

// Stats implements model.Pass.
func (p *pass) Stats() []float32 { panic(onlyPredicts) }

// Backward implements model.Pass.
func (p *pass) Backward([]float32, int, []float32) { panic(onlyPredicts) }

// EmbeddingGrad implements model.Pass.
func (p *pass) EmbeddingGrad() []float32 { panic(onlyPredicts) }
