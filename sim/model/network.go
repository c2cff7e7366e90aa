package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tandem/algo/unit"
)

// The interactions of a dense network: what becomes of the pooled embeddings and the output of the bottom
// layers on their way to the top layers.
const (
	Concat = "concat" // all of them side by side
	Dot    = "dot"    // the bottom's output, and the inner products of all pairs of vectors
	Cross  = "cross"  // side by side, through low-rank cross layers (DCN v2)
	Pool   = "pool"   // means of neighbouring embedding values, beside the numeric features
)

// Dense describes the dense network: either its layers or, where they are not published, its size.
type Dense struct {
	// Bottom has the widths of the layers that the numeric features pass; empty: they go to the interaction
	// as they are.
	Bottom      []int  `yaml:"bottom"`
	Interaction string `yaml:"interaction"`
	CrossLayers int    `yaml:"cross-layers"`
	CrossRank   int    `yaml:"cross-rank"`
	// Stride is the number of neighbouring values that Pool replaces by their mean.
	Stride int `yaml:"stride,omitempty"`
	// Top has the widths of the layers behind the interaction. The last is the number of labels.
	Top []int `yaml:"top"`

	// Parameters and Layers describe a stack of layers behind the interaction, in place of Top. Each hidden
	// layer is Taper times as wide as the one before; absent: 1, equally wide.
	Parameters Number `yaml:"parameters"`
	Layers     Number `yaml:"layers"`
	Taper      Number `yaml:"taper,omitempty"`
}

// validate reports the first fault.
func (d *Dense) validate(labels int) error {
	switch {
	case d.Interaction != Concat && d.Interaction != Dot && d.Interaction != Cross && d.Interaction != Pool:
		return fmt.Errorf("interaction = %q; want %s, %s, %s or %s", d.Interaction, Concat, Dot, Cross, Pool)
	case d.Interaction == Cross && (d.CrossLayers < 1 || d.CrossRank < 1):
		return fmt.Errorf("cross-layers, cross-rank = %d, %d; want at least 1, 1", d.CrossLayers, d.CrossRank)
	case d.Interaction != Cross && (d.CrossLayers != 0 || d.CrossRank != 0):
		return fmt.Errorf("cross-layers, cross-rank without interaction %q; remove them", Cross)
	case d.Interaction == Pool && d.Stride < 1:
		return fmt.Errorf("stride = %d; want at least 1", d.Stride)
	case d.Interaction != Pool && d.Stride != 0:
		return fmt.Errorf("stride without interaction %q; remove it", Pool)
	case d.Parameters.Given() != d.Layers.Given():
		return errors.New("one of parameters and layers; give both, or top in their place")
	case d.Taper.Given() && !d.Parameters.Given():
		return errors.New("taper without parameters and layers; remove it")
	case (len(d.Top) > 0) == d.Parameters.Given():
		return errors.New("want either top, or parameters and layers")
	case len(d.Top) > 0 && d.Top[len(d.Top)-1] != labels:
		return fmt.Errorf("the last layer of top has width %d; want %d, the number of labels",
			d.Top[len(d.Top)-1], labels)
	}
	if low, high := d.Taper.Range(); d.Taper.Given() && !(low >= taperMin && high <= 1) {
		return fmt.Errorf("taper = %v to %v; want %v to 1", low, high, taperMin)
	}
	if i := slices.IndexFunc(slices.Concat(d.Bottom, d.Top), func(w int) bool { return w < 1 }); i >= 0 {
		return errors.New("a layer has no width; want at least 1")
	}
	return nil
}

// taperMin is the least ratio of the widths of neighbouring layers: a wide layer would be followed by one of
// width 1 otherwise.
const taperMin = 0.1

// Product is a matrix product: a layer that turns In values of a sample into Out.
type Product struct {
	Name    string
	In, Out int
	// Bias is the number of parameters besides the matrix.
	Bias int
	// Activated means that an activation function follows.
	Activated bool
	// First means that no layer below needs the gradient of the input.
	First bool
}

// Parameters returns the number of weights and biases.
func (p Product) Parameters() int { return p.In*p.Out + p.Bias }

// ForwardFLOPs returns the work for one sample.
func (p Product) ForwardFLOPs() unit.FLOPs { return unit.FLOPs(2 * p.In * p.Out) }

// BackwardFLOPs returns the work for one sample: the gradient of the weights and, unless the layer is the
// first, that of the input.
func (p Product) BackwardFLOPs() unit.FLOPs {
	if p.First {
		return p.ForwardFLOPs()
	}
	return 2 * p.ForwardFLOPs()
}

// Network is the dense network of a model.
type Network struct {
	Bottom []Product // of the numeric features
	Cross  []Product // of the interaction
	Top    []Product
	// Pairs describes the inner products of the interaction; zero without.
	Pairs Pairs
	// Pooled is the number of values that the kernel of Pool reads and writes; zero without.
	Pooled int
	// Others are kernels beside those of products, pairs and Pooled.
	Others []Other
	// Joined is the number of values that the interaction reads: all pooled embeddings, and the numeric
	// features behind the bottom layers.
	Joined int
	// Out is the number of values that the interaction writes.
	Out int
}

