package onnx

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tandem/algo/numeric/model"
	"tandem/internal/moduletest"
)

// values are those of a network with two embedding values, one number and one label.
var values = model.Values{Params: []float32{1, 2, 3}, Running: []float32{4, 5, 6, 7}}

// Tensors get the values that they refer to, and everything else stays as it is.
func TestTensorsGetTheirValues(t *testing.T) {
	for _, c := range []struct {
		change func(*moduletest.Weights)
		want   []float32
	}{
		{nil, []float32{1, 2, 3}},
		{func(w *moduletest.Weights) { w.Location = runningLocation }, []float32{4, 5, 6}},
		{func(w *moduletest.Weights) { w.Location, w.Offset = runningLocation, 4 }, []float32{5, 6, 7}},
		{func(w *moduletest.Weights) { w.Shape, w.Length = []int{1, 0}, 0 }, nil},
	} {
		graph := moduletest.GraphOf(2, 1, 1, c.change)
		filled, err := fill(graph, values)
		if err != nil {
			t.Fatal(err)
		}
		var raw []byte
		for _, v := range c.want {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
		// The last field of the tensor, which has no more than that of its name.
		want := protowire.AppendString(nil, "weights")
		want = protowire.AppendBytes(protowire.AppendTag(want, tensorRaw, protowire.BytesType), raw)
		if !bytes.Contains(filled, want) || bytes.Contains(filled, []byte("location")) {
			t.Errorf("%q has no %q", filled, want)
		}
		for _, part := range []string{"Gemm", "Concat", "embeddings", "numbers", "logits", "rows"} {
			if bytes.Count(filled, []byte(part)) != bytes.Count(graph, []byte(part)) {
				t.Errorf("%q has not the %s of %q", filled, part, graph)
			}
		}
	}
}

// A graph that refers to a file, or to what is not there, is refused in a sentence, also deep inside.
func TestGraphsThatReferElsewhereAreRefused(t *testing.T) {
	weights := func(change func(*moduletest.Weights)) []byte {
		return moduletest.GraphOf(2, 1, 1, change)
	}
	file := weights(func(w *moduletest.Weights) { w.Location = "/etc/passwd" })
	// What is in field 7 of the file: its graph.
	_, _, graph, _, err := field(file[2:])
	if err != nil {
		t.Fatal(err)
	}
	const isFile = `its tensor "weights": its values lie in the file "/etc/passwd"`
	for _, c := range []struct {
		graph []byte
		words string
	}{
		{file, isFile},
		{wrapped(graph, attributeGraph, nodeAttribute, graphNode, modelGraph), isFile},
		{wrapped(graph, attributeGraphs, nodeAttribute, functionNode, modelFunctions), isFile},
		{wrapped(graph, attributeGraph, functionAttribute, modelFunctions), isFile},
		{wrapped([]byte{}, graphSparse, modelGraph), "sparse tensors"},
		{wrapped([]byte{}, attributeSparses, nodeAttribute, graphNode, modelGraph), "sparse tensors"},
		{weights(func(w *moduletest.Weights) { w.Offset = 4 }),
			`3 values from byte "4" on, in "12" bytes, of the 3 values of the model`},
		{weights(func(w *moduletest.Weights) { w.Offset = 2 }), `from byte "2" on`},
		{weights(func(w *moduletest.Weights) { w.Length = 8 }), `in "8" bytes`},
		{weights(func(w *moduletest.Weights) { w.Shape = []int{1 << 30, 1 << 30, 1 << 30} }),
			"of the 3 values"},
		{weights(func(w *moduletest.Weights) { w.Type = 7 }), "it is no tensor of float32"},
		{weights(nil)[:200], errGraph.Error()},
		{[]byte("no graph"), errGraph.Error()},
		{wrapped([]byte("12ORTM"), 1), errGraph.Error()}, // a field, as ONNX has
		{make([]byte, model.GraphMax+1), "at most 67108864 are read"},
		{deep(100), "graphs in graphs, more than 16 deep"},
	} {
		filled, err := fill(c.graph, values)
		if err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80q: %v; want %s", filled, err, c.words)
		}
	}
}

// deep returns graphs in graphs.
func deep(n int) []byte {
	graph := []byte{}
	for range n {
		graph = wrapped(graph, attributeGraph, nodeAttribute, graphNode)
	}
	return wrapped(graph, modelGraph)
}

// Bytes from outside are filled or refused, and what is filled refers to nothing: it stays as it is.
func FuzzFill(f *testing.F) {
	f.Add([]byte(moduletest.GraphOf(2, 1, 1, nil)))
	f.Add([]byte(moduletest.GraphOf(3, 0, 1, func(w *moduletest.Weights) { w.Location = "weights.bin" })))
	f.Add(deep(3))
	f.Add(smuggled())
	marked, large := shifted()
	f.Add(marked)
	large.Params = values.Params
	f.Add(repeated(timesMax))
	f.Add(repeated(timesMax + 1))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, graph []byte) {
		filled, err := fill(graph, large)
		if err != nil {
			return
		}
		again, err := fill(filled, model.Values{})
		if err != nil || !bytes.Equal(again, filled) {
			t.Errorf("%q is filled as %q, and again as %q: %v", graph, filled, again, err)
		}
		if elsewhere(filled, "model") {
			t.Errorf("%q is filled as %q, in which onnxruntime finds a file", graph, filled)
		}
	})
}
