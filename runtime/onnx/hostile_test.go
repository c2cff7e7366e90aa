package onnx

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"tandem/algo/numeric/model"
	"tandem/internal/moduletest"
)

// wrapped returns a message within messages, by the numbers of its fields from inside out.
func wrapped(message []byte, fields ...protowire.Number) []byte {
	for _, field := range fields {
		message = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), message)
	}
	return message
}

// smuggled returns a graph with a tensor in the file "secret". The fields that say so have tags of 35 bits.
func smuggled() []byte {
	field := func(to []byte, number protowire.Number, text string) []byte {
		return protowire.AppendString(protowire.AppendTag(to, number, protowire.BytesType), text)
	}
	tensor := field([]byte{tensorType << 3, floatTensor, tensorDims << 3, 1}, tensorName, "weights")
	tensor = protowire.AppendVarint(tensor, 1<<32+tensorExternal<<3+uint64(protowire.BytesType))
	tensor = protowire.AppendBytes(tensor, field(field(nil, entryKey, "location"), entryValue, "secret"))
	tensor = append(protowire.AppendVarint(tensor, 1<<32+tensorLocation<<3), external)
	return wrapped(tensor, graphInitializer, modelGraph)
}

// initializer returns the tensor of a graph of moduletest.
func initializer(change func(*moduletest.Weights)) []byte {
	_, _, graph, _, _ := field(moduletest.GraphOf(2, 1, 1, change)[2:]) // after its version
	for len(graph) > 0 {
		number, _, value, size, _ := field(graph)
		if number == graphInitializer {
			return value
		}
		graph = graph[size:]
	}
	panic("no tensor")
}

// shifted returns a graph which has the mark of onnxruntime's own format once its tensor has its 40 values:
// the length of the graph then takes two bytes, not one.
func shifted() (graph []byte, of model.Values) {
	tensor := initializer(func(w *moduletest.Weights) {
		w.Location, w.Length, w.Shape = runningLocation, 160, []int{40}
	})
	marked := append([]byte{3<<3 | byte(protowire.Fixed32Type)}, otherFormat...) // in an unknown field
	return wrapped(append(marked, wrapped(tensor, graphInitializer)...), modelGraph),
		model.Values{Running: make([]float32, 40)}
}

// repeated returns a graph of tensors that all have the same values.
func repeated(tensors int) []byte {
	return wrapped(bytes.Repeat(wrapped(initializer(nil), graphInitializer), tensors), modelGraph)
}

// What onnxruntime's parser would read in another way than this package is refused.
func TestGraphsOfTwoMeaningsAreRefused(t *testing.T) {
	group := protowire.AppendTag(protowire.AppendTag(nil, 1, protowire.StartGroupType), 1,
		protowire.EndGroupType)
	marked, large := shifted()
	if string(marked[4:8]) == otherFormat {
		t.Error("the mark is there before the tensor has its values")
	}
	for what, graph := range map[string][]byte{
		"a tag of 35 bits":                   smuggled(),
		"a tag of two bytes that needs one":  {modelGraph<<3 | 2 | 0x80, 0, 0},
		"a group":                            group,
		"a graph that is an integer":         {modelGraph << 3, 1},
		"the mark of another format, filled": marked,
	} {
		if filled, err := fill(graph, large); err == nil || err.Error() != errGraph.Error() {
			t.Errorf("%s: %q, %v", what, filled, err)
		}
	}
}

// A tensor in a file is refused wherever ONNX has tensors. Numbers of fields from inside out, of
// github.com/onnx/onnx, onnx.proto.
func TestTensorsInFilesAreFound(t *testing.T) {
	entry := append(wrapped([]byte("location"), 1), wrapped([]byte("secret"), 2)...)
	tensor := append(wrapped(entry, 13), 14<<3, 1)
	for _, path := range [][]protowire.Number{
		{5, 7},                      // an initializer
		{5, 5, 1, 7}, {10, 5, 1, 7}, // a tensor of a node
		{5, 6, 5, 1, 7}, {5, 11, 5, 1, 7}, {5, 5, 1, 6, 5, 1, 7}, // in a graph of a node
		{5, 5, 7, 25}, {5, 11, 25}, {5, 6, 11, 25}, {5, 6, 5, 7, 25}, // in a function
	} {
		if _, err := fill(wrapped(tensor, path...), values); err == nil ||
			!strings.Contains(err.Error(), `in the file "secret"`) {
			t.Errorf("%d: %v", path, err)
		}
	}
	for _, path := range [][]protowire.Number{{15, 7}, {22, 5, 1, 7}, {23, 5, 1, 7}, {22, 11, 25}} {
		if _, err := fill(wrapped(nil, path...), values); err == nil ||
			!strings.Contains(err.Error(), "sparse") {
			t.Errorf("%d: %v", path, err)
		}
	}
}

