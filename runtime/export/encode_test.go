package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// parsed is a message of Protocol Buffers: the contents of its fields by their number, and numbers in their
// place.
type parsed map[protowire.Number][]any

// parse reads a message. Contents stay bytes.
func parse(t *testing.T, data []byte) parsed {
	t.Helper()
	all := parsed{}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			t.Fatal("no tag")
		}
		data = data[n:]
		var value any
		switch kind {
		case protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(data)
			value = int(v)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(data)
			value = math.Float32frombits(v)
		default:
			value, n = protowire.ConsumeBytes(data)
		}
		if n < 0 {
			t.Fatalf("no value of field %d", number)
		}
		data = data[n:]
		all[number] = append(all[number], value)
	}
	return all
}

// one returns the only content of a field, as a message.
func (p parsed) one(t *testing.T, field protowire.Number) parsed {
	t.Helper()
	if len(p[field]) != 1 {
		t.Fatalf("%d fields %d, want one", len(p[field]), field)
	}
	return parse(t, p[field][0].([]byte))
}

// nodesOf returns the nodes of a graph as "output = operator(inputs) attributes".
func nodesOf(t *testing.T, graph parsed) (nodes []string) {
	for _, n := range graph[1] {
		n := parse(t, n.([]byte))
		text := fmt.Sprintf("%s = %s(%s)", n[2], n[4], n[1])
		if !reflect.DeepEqual(n[2], n[3]) {
			t.Errorf("node %s has the output %s", n[3], n[2])
		}
		for _, a := range n[5] {
			a := parse(t, a.([]byte))
			text += fmt.Sprintf(" %s:%v%v%v of type %v", a[1], a[2], a[3], a[8], a[20])
		}
		nodes = append(nodes, text)
	}
	return nodes
}

// tensorsOf returns the constants of a graph as "name type shape values".
func tensorsOf(t *testing.T, graph parsed) (tensors []string) {
	for _, c := range graph[5] {
		c := parse(t, c.([]byte))
		data := c[9][0].([]byte)
		var values []any
		for len(data) > 0 {
			switch c[2][0] {
			case 1:
				values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(data)))
				data = data[4:]
			case 7:
				values = append(values, int64(binary.LittleEndian.Uint64(data)))
				data = data[8:]
			case 11:
				values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(data)))
				data = data[8:]
			}
		}
		tensors = append(tensors, fmt.Sprint(string(c[8][0].([]byte)), c[2], c[1], values))
	}
	return tensors
}

// matricesOf returns inputs or outputs as "name type dimensions".
func matricesOf(t *testing.T, matrices []any) (all []string) {
	for _, m := range matrices {
		m := parse(t, m.([]byte))
		tensor := m.one(t, 2).one(t, 1)
		shape := tensor.one(t, 2)
		text := fmt.Sprintf("%s %v", m[1], tensor[1])
		for _, d := range shape[1] {
			d := parse(t, d.([]byte))
			text += fmt.Sprintf(" %v%s", d[1], d[2])
		}
		all = append(all, text)
	}
	return all
}

// A network becomes ONNX as onnx.proto has it: operators with all kinds of attributes, constants of all
// types, numbers that are standardised first, and inputs for what there is.
func TestNetworkInONNX(t *testing.T) {
	g := &model.Graph{Output: "sigmoid",
		Nodes: []model.Node{
			{Operator: "Concat", Inputs: []string{model.EmbeddingsInput, model.NumbersInput}, Output: "all",
				Attributes: []model.Attribute{{Name: "axis", Value: -1}, {Name: "perm", Value: []int{0, 2}},
					{Name: "alpha", Value: float32(0.5)}}},
			{Operator: "Sigmoid", Inputs: []string{"all"}, Output: "sigmoid"},
		},
		Constants: []model.Constant{{Name: "w", Shape: []int{2, 1}, Floats: []float32{1.5, -2}},
			{Name: "i", Shape: []int{2}, Ints: []int{-1, 3}}},
	}
	schema := &batch.Schema{Slots: []batch.Slot{{Dim: 4}, {Dim: 3, Pooling: batch.Raw, FixedSize: 2}},
		Dense: []string{"a", "b"}, Labels: []string{"y", "z", "u"}}
	text, err := encode(g, schema, []batch.Scaling{{Mean: 1.5, Std: 2}, {Mean: -1e9, Std: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	m := parse(t, text)
	set := m.one(t, 8)
	if !reflect.DeepEqual(m[1], []any{7}) || !reflect.DeepEqual(set[2], []any{13}) ||
		!reflect.DeepEqual(set[1], []any{[]byte{}}) || fmt.Sprintf("%s", m[2]) != "[tandem]" || len(m) != 4 {
		t.Errorf("version %v, operators %v, producer %s", m[1], set, m[2])
	}
	graph := m.one(t, 7)
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"nodes", nodesOf(t, graph), []string{
			"[numbers_double] = [Cast]([numbers]) [to]:[][11][] of type [2]",
			"[numbers_centred] = [Sub]([numbers_double numbers_mean])",
			"[numbers_scaled] = [Div]([numbers_centred numbers_std])",
			"[numbers_single] = [Cast]([numbers_scaled]) [to]:[][1][] of type [2]",
			"[numbers_missing] = [IsNaN]([numbers])",
			"[standardised_numbers] = [Where]([numbers_missing zero numbers_single])",
			"[all] = [Concat]([embeddings standardised_numbers]) [axis]:[][-1][] of type [2]" +
				" [perm]:[][][0 2] of type [7] [alpha]:[0.5][][] of type [1]",
			"[prediction] = [Sigmoid]([all])"}},
		{"tensors", tensorsOf(t, graph), []string{"numbers_mean[11] [2] [1.5 -1e+09]",
			"numbers_std[11] [2] [2 0.1]", "zero[1] [1] [0]", "w[1] [2 1] [1.5 -2]", "i[7] [2] [-1 3]"}},
		{"inputs", matricesOf(t, graph[11]), []string{"[embeddings] [1] [][rows] [12][]",
			"[numbers] [1] [][rows] [2][]"}},
		{"outputs", matricesOf(t, graph[12]), []string{"[prediction] [1] [][rows] [3][]"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s\n%q, want\n%q", c.what, c.got, c.want)
		}
	}
	for _, c := range []struct {
		schema batch.Schema
		want   []string
	}{
		{batch.Schema{Slots: schema.Slots[:1], Labels: []string{"y"}},
			[]string{"[embeddings] [1] [][rows] [4][]"}},
		{batch.Schema{Dense: []string{"a"}, Labels: []string{"y"}}, []string{"[numbers] [1] [][rows] [1][]"}},
	} {
		text, err := encode(&model.Graph{Output: "o"}, &c.schema, make([]batch.Scaling, len(c.schema.Dense)))
		if err != nil {
			t.Fatal(err)
		}
		graph := parse(t, text).one(t, 7)
		if got := matricesOf(t, graph[11]); !slices.Equal(got, c.want) {
			t.Errorf("inputs %q, want %q", got, c.want)
		}
		if standardised := len(graph[1]) > 0; standardised != (len(c.schema.Dense) > 0) {
			t.Errorf("%v: nodes %q", c.want, nodesOf(t, graph))
		}
	}
}
