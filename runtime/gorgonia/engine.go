package gorgonia

import (
	"fmt"
	"slices"
	"sync"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
)

// Model is a network as a graph.
type Model struct {
	// Parameters are the trained tensors, in the order of the flat parameter vector.
	Parameters []Parameter
	// Logits builds the network on the nodes and returns its logits, of shape
	// samples × labels, or samples if there is one label. It must use every parameter
	// and the embeddings. It is called for groups of any number of samples, by one
	// goroutine at a time.
	Logits func(in Nodes) (*G.Node, error)
	// Weights are the weights of the labels in the loss; nil means 1 each.
	Weights []float32
	// Cost is what a simulation charges for the network; zero if none is run.
	Cost model.Cost
}

// Parameter is a trained tensor. Its initial values are uniform in
// [−Bound, Bound).
type Parameter struct {
	Name  string
	Shape []int
	Bound float32
}

// Nodes are the leaves of a graph, fp32.
type Nodes struct {
	Graph      *G.ExprGraph
	Samples    int
	Embeddings *G.Node            // samples × pooled embedding values of a sample
	Dense      *G.Node            // samples × numeric features; nil without any
	Parameters map[string]*G.Node // by name, in the shapes of the model
}

// engine is a model.Engine on graphs.
type engine struct {
	model  Model
	layout model.Layout
}

// New returns an engine for the data of a schema. It builds the graph once, and
// returns an error if that fails, if a gradient does not exist, or if the logits
// have the wrong shape. The framework does not know of batch norm in a graph, so there are
// no running statistics.
func New(m Model, schema *batch.Schema) (model.Engine, error) {
	if len(m.Parameters) == 0 {
		return nil, fmt.Errorf("gorgonia: the model has no parameters; name at least one tensor")
	}
	if schema.Weight != "" {
		return nil, fmt.Errorf("gorgonia: samples have weights (%s), and a graph has none: leave them out",
			schema.Weight)
	}
	e := &engine{model: m, layout: model.Layout{
		EmbeddingWidth: schema.EmbeddingWidth(), DenseWidth: len(schema.Dense), Labels: len(schema.Labels),
		Cost: m.Cost,
	}}
	if m.Weights != nil && len(m.Weights) != e.layout.Labels {
		return nil, fmt.Errorf("gorgonia: %d loss weights for %d labels; give one each, or none",
			len(m.Weights), e.layout.Labels)
	}
	names := map[string]bool{}
	for _, p := range m.Parameters {
		size := 1
		for _, n := range p.Shape {
			size *= n
		}
		if names[p.Name] || len(p.Shape) == 0 || size < 1 {
			return nil, fmt.Errorf("gorgonia: parameter %q of shape %v; want a unique name and sizes above 0",
				p.Name, p.Shape)
		}
		names[p.Name] = true
		lo := e.layout.Params
		e.layout.Params += size
		e.layout.Tensors = append(e.layout.Tensors, model.Tensor{Name: p.Name, Shape: slices.Clone(p.Shape),
			Lo: lo, Hi: e.layout.Params})
	}
	e.layout.Buckets = []model.Bucket{{Lo: 0, Hi: e.layout.Params}}
	for _, train := range []bool{false, true} {
		trial, err := e.newProgram(2, train)
		if err != nil {
			return nil, err
		}
		trial.close()
	}
	return e, nil
}

// Layout implements model.Engine. All gradients are one bucket, because a graph computes
// them together.
func (e *engine) Layout() *model.Layout { return &e.layout }

// Init implements model.Engine.
func (e *engine) Init(seed uint64) (params, running []float32) {
	params = make([]float32, e.layout.Params)
	for i, p := range e.model.Parameters {
		key := rng.Key(seed, "gorgonia/init/"+p.Name)
		t := e.layout.Tensors[i]
		for j := range params[t.Lo:t.Hi] {
			params[t.Lo+j] = float32(2*rng.Unit(key, j)-1) * p.Bound
		}
	}
	return params, nil
}

// UpdateRunning implements model.Engine. It does nothing.
func (e *engine) UpdateRunning(running, stats []float32) {}

// Err implements model.Engine. It returns nil: a pass panics.
func (e *engine) Err() error { return nil }