// A tensor of one dimension more than PyTorch has is refused, however it says so, and one of as many is not.
func TestRankOfTensors(t *testing.T) {
	single := bytes.Repeat([]byte{tensorDims << 3, 1}, rankMax)
	packed := wrapped(bytes.Repeat([]byte{1}, rankMax+1), tensorDims)
	for _, c := range []struct {
		tensor []byte
		fits   bool
	}{
		{single, true}, {append(single[:len(single):len(single)], tensorDims<<3, 1), false}, {packed, false},
	} {
		_, err := fill(wrapped(c.tensor, graphInitializer, modelGraph), values)
		if fits := err == nil; fits != c.fits || !fits && !strings.Contains(err.Error(), "64 dimensions") {
			t.Errorf("%d bytes: %v", len(c.tensor), err)
		}
	}
}

// A graph of as many bytes as may be is read.
func TestLargestGraph(t *testing.T) {
	head := protowire.AppendTag(nil, 2, protowire.BytesType) // the name of the producer
	head = protowire.AppendVarint(head, model.GraphMax-5)    // which takes four bytes
	graph := append(head, make([]byte, model.GraphMax-len(head))...)
	if filled, err := fill(graph, values); err != nil || len(filled) != model.GraphMax {
		t.Errorf("%d bytes: %v", len(filled), err)
	}
}

// Memory and time are bounded by the bytes of a graph and the values of its model. A tensor may refer to all
// values, so a thousand small tensors could take a thousand times the memory of the model.
func TestMemoryOfGraphs(t *testing.T) {
	const size, valuesMax = 4 << 20, 1 << 20
	tiny := func(fields ...protowire.Number) []byte {
		outer := fields[len(fields)-1]
		inner := wrapped([]byte{}, fields[:len(fields)-1]...)
		one := wrapped(inner, outer)
		return bytes.Repeat(one, size/len(one))
	}
	graph := wrapped(initializer(func(w *moduletest.Weights) {
		w.Length, w.Shape = 4*valuesMax, []int{valuesMax}
	}), graphInitializer)
	large := model.Values{Params: make([]float32, valuesMax)}
	for _, c := range []struct {
		name  string
		graph []byte
		words string // of the error; "": it is filled
	}{
		{"tensors with all values", wrapped(bytes.Repeat(graph, 1000), modelGraph),
			"have the 1048576 values of the model more than 4 times"},
		{"as many as may be", wrapped(bytes.Repeat(graph, timesMax), modelGraph), ""},
		{"tiny nodes", wrapped(tiny(graphNode), modelGraph), ""},
		{"tiny attributes", wrapped(tiny(nodeAttribute), graphNode, modelGraph), ""},
		{"tiny tensors", wrapped(tiny(graphInitializer), modelGraph), ""},
		{"tiny entries", wrapped(tiny(tensorExternal), graphInitializer, modelGraph), `in the file ""`},
		{"tiny graphs", tiny(modelGraph), ""},
		{"many dimensions", wrapped(bytes.Repeat([]byte{1}, size), tensorDims, graphInitializer, modelGraph),
			"more than 64 dimensions"},
		{"many dimensions one by one", wrapped(bytes.Repeat([]byte{tensorDims << 3, 1}, size/2),
			graphInitializer, modelGraph), "more than 64 dimensions"},
		{"a dimension of 2⁶³", wrapped(protowire.AppendVarint([]byte{tensorDims << 3}, 1<<63),
			graphInitializer, modelGraph), errGraph.Error()},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := fill(c.graph, large)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if err == nil != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.name, err, c.words)
		}
		// The values are copied with their tensor, their graph and the model.
		limit := uint64(3*(4*timesMax*valuesMax+len(c.graph)) + 1<<20)
		if got := after.TotalAlloc - before.TotalAlloc; got > limit {
			t.Errorf("%s: %d bytes of graph take %d bytes, want at most %d", c.name, len(c.graph), got, limit)
		}
		if took > 10*time.Second {
			t.Errorf("%s: %d bytes of graph take %v", c.name, len(c.graph), took)
		}
	}
}

