package model

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/unit"
)

// network is the engine of every built-in kind: parts in the order of forward,
// joined by the values that flow between them. A model is the function that adds
// its parts, such as newDLRM. Parameters lie in the order of the parts, and every
// part that has some is a bucket.
type network struct {
	layout   Layout
	rows     []int // where the rows of a sample begin among its embeddings
	products gemm.Products
	parts    []part
	widths   []int // of a sample's row of every value
	// ends[b] is the first part that Backward of bucket b runs; it begins where
	// the one of the bucket before ended. The last also runs the parts without
	// parameters that precede its own.
	ends    []int
	spans   []Bucket  // the parameters of every part
	norms   []*layer  // the layers with batch norm
	output  value     // the logits, one a head
	loss    *Loss     // each pass has a copy
	outputs []int     // where the output biases lie; the first are those of the heads, in their order
	biases  []float32 // by head: added to the fresh output bias
}

// value numbers one of the values that flow between parts: samples × width.
type value int

// Every network begins with the data.
const (
	embeddings value = iota // pooled embeddings
	numeric                 // numeric features; no gradient is computed
)

// part is one step of a network's computation, with or without parameters.
type part interface {
	// initialize writes the part's fresh parameters and running statistics, which
	// are 0 when it is called.
	initialize(params, running []float32, seed uint64)
	// cost returns the forward work for one sample: floating-point operations,
	// values read and written, and device kernels.
	cost() (flops float64, values, kernels int)
	// describe adds the part's forward pass to a graph.
	describe(*describer)
	// program returns the part as others compute it.
	program() ProgramPart
	// newPass returns the part's scratch.
	newPass(samplesMax int) partPass
}

// partPass is a part at work on one group.
type partPass interface {
	// forward computes the part's output value from its inputs.
	forward(p *pass)
	// backward writes the gradients of the part's parameters, and adds to the
	// gradients of its inputs (pass.flow) what flows back to them from that of its
	// output.
	backward(p *pass, paramGrad []float32)
}

// newNetwork returns a network without parts over the data of a schema.
func newNetwork(schema *batch.Schema, products gemm.Products) *network {
	n := &network{products: products}
	n.layout.EmbeddingWidth, n.layout.DenseWidth = schema.EmbeddingWidth(), len(schema.Dense)
	n.widths = []int{n.layout.EmbeddingWidth, n.layout.DenseWidth}
	first := 0
	for _, slot := range schema.Slots {
		if slot.Pooling == batch.Raw {
			for id := range slot.FixedSize {
				n.rows = append(n.rows, first+id*(slot.Dim+1)) // a row and its mask
			}
		} else {
			n.rows = append(n.rows, first)
		}
		first += slot.Width()
	}
	return n
}

// newValue adds a value.
func (n *network) newValue(width int) value {
	n.widths = append(n.widths, width)
	return value(len(n.widths) - 1)
}

// add appends a part whose parameters begin at lo and are the last laid out.
func (n *network) add(p part, lo int) {
	n.parts = append(n.parts, p)
	n.spans = append(n.spans, Bucket{lo, n.layout.Params})
}

// finish returns the complete network whose logits are output, one for each head
// of the spec.
func (n *network) finish(output value, spec Spec) *network {
	n.output, n.loss = output, NewLoss(spec)
	for _, head := range spec.Heads {
		n.biases = append(n.biases, float32(head.Bias))
	}
	l := &n.layout
	l.Labels, l.Units = spec.Labels(), n.loss.Units()
	for i := len(n.parts) - 1; i >= 0; i-- {
		if span := n.spans[i]; span.Hi > span.Lo {
			l.Buckets, n.ends = append(l.Buckets, span), append(n.ends, i)
		}
	}
	n.ends[len(n.ends)-1] = 0
	if l.Running > 0 {
		l.Stats = 1 + l.Running // the sample count, then as the running statistics
	}
	l.Cost = n.cost()
	return n
}

// cost adds up the parts and the loss, which is one kernel. Backward has two
// products where forward has one.
func (n *network) cost() Cost {
	flops, values, kernels := 0.0, 0, 1
	for _, p := range n.parts {
		partFLOPs, partValues, partKernels := p.cost()
		flops, values, kernels = flops+partFLOPs, values+partValues, kernels+partKernels
	}
	return Cost{
		ForwardFLOPs:    unit.FLOPs(flops),
		BackwardFLOPs:   unit.FLOPs(2 * flops),
		ActivationBytes: unit.Bytes(4 * values),
		Kernels:         kernels,
	}
}

func (n *network) Layout() *Layout { return &n.layout }

func (n *network) Err() error { return nil }

func (n *network) Init(seed uint64) (params, running []float32) {
	params, running = make([]float32, n.layout.Params), make([]float32, n.layout.Running)
	for _, p := range n.parts {
		p.initialize(params, running, seed)
	}
	for h, bias := range n.biases {
		params[n.outputs[h]] += bias
	}
	return params, running
}

func (n *network) UpdateRunning(running, stats []float32) {
	checkLen("running", len(running), n.layout.Running)
	size := n.layout.Stats
	if size == 0 {
		return
	}
	if len(stats)%size != 0 {
		panic(fmt.Sprintf("model: len(stats) = %d, want a multiple of %d", len(stats), size))
	}
	for _, d := range n.norms {
		FoldMoments(running, stats, size, d.running, d.out)
	}
}
