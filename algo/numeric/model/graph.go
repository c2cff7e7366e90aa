package model

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/batch"
)

// GraphMax is the size in bytes of the largest graph in the format of ONNX that is read, of a network that a
// program outside has written. It has no parameters, but constants.
const GraphMax = 64 << 20

// Graph is the forward pass of a network in prediction, for programs that run it elsewhere: operators with
// the names, attributes and meaning that ONNX gives them in opset 13.
//
// Its inputs are the texts EmbeddingsInput and NumbersInput, samples × Layout.EmbeddingWidth and samples ×
// Layout.DenseWidth; one without columns does not occur.
type Graph struct {
	Nodes     []Node // each behind those whose outputs it takes
	Constants []Constant
	// Output is the name of the probabilities of label 1, samples × labels.
	Output string
}

// Names of the inputs of a Graph.
const (
	EmbeddingsInput = "embeddings"
	NumbersInput    = "numbers"
)

// Node is one operator.
type Node struct {
	Operator   string
	Inputs     []string
	Output     string
	Attributes []Attribute
}

// Attribute is a setting of an operator; its Value is an int, an []int or a float32.
type Attribute struct {
	Name  string
	Value any
}

// Constant is a tensor that does not depend on the data: of Floats, or, if they are nil, of Ints.
type Constant struct {
	Name   string
	Shape  []int
	Floats []float32
	Ints   []int
}

// NewGraph describes the network of a spec with the given values. It returns the errors of New, and one if
// the values are not as many as the network has.
func NewGraph(spec Spec, schema *batch.Schema, v Values) (*Graph, error) {
	engine, err := New(spec, schema, nil)
	if err != nil {
		return nil, err
	}
	n := engine.(*network)
	if l := &n.layout; len(v.Params) != l.Params || len(v.Running) != l.Running {
		return nil, fmt.Errorf("model: %d parameters and %d running statistics, but the network has %d and "+
			"%d", len(v.Params), len(v.Running), l.Params, l.Running)
	}
	d := &describer{net: n, Values: v, names: make([]string, len(n.widths))}
	d.names[embeddings], d.names[numeric] = EmbeddingsInput, NumbersInput
	for _, p := range n.parts {
		p.describe(d)
	}
	d.describePredictions()
	return &d.Graph, nil
}

// describer writes the graph of a network part by part.
type describer struct {
	Graph
	Values
	net   *network
	names []string // of the values whose parts are described
}

// describePredictions adds what makes predictions of the outputs.
func (d *describer) describePredictions() {
	outputs, units := d.names[d.net.output], d.net.layout.Units
	if units == nil {
		d.Output = d.node("Sigmoid", []string{outputs})
		return
	}
	var centers, scales []float32
	for _, u := range units {
		centers, scales = append(centers, u.Center), append(scales, u.Scale)
	}
	scaled := d.node("Mul", []string{outputs, d.floats("prediction_scale", scales, len(scales))})
	d.Output = d.node("Add", []string{scaled, d.floats("prediction_center", centers, len(centers))})
}

// node adds an operator and returns its output.
func (d *describer) node(operator string, inputs []string, attributes ...Attribute) (output string) {
	output = fmt.Sprintf("%s_%d", operator, len(d.Nodes))
	d.Nodes = append(d.Nodes, Node{operator, inputs, output, attributes})
	return output
}

// floats adds a constant and returns its name.
func (d *describer) floats(name string, values []float32, shape ...int) string {
	d.Constants = append(d.Constants, Constant{Name: name, Shape: shape, Floats: values})
	return name
}

// ints adds a vector of integers and returns its name.
func (d *describer) ints(values ...int) string {
	name := fmt.Sprintf("ints_%d", len(d.Constants))
	d.Constants = append(d.Constants, Constant{Name: name, Shape: []int{len(values)}, Ints: values})
	return name
}

// joined returns values side by side; "" if they have no columns.
func (d *describer) joined(values ...value) string {
	var names []string
	for _, v := range values {
		if d.net.widths[v] > 0 {
			names = append(names, d.names[v])
		}
	}
	return d.concat(names...)
}

// concat returns matrices side by side; "" if there are none.
func (d *describer) concat(names ...string) string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return d.node("Concat", names, Attribute{"axis", 1})
}

// reshaped returns a tensor with another shape; −1 stands for the samples.
func (d *describer) reshaped(x string, shape ...int) string {
	return d.node("Reshape", []string{x, d.ints(shape...)})
}

// columns returns some columns of a matrix.
func (d *describer) columns(x string, which []int) string {
	return d.node("Gather", []string{x, d.ints(which...)}, Attribute{"axis", 1})
}