// looseFields calls a function with the number and content of each field of bytes, as onnxruntime's parser of
// Protocol Buffers finds them: it keeps 32 bits of a tag. It reports whether that parser takes the message.
func looseFields(from []byte, visit func(number uint32, content []byte) bool) bool {
	varint := func(bytesMax int) (v uint64, ok bool) {
		for i := 0; i < bytesMax && i < len(from); i++ {
			v |= uint64(from[i]&0x7f) << (7 * i)
			if from[i] < 0x80 {
				from = from[i+1:]
				return v, true
			}
		}
		return 0, false
	}
	depth := 0 // of groups
	for len(from) > 0 {
		tag, ok := varint(5)
		size := uint64(0)
		switch kind := uint32(tag) & 7; {
		case ok && kind == 0:
			_, ok = varint(10)
		case ok && kind == 1:
			size = 8
		case ok && kind == 2:
			size, ok = varint(5)
		case ok && kind == 3:
			depth++
		case ok && kind == 4:
			depth--
		case ok && kind == 5:
			size = 4
		default:
			return false
		}
		if !ok || size > uint64(len(from)) {
			return false
		}
		content := from[:size]
		from = from[size:]
		if uint32(tag)&7 == 2 && depth == 0 && !visit(uint32(tag)>>3, content) {
			return false
		}
	}
	return depth == 0
}

// elsewhere reports whether onnxruntime takes a message of a kind and finds in it a tensor that lies in a
// file, or a sparse one.
func elsewhere(message []byte, kind string) bool {
	within := map[string]map[uint32]string{
		"model":     {7: "graph", 25: "function"},
		"graph":     {1: "node", 5: "tensor", 15: "file"},
		"function":  {7: "node", 11: "attribute"},
		"node":      {5: "attribute"},
		"attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "file", 23: "file"},
		"tensor":    {13: "file"},
	}
	found := false
	taken := looseFields(message, func(number uint32, content []byte) bool {
		inner := within[kind][number]
		found = found || inner == "file" || inner != "" && elsewhere(content, inner)
		return true
	})
	return taken && found
}

// The parser of this test finds a file where that of onnxruntime does.
func TestElsewhere(t *testing.T) {
	file := moduletest.GraphOf(2, 1, 1, func(w *moduletest.Weights) { w.Location = "weights.bin" })
	filled, err := fill(moduletest.GraphOf(2, 1, 1, nil), values)
	if err != nil || elsewhere(filled, "model") || !elsewhere(file, "model") ||
		!elsewhere(smuggled(), "model") {
		t.Error("a tensor in a file is not found, or one is found that is none")
	}
}

// A field has a number of at most 29 bits, in as few bytes as it needs. Other fields, groups and fields that
// are not complete are refused.
func TestFieldsHaveNumbersOf29Bits(t *testing.T) {
	tag := func(number uint64, kind protowire.Type) []byte {
		return protowire.AppendVarint(nil, number<<3|uint64(kind))
	}
	largest := uint64(protowire.MaxValidNumber) // 2^29 − 1
	for _, c := range []struct {
		from  []byte
		valid bool
	}{
		{append(tag(1, protowire.BytesType), 1, 'x'), true},
		{append(tag(largest, protowire.BytesType), 1, 'x'), true},
		{append(tag(largest, protowire.VarintType), 7), true},
		{append(tag(largest+1, protowire.BytesType), 1, 'x'), false},
		{append(tag(1<<32+1, protowire.BytesType), 1, 'x'), false}, // 1 in its lower bits
		{append(tag(0, protowire.BytesType), 1, 'x'), false},
		{[]byte{1<<3 | 2 | 0x80, 0, 1, 'x'}, false}, // a tag of two bytes that needs one
		{append(tag(1, protowire.StartGroupType), tag(1, protowire.EndGroupType)...), false},
		{append(tag(1, protowire.BytesType), 2, 'x'), false},
		{tag(1, protowire.VarintType), false},
		{nil, false},
	} {
		number, _, value, size, err := field(c.from)
		if (err == nil) != c.valid || c.valid && size != len(c.from) {
			t.Errorf("%x: number %d, %d bytes, error %v", c.from, number, size, err)
		}
		if c.valid && c.from[len(c.from)-1] == 'x' && string(value) != "x" {
			t.Errorf("%x has the content %q", c.from, value)
		}
	}
}
