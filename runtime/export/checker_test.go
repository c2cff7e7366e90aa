package export_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/runtime/export"
)

// fieldsOf returns the fields of a message by their number: contents, and integers of varints as one byte or
// more.
func fieldsOf(t *testing.T, message []byte) map[protowire.Number][][]byte {
	t.Helper()
	all := map[protowire.Number][][]byte{}
	for len(message) > 0 {
		number, kind, head := protowire.ConsumeTag(message)
		body := protowire.ConsumeFieldValue(number, kind, message[max(head, 0):])
		if head < 0 || body < 0 {
			t.Fatalf("field %d is no field", number)
		}
		value := message[head : head+body]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		all[number] = append(all[number], value)
		message = message[head+body:]
	}
	return all
}

// integerOf returns the only integer of a field.
func integerOf(t *testing.T, values [][]byte) int {
	t.Helper()
	if len(values) != 1 {
		t.Fatalf("%d values, want one", len(values))
	}
	n, _ := protowire.ConsumeVarint(values[0])
	return int(n)
}

// The ONNX of every network is one: an attribute has the value of its type, a tensor the bytes of its
// dimensions, and a node takes only what is there before it. Source: github.com/onnx/onnx, onnx.proto, and
// the rules of onnx/checker.cc.
func TestNetworksAreONNX(t *testing.T) {
	data := table(t)
	data.Derived, data.Means = nil, nil
	for _, kind := range []string{model.FeedForward, model.FactorizationMachine, model.DLRM, model.DCNv2} {
		from := trained(t, data, func(j *job.Job) { j.Model.Kind = kind })
		file, err := os.ReadFile(filepath.Join(exported(t, from, export.Safetensors), export.NetworkFile))
		if err != nil {
			t.Fatal(err)
		}
		graphs := fieldsOf(t, file)[7]
		if len(graphs) != 1 {
			t.Fatalf("%s: %d graphs", kind, len(graphs))
		}
		checkGraph(t, kind, fieldsOf(t, graphs[0]))
	}
}

// checkGraph checks the fields of a graph.
func checkGraph(t *testing.T, kind string, graph map[protowire.Number][][]byte) {
	t.Helper()
	known := map[string]bool{}
	for _, input := range graph[11] {
		known[string(fieldsOf(t, input)[1][0])] = true
	}
	bytesOf := map[int]int{1: 4, 7: 8, 11: 8} // of float, int64 and double
	for _, tensor := range graph[5] {
		f, size := fieldsOf(t, tensor), bytesOf[integerOf(t, fieldsOf(t, tensor)[2])]
		for _, n := range f[1] {
			size *= integerOf(t, [][]byte{n})
		}
		if len(f[9]) != 1 || len(f[9][0]) != size {
			t.Errorf("%s: tensor %s: want %d bytes", kind, f[8], size)
		}
		known[string(f[8][0])] = true
	}
	valueOf := map[int]protowire.Number{1: 2, 2: 3, 7: 8} // of the types FLOAT, INT and INTS
	for _, node := range graph[1] {
		f := fieldsOf(t, node)
		for _, input := range f[1] {
			if !known[string(input)] {
				t.Errorf("%s: node %s takes %s, which is not there", kind, f[3], input)
			}
		}
		known[string(f[2][0])] = true
		for _, attribute := range f[5] {
			a := fieldsOf(t, attribute)
			of := integerOf(t, a[20])
			if len(a) != 3 || len(a[1]) != 1 || len(a[valueOf[of]]) == 0 {
				t.Errorf("%s: attribute %s of node %s has type %d and fields %v", kind, a[1], f[3], of, a)
			}
		}
	}
	if len(graph[12]) != 1 || !known[string(fieldsOf(t, graph[12][0])[1][0])] {
		t.Errorf("%s: what the graph returns is not there", kind)
	}
}