// NewPass implements model.Engine.
func (e *engine) NewPass(maxSamples int) model.Pass {
	return &pass{engine: e, programs: map[shape]*program{},
		embeddingGrad: make([]float32, maxSamples*e.layout.EmbeddingWidth)}
}

// program is a compiled graph for groups of one size, with its inputs and outputs.
type program struct {
	machine    G.VM
	embeddings []float32
	dense      []float32
	labels     []float32 // nil unless training
	params     [][]float32
	logits     G.Value
	grads      []G.Value // of the parameters, then of the embeddings; none unless training
}

// building is held while a graph is built: Gorgonia counts nodes and groups in variables
// of its package.
var building sync.Mutex

// newProgram builds and compiles the graph.
func (e *engine) newProgram(samples int, train bool) (*program, error) {
	building.Lock()
	defer building.Unlock()
	l, g, p := &e.layout, G.NewGraph(), &program{}
	in := Nodes{Graph: g, Samples: samples, Parameters: map[string]*G.Node{}}
	in.Embeddings, p.embeddings = leaf(g, "embeddings", samples, l.EmbeddingWidth)
	if l.DenseWidth > 0 {
		in.Dense, p.dense = leaf(g, "dense", samples, l.DenseWidth)
	}
	var trained G.Nodes
	for _, t := range l.Tensors {
		node, values := leaf(g, t.Name, t.Shape...)
		in.Parameters[t.Name] = node
		trained, p.params = append(trained, node), append(p.params, values)
	}
	logits, err := e.model.Logits(in)
	if err != nil {
		return nil, fmt.Errorf("gorgonia: the model's graph: %w", err)
	}
	if s := logits.Shape(); s.TotalSize() != samples*l.Labels || s[0] != samples {
		return nil, fmt.Errorf("gorgonia: logits of shape %v for %d samples and %d labels; want %v", s,
			samples, l.Labels, []int{samples, l.Labels})
	}
	G.Read(logits, &p.logits)
	if train {
		if err := e.addLoss(g, p, logits, append(trained, in.Embeddings)); err != nil {
			return nil, err
		}
	}
	p.machine = G.NewTapeMachine(g)
	return p, nil
}

// addLoss adds the loss sum and its gradients:
//
//	Σ w·(log(1 + e^z) − z·y)
//
// which is the binary cross-entropy of nn.CrossEntropy.
func (e *engine) addLoss(g *G.ExprGraph, p *program, logits *G.Node, wrt G.Nodes) error {
	labels, values := leaf(g, "labels", logits.Shape()...)
	p.labels = values
	soft, err := G.Softplus(logits)
	if err != nil {
		return fmt.Errorf("gorgonia: the loss: %w", err)
	}
	loss := G.Must(G.Sub(soft, G.Must(G.HadamardProd(logits, labels)))) // of equal shapes
	if e.model.Weights != nil {
		weights, each := leaf(g, "weights", logits.Shape()...)
		for i := range each {
			each[i] = e.model.Weights[i%len(e.model.Weights)]
		}
		loss = G.Must(G.HadamardProd(loss, weights))
	}
	sum, err := G.Sum(loss)
	if err != nil {
		return fmt.Errorf("gorgonia: the loss: %w", err)
	}
	grads, err := G.Grad(sum, wrt...)
	if err != nil {
		return fmt.Errorf("gorgonia: the gradient of the model's graph, "+
			"which must use every parameter and the embeddings: %w", err)
	}
	p.grads = make([]G.Value, len(grads))
	for i, grad := range grads {
		G.Read(grad, &p.grads[i])
	}
	return nil
}

// leaf adds an input to a graph and returns its values.
func leaf(g *G.ExprGraph, name string, shape ...int) (*G.Node, []float32) {
	t := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(shape...))
	return G.NewTensor(g, tensor.Float32, len(shape), G.WithShape(shape...), G.WithName(name),
		G.WithValue(t)), t.Data().([]float32)
}

// run computes the graph for the current inputs.
func (p *program) run() error {
	p.machine.Reset()
	return p.machine.RunAll()
}

func (p *program) close() { _ = p.machine.Close() } // a tape machine holds nothing to lose
