package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"tandem/algo/numeric/model"
)

// Numbers of fields of ONNX. Source: github.com/onnx/onnx, onnx.proto.
const (
	modelGraph         = 7
	modelFunctions     = 25
	graphNode          = 1
	graphInitializer   = 5
	graphSparse        = 15
	nodeAttribute      = 5
	attributeTensor    = 5
	attributeGraph     = 6
	attributeTensors   = 10
	attributeGraphs    = 11
	attributeSparse    = 22
	attributeSparses   = 23
	functionNode       = 7
	functionAttribute  = 11
	tensorDims         = 1
	tensorType         = 2
	tensorName         = 8
	tensorRaw          = 9
	tensorExternal     = 13
	tensorLocation     = 14
	entryKey           = 1
	entryValue         = 2
	floatTensor        = 1
	external           = 1
	depthMax           = 16 // of graphs in graphs
	protobufMax        = math.MaxInt32
	parametersLocation = "parameters"
	runningLocation    = "running"
)

// otherFormat marks a model in onnxruntime's own format, which the library reads, too, and nothing checks.
const otherFormat = "ORTM"

// errGraph says that bytes are no graph.
var errGraph = errors.New("it is no ONNX model")

// filler copies a graph, and gives its tensors their values.
type filler struct {
	values model.Values
	depth  int
}

// fill returns an ONNX model in which the tensors of a graph have the values that they refer to. The error
// says what is no graph, or refers to a file.
func fill(graph []byte, values model.Values) ([]byte, error) {
	if len(graph) > model.GraphMax {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", len(graph), model.GraphMax)
	}
	if len(graph) >= 8 && string(graph[4:8]) == otherFormat {
		return nil, errGraph
	}
	f := &filler{values: values}
	filled, err := f.message(graph, map[protowire.Number]rewrite{
		modelGraph: f.graph, modelFunctions: f.function,
	})
	if err == nil && len(filled) > protobufMax {
		err = errors.New("with its parameters it takes more than 2 GiB, which one ONNX model cannot hold")
	}
	return filled, err
}

// rewrite returns another form of a message.
type rewrite func(message []byte) ([]byte, error)

// message copies a message, whose fields of some numbers are messages that are rewritten.
func (f *filler) message(from []byte, fields map[protowire.Number]rewrite) (to []byte, err error) {
	to = make([]byte, 0, len(from))
	for len(from) > 0 {
		number, kind, value, size, err := field(from)
		if err != nil {
			return nil, err
		}
		again := fields[number]
		if again == nil {
			to = append(to, from[:size]...)
		} else {
			if kind != protowire.BytesType {
				return nil, errGraph
			}
			if value, err = again(value); err != nil {
				return nil, err
			}
			to = protowire.AppendBytes(protowire.AppendTag(to, number, kind), value)
		}
		from = from[size:]
	}
	return to, nil
}

// field returns the first field of a message, with its content if it is one of bytes, and its size.
func field(from []byte) (number protowire.Number, kind protowire.Type, value []byte, size int, err error) {
	number, kind, head := protowire.ConsumeTag(from)
	if head < 0 {
		return 0, 0, nil, 0, errGraph
	}
	body := protowire.ConsumeFieldValue(number, kind, from[head:])
	if body < 0 {
		return 0, 0, nil, 0, errGraph
	}
	if kind == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(from[head:])
	}
	return number, kind, value, head + body, nil
}

func (f *filler) graph(from []byte) ([]byte, error) {
	if f.depth++; f.depth > depthMax {
		return nil, fmt.Errorf("graphs in graphs, more than %d deep", depthMax)
	}
	defer func() { f.depth-- }()
	return f.message(from, map[protowire.Number]rewrite{graphNode: f.node, graphInitializer: f.tensor,
		graphSparse: refuseSparse})
}

func (f *filler) function(from []byte) ([]byte, error) {
	return f.message(from, map[protowire.Number]rewrite{functionNode: f.node,
		functionAttribute: f.attribute})
}

func (f *filler) node(from []byte) ([]byte, error) {
	return f.message(from, map[protowire.Number]rewrite{nodeAttribute: f.attribute})
}

func (f *filler) attribute(from []byte) ([]byte, error) {
	return f.message(from, map[protowire.Number]rewrite{attributeTensor: f.tensor,
		attributeTensors: f.tensor, attributeGraph: f.graph, attributeGraphs: f.graph,
		attributeSparse: refuseSparse, attributeSparses: refuseSparse})
}

