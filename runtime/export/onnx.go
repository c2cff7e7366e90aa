package export

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// Versions of ONNX that an export needs: the operators' opset, and the file format of that time.
const (
	opset     = 13
	irVersion = 7
)

// Types of tensors and attributes in ONNX.
const (
	floatTensor     = 1
	int64Tensor     = 7
	doubleTensor    = 11
	floatAttribute  = 1
	intAttribute    = 2
	intsAttribute   = 7
	protobufMax     = math.MaxInt32 // bytes of a message
	samplesAxis     = "rows"
	predictions     = "prediction"
	standardNumbers = "standardised_numbers"
)

// message is a Protocol Buffers message in its binary form.
type message []byte

func (m *message) text(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

func (m *message) bytes(field protowire.Number, data []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), data)
}

func (m *message) integer(field protowire.Number, v int) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) float(field protowire.Number, v float32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), math.Float32bits(v))
}

// encode returns a network as an ONNX model. Its inputs are embeddings, as pooled, and numbers, as they are
// in the data, NaN where one is missing; one without columns is left out. The output is prediction, rows ×
// labels.
//
// Source: github.com/onnx/onnx, onnx.proto, for the numbers of the fields.
func encode(g *model.Graph, schema *batch.Schema, scaling []batch.Scaling) ([]byte, error) {
	var graph message
	rename := map[string]string{g.Output: predictions}
	if len(schema.Dense) > 0 {
		standardise(&graph, scaling)
		rename[model.NumbersInput] = standardNumbers
	}
	name := func(s string) string {
		if other, ok := rename[s]; ok {
			return other
		}
		return s
	}
	for _, n := range g.Nodes {
		inputs := make([]string, len(n.Inputs))
		for i, input := range n.Inputs {
			inputs[i] = name(input)
		}
		node(&graph, n.Operator, inputs, name(n.Output), n.Attributes...)
	}
	graph.text(2, "tandem")
	for _, c := range g.Constants {
		if c.Floats == nil {
			tensor(&graph, c.Name, int64Tensor, c.Shape, appendInts(nil, c.Ints))
		} else {
			tensor(&graph, c.Name, floatTensor, c.Shape, appendFloats(nil, c.Floats))
		}
	}
	if width := schema.EmbeddingWidth(); width > 0 {
		graph.bytes(11, matrix(model.EmbeddingsInput, width))
	}
	if width := len(schema.Dense); width > 0 {
		graph.bytes(11, matrix(model.NumbersInput, width))
	}
	graph.bytes(12, matrix(predictions, len(schema.Labels)))

	var operators, m message
	operators.text(1, "")
	operators.integer(2, opset)
	m.integer(1, irVersion)
	m.text(2, "tandem")
	m.bytes(7, graph)
	m.bytes(8, operators)
	if len(m) > protobufMax {
		return nil, errors.New("the dense network takes more than 2 GiB, which one ONNX file cannot hold")
	}
	return m, nil
}

// standardise adds the nodes from numbers to standardised ones. They compute in double precision, as Tandem
// does, so that large numbers lose nothing.
func standardise(graph *message, scaling []batch.Scaling) {
	var means, deviations []byte
	for _, s := range scaling {
		means = binary.LittleEndian.AppendUint64(means, math.Float64bits(s.Mean))
		deviations = binary.LittleEndian.AppendUint64(deviations, math.Float64bits(s.Std))
	}
	tensor(graph, "numbers_mean", doubleTensor, []int{len(scaling)}, means)
	tensor(graph, "numbers_std", doubleTensor, []int{len(scaling)}, deviations)
	tensor(graph, "zero", floatTensor, []int{1}, make([]byte, 4))
	cast := func(input, output string, to int) {
		node(graph, "Cast", []string{input}, output, model.Attribute{Name: "to", Value: to})
	}
	cast(model.NumbersInput, "numbers_double", doubleTensor)
	node(graph, "Sub", []string{"numbers_double", "numbers_mean"}, "numbers_centred")
	node(graph, "Div", []string{"numbers_centred", "numbers_std"}, "numbers_scaled")
	cast("numbers_scaled", "numbers_single", floatTensor)
	node(graph, "IsNaN", []string{model.NumbersInput}, "numbers_missing")
	node(graph, "Where", []string{"numbers_missing", "zero", "numbers_single"}, standardNumbers)
}

// node adds an operator to a graph.
func node(graph *message, operator string, inputs []string, output string, attributes ...model.Attribute) {
	var m message
	for _, input := range inputs {
		m.text(1, input)
	}
	m.text(2, output)
	m.text(3, output) // nodes are called like their outputs
	m.text(4, operator)
	for _, a := range attributes {
		var attribute message
		attribute.text(1, a.Name)
		switch v := a.Value.(type) {
		case int:
			attribute.integer(3, v)
			attribute.integer(20, intAttribute)
		case float32:
			attribute.float(2, v)
			attribute.integer(20, floatAttribute)
		case []int:
			for _, i := range v {
				attribute.integer(8, i)
			}
			attribute.integer(20, intsAttribute)
		}
		m.bytes(5, attribute)
	}
	graph.bytes(1, m)
}

// tensor adds a constant to a graph, whose values are little-endian.
func tensor(graph *message, name string, kind int, shape []int, values []byte) {
	var m message
	for _, n := range shape {
		m.integer(1, n)
	}
	m.integer(2, kind)
	m.text(8, name)
	m.bytes(9, values)
	graph.bytes(5, m)
}

// matrix describes an input or output of any number of rows.
func matrix(name string, width int) []byte {
	var rows, columns, shape, tensor, kind, m message
	rows.text(2, samplesAxis)
	columns.integer(1, width)
	shape.bytes(1, rows)
	shape.bytes(1, columns)
	tensor.integer(1, floatTensor)
	tensor.bytes(2, shape)
	kind.bytes(1, tensor)
	m.text(1, name)
	m.bytes(2, kind)
	return m
}

func appendFloats(dst []byte, values []float32) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

func appendInts(dst []byte, values []int) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}
