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

const (
	// timesMax is how often the tensors of a graph may have each value of the model, on average. An exporter
	// writes a parameter once, or once for each of its names.
	timesMax = 4
	// rankMax is that of PyTorch.
	rankMax = 64
)

// errGraph says that bytes are no graph.
var errGraph = errors.New("it is no ONNX model")

// filler copies a graph, and gives its tensors their values.
type filler struct {
	values model.Values
	depth  int
	filled int // values given to tensors so far
}

// messageKind is what a message describes.
type messageKind int

const (
	modelMessage messageKind = iota
	graphMessage
	functionMessage
	nodeMessage
	attributeMessage
	tensorMessage
	sparseMessage
)

// inside has the fields of each kind of message that are tensors or lead to some, with their own kinds.
var inside = map[messageKind]map[protowire.Number]messageKind{
	modelMessage:    {modelGraph: graphMessage, modelFunctions: functionMessage},
	graphMessage:    {graphNode: nodeMessage, graphInitializer: tensorMessage, graphSparse: sparseMessage},
	functionMessage: {functionNode: nodeMessage, functionAttribute: attributeMessage},
	nodeMessage:     {nodeAttribute: attributeMessage},
	attributeMessage: {attributeTensor: tensorMessage, attributeTensors: tensorMessage,
		attributeGraph: graphMessage, attributeGraphs: graphMessage,
		attributeSparse: sparseMessage, attributeSparses: sparseMessage},
}

// fill returns an ONNX model in which the tensors of a graph have the values that they refer to. It may be
// the graph itself, if none does. The error says what is no graph, or refers to a file. Memory is at most
// a few times that of the graph and of timesMax times the values.
func fill(graph []byte, values model.Values) ([]byte, error) {
	if len(graph) > model.GraphMax {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", len(graph), model.GraphMax)
	}
	f := &filler{values: values}
	filled, err := f.message(graph, inside[modelMessage])
	if filled == nil {
		filled = graph
	}
	switch {
	case err != nil:
		return nil, err
	case len(filled) > protobufMax:
		return nil, errors.New("with its parameters it takes more than 2 GiB, which one ONNX model cannot " +
			"hold")
	case len(filled) >= 8 && string(filled[4:8]) == otherFormat:
		return nil, errGraph
	}
	return filled, nil
}

// change is a field of a message that is rewritten.
type change struct {
	at, end int // in the message
	number  protowire.Number
	content []byte
}

// rewrite returns a message of a kind with the values of its tensors, or nil if it stays as it is.
func (f *filler) rewrite(kind messageKind, from []byte) ([]byte, error) {
	switch kind {
	case tensorMessage:
		return f.tensor(from)
	case sparseMessage: // which has tensors in it
		return nil, errors.New("it has sparse tensors")
	case graphMessage:
		if f.depth++; f.depth > depthMax {
			return nil, fmt.Errorf("graphs in graphs, more than %d deep", depthMax)
		}
		defer func() { f.depth-- }()
	}
	return f.message(from, inside[kind])
}

// message returns a message in which some fields are rewritten, or nil if all stay as they are. It is copied
// only if one of them changes, and after all are known, so that graphs in graphs do not multiply memory.
func (f *filler) message(from []byte, fields map[protowire.Number]messageKind) ([]byte, error) {
	var changes []change
	more := 0
	for at := 0; at < len(from); {
		number, kind, value, size, err := field(from[at:])
		if err != nil {
			return nil, err
		}
		if inner, found := fields[number]; found {
			if kind != protowire.BytesType {
				return nil, errGraph
			}
			content, err := f.rewrite(inner, value)
			if err != nil {
				return nil, err
			}
			if content != nil {
				changes = append(changes, change{at, at + size, number, content})
				more += 2*binary.MaxVarintLen32 + len(content)
			}
		}
		at += size
	}
	if changes == nil {
		return nil, nil
	}
	to, at := make([]byte, 0, len(from)+more), 0
	for _, c := range changes {
		to = append(to, from[at:c.at]...)
		to = protowire.AppendBytes(protowire.AppendTag(to, c.number, protowire.BytesType), c.content)
		at = c.end
	}
	return append(to, from[at:]...), nil
}