// refuseSparse refuses sparse tensors, which have tensors in them.
func refuseSparse([]byte) ([]byte, error) { return nil, errors.New("it has sparse tensors") }

// tensor returns a tensor with its values, if they lie elsewhere.
func (f *filler) tensor(from []byte) ([]byte, error) {
	t := tensor{}
	to, err := f.message(from, map[protowire.Number]rewrite{tensorExternal: t.entry})
	if err == nil {
		err = t.read(from)
	}
	if err != nil || !t.external && t.entries == nil {
		return to, err
	}
	values, err := t.find(f.values)
	if err != nil {
		return nil, fmt.Errorf("its tensor %.100q: %w", t.name, err)
	}
	to = to[:0]
	for _, n := range t.dims {
		to = protowire.AppendVarint(protowire.AppendTag(to, tensorDims, protowire.VarintType), uint64(n))
	}
	to = protowire.AppendVarint(protowire.AppendTag(to, tensorType, protowire.VarintType), floatTensor)
	to = protowire.AppendString(protowire.AppendTag(to, tensorName, protowire.BytesType), t.name)
	to = protowire.AppendVarint(protowire.AppendTag(to, tensorRaw, protowire.BytesType),
		uint64(4*len(values)))
	for _, v := range values {
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(v))
	}
	return to, nil
}

// tensor is what a tensor says of itself.
type tensor struct {
	name     string
	dims     []int
	kind     uint64
	external bool
	entries  map[string]string
}

// entry reads one of the entries that say where values lie.
func (t *tensor) entry(from []byte) ([]byte, error) {
	var key, value string
	for at := from; len(at) > 0; {
		number, _, text, size, err := field(at)
		if err != nil {
			return nil, err
		}
		switch number {
		case entryKey:
			key = string(text)
		case entryValue:
			value = string(text)
		}
		at = at[size:]
	}
	if t.entries == nil {
		t.entries = map[string]string{}
	}
	t.entries[key] = value
	return from, nil
}

// read reads the other fields.
func (t *tensor) read(from []byte) error {
	for len(from) > 0 {
		number, kind, value, size, err := field(from)
		if err != nil {
			return err
		}
		varint := uint64(0)
		if kind == protowire.VarintType {
			_, _, head := protowire.ConsumeTag(from)
			varint, _ = protowire.ConsumeVarint(from[head:])
		}
		switch number {
		case tensorName:
			t.name = string(value)
		case tensorType:
			t.kind = varint
		case tensorLocation:
			t.external = varint == external
		case tensorDims:
			if err := t.addDims(kind, varint, value); err != nil {
				return err
			}
		}
		from = from[size:]
	}
	return nil
}

// addDims adds a dimension, or several that are packed.
func (t *tensor) addDims(kind protowire.Type, varint uint64, packed []byte) error {
	if kind == protowire.VarintType {
		packed = protowire.AppendVarint(nil, varint)
	}
	for len(packed) > 0 {
		n, size := protowire.ConsumeVarint(packed)
		if size < 0 || n > protobufMax {
			return errGraph
		}
		t.dims, packed = append(t.dims, int(n)), packed[size:]
	}
	return nil
}

// find returns the values of a tensor.
func (t *tensor) find(in model.Values) ([]float32, error) {
	var all []float32
	switch location := t.entries["location"]; location {
	case parametersLocation:
		all = in.Params
	case runningLocation:
		all = in.Running
	default:
		return nil, fmt.Errorf("its values lie in the file %.100q, and only those of the model are read",
			location)
	}
	if !t.external || t.kind != floatTensor {
		return nil, errors.New("it is no tensor of float32")
	}
	size := 1
	for _, n := range t.dims {
		if size *= n; size > len(all) {
			break
		}
	}
	offset, err := strconv.ParseUint(t.entries["offset"], 10, 62)
	length, errLength := strconv.ParseUint(t.entries["length"], 10, 62)
	if err != nil || errLength != nil || offset%4 != 0 || length != 4*uint64(size) ||
		offset/4+uint64(size) > uint64(len(all)) {
		return nil, fmt.Errorf("%d values from byte %q on, in %q bytes, of the %d values of the model",
			size, t.entries["offset"], t.entries["length"], len(all))
	}
	return all[offset/4:][:size], nil
}