// Other is a kernel that reads and writes Values of a sample. Its backward pass takes twice as many: the
// gradient and what forward read, and the gradients of these.
type Other struct {
	Name   string
	Values int
}

// Pairs are the inner products of all pairs of vectors of a sample.
type Pairs struct{ Vectors, Dim int }

// ForwardFLOPs returns the work for one sample: a product of the matrix of all vectors with its transpose.
func (p Pairs) ForwardFLOPs() unit.FLOPs { return unit.FLOPs(2 * p.Vectors * p.Vectors * p.Dim) }

// count returns the number of pairs of different vectors.
func (p Pairs) count() int { return p.Vectors * (p.Vectors - 1) / 2 }

// Products returns all layers in the order of the forward pass.
func (n *Network) Products() []Product { return slices.Concat(n.Bottom, n.Cross, n.Top) }

// Parameters returns the number of parameters.
func (n *Network) Parameters() (sum int) {
	for _, p := range n.Products() {
		sum += p.Parameters()
	}
	return sum
}

// ForwardFLOPs returns the work of the forward pass for one sample.
func (n *Network) ForwardFLOPs() unit.FLOPs {
	sum := n.Pairs.ForwardFLOPs()
	for _, p := range n.Products() {
		sum += p.ForwardFLOPs()
	}
	return sum
}

// BackwardFLOPs returns the work of the backward pass for one sample.
func (n *Network) BackwardFLOPs() unit.FLOPs {
	sum := 2 * n.Pairs.ForwardFLOPs()
	for _, p := range n.Products() {
		sum += p.BackwardFLOPs()
	}
	return sum
}

// Values returns the number of values of a sample that the forward pass writes, which backward needs.
func (n *Network) Values() int {
	sum := n.Joined
	if n.Pairs.Vectors > 0 || n.Pooled > 0 {
		sum += n.Out
	}
	for _, p := range n.Products() {
		sum += p.Out
	}
	return sum
}

// network lays out the layers for pooled embeddings of some vectors with a total width.
func (d *Dense) network(numeric, labels, vectors, width, dim int) *Network {
	n := &Network{}
	n.Bottom = stack("bottom", numeric, d.Bottom)
	if len(n.Bottom) > 0 {
		n.Bottom[0].First = true
		numeric = d.Bottom[len(d.Bottom)-1]
	}
	n.Joined = width + numeric
	n.Out = n.Joined
	switch d.Interaction {
	case Dot:
		n.Pairs = Pairs{vectors + 1, dim}
		n.Out = numeric + n.Pairs.count()
	case Pool:
		n.Out = numeric + (width+d.Stride-1)/d.Stride
		n.Pooled = n.Joined + n.Out
	case Cross:
		for i := range d.CrossLayers {
			n.Cross = append(n.Cross,
				Product{Name: fmt.Sprintf("cross%d.v", i+1), In: n.Joined, Out: d.CrossRank},
				Product{Name: fmt.Sprintf("cross%d.w", i+1), In: d.CrossRank, Out: n.Joined, Bias: n.Joined})
		}
	}
	top := d.Top
	if len(top) == 0 {
		top = append(d.widths(n, labels), labels)
	}
	n.Top = stack("top", n.Out, top)
	n.Top[len(n.Top)-1].Activated = false // logits
	return n
}

// stack returns layers of the given widths.
func stack(name string, in int, widths []int) (layers []Product) {
	for i, out := range widths {
		layers = append(layers, Product{Name: fmt.Sprintf("%s%d", name, i+1), In: in, Out: out, Bias: out,
			Activated: true})
		in = out
	}
	return layers
}

// widths returns the widths w, w·t, w·t², … of the hidden layers, each at least 1, for which the network has
// its number of parameters, where t is the taper:
//
//	Σ w²·t^(2i+1) + w·(in + labels·t^(layers−2) + Σ t^i) + labels = parameters
//
// The first sum is over pairs of neighbouring hidden layers, the second over hidden layers.
func (d *Dense) widths(n *Network, labels int) []int {
	hidden := int(max(2, math.Round(d.Layers.of(2)))) - 1
	t := d.Taper.of(1)
	c := float64(labels) - d.Parameters.of(0)
	for _, p := range slices.Concat(n.Bottom, n.Cross) {
		c += float64(p.Parameters())
	}
	a, b, power := 0.0, float64(n.Out), 1.0 // power is t^i
	for i := range hidden {
		b += power
		if i+1 == hidden {
			b += float64(float64(labels) * power)
			break
		}
		a += power * power * t
		power *= t
	}
	first := -c / b
	if a > 0 {
		first = (-b + math.Sqrt(max(0, b*b-4*a*c))) / (2 * a)
	}
	widths := make([]int, hidden)
	for i := range widths {
		widths[i] = int(max(1, math.Round(first)))
		first *= t
	}
	return widths
}