// field returns the first field of a message, with its content if it is one of bytes, and its size. A number
// of more than 29 bits, or in more bytes than it needs, is refused: the parser of onnxruntime drops the upper
// bits, and would find another field. ONNX has no groups.
func field(from []byte) (number protowire.Number, kind protowire.Type, value []byte, size int, err error) {
	number, kind, head := protowire.ConsumeTag(from)
	if head < 0 || number > protowire.MaxValidNumber || head != protowire.SizeTag(number) ||
		kind == protowire.StartGroupType {
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

// tensor returns a tensor with its values, or nil if it has them.
func (f *filler) tensor(from []byte) ([]byte, error) {
	var t tensor
	if err := t.read(from); err != nil || !t.external && !t.elsewhere {
		return nil, err
	}
	values, err := t.find(f.values)
	if err != nil {
		return nil, fmt.Errorf("its tensor %.100q: %w", t.name, err)
	}
	all := len(f.values.Params) + len(f.values.Running)
	if f.filled += len(values); f.filled > timesMax*all {
		return nil, fmt.Errorf("its tensors have the %d values of the model more than %d times", all,
			timesMax)
	}
	to := make([]byte, 0, len(t.name)+12*len(t.dims)+4*len(values)+32)
	for _, n := range t.dims {
		to = protowire.AppendVarint(protowire.AppendTag(to, tensorDims, protowire.VarintType), uint64(n))
	}
	to = protowire.AppendVarint(protowire.AppendTag(to, tensorType, protowire.VarintType), floatTensor)
	to = protowire.AppendBytes(protowire.AppendTag(to, tensorName, protowire.BytesType), t.name)
	to = protowire.AppendVarint(protowire.AppendTag(to, tensorRaw, protowire.BytesType),
		uint64(4*len(values)))
	for _, v := range values {
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(v))
	}
	return to, nil
}

// tensor is what a tensor says of itself.
type tensor struct {
	name                     []byte
	dims                     []int
	kind                     uint64
	external                 bool
	elsewhere                bool // it has entries that say where its values lie
	location, offset, length []byte
}

// read reads a tensor.
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
			t.name = value
		case tensorType:
			t.kind = varint
		case tensorLocation:
			t.external = varint == external
		case tensorDims:
			err = t.addDims(kind, varint, value)
		case tensorExternal:
			err = t.entry(kind, value)
		}
		if err != nil {
			return err
		}
		from = from[size:]
	}
	return nil
}

// entry reads one of the entries that say where values lie.
func (t *tensor) entry(kind protowire.Type, from []byte) error {
	if kind != protowire.BytesType {
		return errGraph
	}
	t.elsewhere = true
	var key, value []byte
	for len(from) > 0 {
		number, _, text, size, err := field(from)
		if err != nil {
			return err
		}
		switch number {
		case entryKey:
			key = text
		case entryValue:
			value = text
		}
		from = from[size:]
	}
	switch string(key) {
	case "location":
		t.location = value
	case "offset":
		t.offset = value
	case "length":
		t.length = value
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
		if len(t.dims) == rankMax {
			return fmt.Errorf("a tensor has more than %d dimensions", rankMax)
		}
		t.dims, packed = append(t.dims, int(n)), packed[size:]
	}
	return nil
}

// find returns the values of a tensor.
func (t *tensor) find(in model.Values) ([]float32, error) {
	var all []float32
	switch string(t.location) {
	case parametersLocation:
		all = in.Params
	case runningLocation:
		all = in.Running
	default:
		return nil, fmt.Errorf("its values lie in the file %.100q, and only those of the model are read",
			t.location)
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
	offset, err := strconv.ParseUint(string(t.offset), 10, 62)
	length, errLength := strconv.ParseUint(string(t.length), 10, 62)
	if err != nil || errLength != nil || offset%4 != 0 || length != 4*uint64(size) ||
		offset/4+uint64(size) > uint64(len(all)) {
		return nil, fmt.Errorf("%d values from byte %q on, in %q bytes, of the %d values of the model",
			size, t.offset, t.length, len(all))
	}
	return all[offset/4:][:size], nil
}
