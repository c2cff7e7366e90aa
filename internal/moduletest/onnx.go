package moduletest

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message of Protocol Buffers.
type message []byte

func (m *message) bytes(field protowire.Number, data []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), data)
}

func (m *message) text(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

func (m *message) integer(field protowire.Number, v int) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

// Weights is a tensor of a graph: where its values lie, and what it says of them.
type Weights struct {
	Location string
	Offset   int
	Length   int
	Shape    []int
	Type     int // 1: float32
}

// GraphOf returns the network of the stub as ONNX without its values: a weight of each label for every input,
// embeddings and then numbers. With a change it is another one.
func GraphOf(width, numbers, labels int, change func(*Weights)) []byte {
	inputs := width + numbers
	w := Weights{Location: "parameters", Length: 4 * labels * inputs, Shape: []int{labels, inputs}, Type: 1}
	if change != nil {
		change(&w)
	}
	var graph, model, operators message
	from := "embeddings"
	if numbers > 0 {
		from = "inputs"
		graph.bytes(1, node("Concat", "axis", 1, from, "embeddings", "numbers"))
	}
	graph.bytes(1, node("Gemm", "transB", 1, "logits", from, "weights"))
	graph.text(2, "stub")
	graph.bytes(5, w.tensor("weights"))
	graph.bytes(11, matrix("embeddings", width))
	if numbers > 0 {
		graph.bytes(11, matrix("numbers", numbers))
	}
	graph.bytes(12, matrix("logits", labels))
	operators.text(1, "")
	operators.integer(2, 13)
	model.integer(1, 7)
	model.bytes(7, graph)
	model.bytes(8, operators)
	return model
}

// node is a node with an attribute, which is a whole number.
func node(operator, attribute string, value int, output string, inputs ...string) (n message) {
	for _, input := range inputs {
		n.text(1, input)
	}
	n.text(2, output)
	n.text(4, operator)
	var a message
	a.text(1, attribute)
	a.integer(3, value)
	a.integer(20, 2)
	n.bytes(5, a)
	return n
}

// matrix is an input or an output of float32: rows × columns.
func matrix(name string, columns int) (value message) {
	var rows, width, shape, kind, of message
	rows.text(2, "rows")
	width.integer(1, columns)
	shape.bytes(1, rows)
	shape.bytes(1, width)
	of.integer(1, 1)
	of.bytes(2, shape)
	kind.bytes(1, of)
	value.text(1, name)
	value.bytes(2, kind)
	return value
}

func (w *Weights) tensor(name string) (t message) {
	for _, n := range w.Shape {
		t.integer(1, n)
	}
	t.integer(2, w.Type)
	t.text(8, name)
	for _, e := range [][2]string{{"location", w.Location}, {"offset", strconv.Itoa(w.Offset)},
		{"length", strconv.Itoa(w.Length)}} {
		var entry message
		entry.text(1, e[0])
		entry.text(2, e[1])
		t.bytes(13, entry)
	}
	t.integer(14, 1)
	return t
}
