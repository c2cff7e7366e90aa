package wire

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
)

// A codec is how one type of payload travels.
type codec struct {
	name    string
	kinds   []msg.Kind // of the messages that it belongs to; none: any
	accepts func(payload exec.Payload) bool
	encode  func(w *writer, payload exec.Payload)
	decode  func(r *reader) exec.Payload
}

// serves reports whether payloads of the codec belong to a kind of message.
func (c *codec) serves(k msg.Kind) bool { return len(c.kinds) == 0 || slices.Contains(c.kinds, k) }

// codecFor makes the codec of type T from its two functions. What decode returns
// after r has failed is dropped.
func codecFor[T exec.Payload](name string, encode func(w *writer, payload T), decode func(r *reader) exec.Payload, kinds ...msg.Kind) codec {
	return codec{
		name:    name,
		kinds:   kinds,
		accepts: func(payload exec.Payload) bool { _, ok := payload.(T); return ok },
		encode:  func(w *writer, payload exec.Payload) { encode(w, payload.(T)) },
		decode:  decode,
	}
}

// chunkName is the name of the codec of Chunk.
const chunkName = "chunk"

// codecs lists the types of payload. The position of a type is its code on the
// wire: add at the end only.
var codecs = [...]codec{
	{name: "none", accepts: func(exec.Payload) bool { return false }, decode: func(*reader) exec.Payload { return nil }},
	codecFor("id features", encodeIDs, decodeIDs, msg.IDFeatures),
	codecFor("samples", encodeSamples, decodeSamples, msg.Samples),
	codecFor("signs", func(w *writer, s exec.Signs) { encodeSigns(w, s.Signs) },
		func(r *reader) exec.Payload { return exec.Signs{Signs: decodeSigns(r)} }, msg.Lookup),
	codecFor("values", func(w *writer, v exec.Values) { encodeValues(w, v.Values) },
		func(r *reader) exec.Payload { return exec.Values{Values: decodeValues(r)} }, msg.Rows, msg.Embeddings, msg.PutGradients),
	codecFor("put", encodePut, decodePut, msg.Put),
	codecFor(chunkName, encodeChunk, decodeChunk),
	codecFor("numbers", func(w *writer, v exec.DenseShard) { writeArray(w, []float32(v)) },
		func(r *reader) exec.Payload { return exec.DenseShard(readArray[float32](r)) }),
}

var errType = errors.New("this type of payload cannot travel; give it a line in runtime/wire/payload.go")

// codeOf returns the code of a payload.
func codeOf(k msg.Kind, payload exec.Payload) (uint8, error) {
	if payload == nil {
		return 0, nil
	}
	for code := range codecs {
		if codecs[code].serves(k) && codecs[code].accepts(payload) {
			return uint8(code), nil
		}
	}
	return 0, fmt.Errorf("%T: %w", payload, errType)
}