// summed returns the sums of a tensor along an axis, which disappears or has length 1.
func (d *describer) summed(x string, axis, keep int) string {
	return d.node("ReduceSum", []string{x, d.ints(axis)}, Attribute{"keepdims", keep})
}

// linear returns x·Wᵀ + b, where W has rows × columns; without b if that is "".
func (d *describer) linear(x, w, b string) string {
	inputs := []string{x, w}
	if b != "" {
		inputs = append(inputs, b)
	}
	return d.node("Gemm", inputs, Attribute{"transB", 1})
}

func (d *layer) describe(g *describer) {
	bias := ""
	if !d.noBias {
		bias = g.floats(d.name+".bias", g.Params[d.bias:][:d.out], d.out)
	}
	weight := g.floats(d.name+".weight", g.Params[d.weight:][:d.in*d.out], d.out, d.in)
	x := g.linear(g.joined(d.inputs...), weight, bias)
	if d.norm {
		x = g.node("BatchNormalization", []string{x,
			g.floats(d.name+".norm.weight", g.Params[d.gamma:][:d.out], d.out),
			g.floats(d.name+".norm.bias", g.Params[d.beta:][:d.out], d.out),
			g.floats(d.name+".norm.mean", g.Running[d.running:][:d.out], d.out),
			g.floats(d.name+".norm.variance", g.Running[d.running+d.out:][:d.out], d.out),
		}, Attribute{"epsilon", float32(normEpsilon)})
	}
	if d.relu {
		x = g.node("Relu", []string{x})
	}
	g.names[d.output] = x
}

func (j *join) describe(g *describer) { g.names[j.output] = g.joined(j.inputs...) }

func (s *sum) describe(g *describer) {
	total := g.names[s.inputs[0]]
	for _, v := range s.inputs[1:] {
		total = g.node("Add", []string{total, g.names[v]})
	}
	g.names[s.output] = total
}

func (t *gate) describe(g *describer) {
	product := g.node("Mul", []string{g.names[t.x], g.names[t.y]})
	g.names[t.output] = g.node("Add", []string{product, g.names[t.z]})
}

func (t *interaction) describe(g *describer) {
	vectors := g.reshaped(g.names[t.input], -1, t.count, t.dim)
	transposed := g.node("Transpose", []string{vectors}, Attribute{"perm", []int{0, 2, 1}})
	products := g.reshaped(g.node("MatMul", []string{vectors, transposed}), -1, t.count*t.count)
	var lower []int
	for i := range t.count {
		for j := range i {
			lower = append(lower, i*t.count+j)
		}
	}
	g.names[t.output] = g.columns(products, lower)
}

// The values that every row begins with are columns with weight 1.
func (f *linear) describe(g *describer) {
	width := f.stride + f.width
	weight := make([]float32, f.heads*width)
	for h := range f.heads {
		for _, row := range f.rows {
			weight[h*width+row+h] = 1
		}
		copy(weight[h*width+f.stride:], g.Params[f.weight+h*f.width:][:f.width])
	}
	g.names[f.output] = g.linear(g.joined(embeddings, numeric),
		g.floats("linear.weight", weight, f.heads, width),
		g.floats("linear.bias", g.Params[f.bias:][:f.heads], f.heads))
}

func (f *factors) describe(g *describer) {
	var parts []string
	if len(f.rows) > 0 {
		var behindFirst []int
		for _, row := range f.rows {
			for k := range f.dim {
				behindFirst = append(behindFirst, row+1+k)
			}
		}
		parts = append(parts, g.columns(EmbeddingsInput, behindFirst))
	}
	if f.width > 0 {
		vectors := g.floats("factors", g.Params[f.vectors:][:f.width*f.dim], f.width, f.dim)
		product := g.node("Mul", []string{g.reshaped(NumbersInput, -1, f.width, 1), vectors})
		parts = append(parts, g.reshaped(product, -1, f.width*f.dim))
	}
	g.names[f.output] = g.concat(parts...)
}

func (s *pairSum) describe(g *describer) {
	vectors := g.reshaped(g.names[s.input], -1, s.width/s.dim, s.dim)
	sums := g.summed(vectors, 1, 0)
	squares := g.summed(g.node("Mul", []string{vectors, vectors}), 1, 0)
	difference := g.node("Sub", []string{g.node("Mul", []string{sums, sums}), squares})
	half := g.floats("half", []float32{0.5}, 1)
	g.names[s.output] = g.node("Mul", []string{g.summed(difference, 1, 1), half})
}
