package wire

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/msg"
)

// A codec is how one type of payload travels.
type codec struct {
	name   string
	kinds  []msg.Kind // of the messages that it belongs to; none: any
	takes  func(payload any) bool
	encode func(w *writer, payload any)
	decode func(r *reader) any
}

// serves reports whether payloads of the codec belong to a kind of message.
func (c *codec) serves(k msg.Kind) bool { return len(c.kinds) == 0 || slices.Contains(c.kinds, k) }

// entry makes the codec of type T from its two functions. What decode returns
// after r has failed is dropped.
func entry[T any](name string, encode func(w *writer, payload T), decode func(r *reader) any, kinds ...msg.Kind) codec {
	return codec{
		name:   name,
		kinds:  kinds,
		takes:  func(payload any) bool { _, ok := payload.(T); return ok },
		encode: func(w *writer, payload any) { encode(w, payload.(T)) },
		decode: decode,
	}
}

// chunkName is the name of the codec of Chunk.
const chunkName = "chunk"

// codecs lists the types of payload. The position of a type is its code on the
// wire: add at the end only.
var codecs = [...]codec{
	{name: "none", takes: func(any) bool { return false }, decode: func(*reader) any { return nil }},
	entry("id features", encodeIDs, decodeIDs, msg.IDFeatures),
	entry("samples", encodeSamples, decodeSamples, msg.Samples),
	entry("signs", encodeSigns, func(r *reader) any { return decodeSigns(r) }, msg.Lookup),
	entry("values", encodeValues, func(r *reader) any { return decodeValues(r) }, msg.Rows, msg.Embeddings, msg.PutGradients),
	entry("put", encodePut, decodePut, msg.Put),
	entry(chunkName, encodeChunk, decodeChunk),
	entry("numbers", section[float32], func(r *reader) any { return array[float32](r) }),
}

var errType = errors.New("this type of payload cannot travel; give it a line in runtime/wire/payload.go")

// codeOf returns the code of a payload.
func codeOf(k msg.Kind, payload any) (uint8, error) {
	if payload == nil {
		return 0, nil
	}
	for code := range codecs {
		if codecs[code].serves(k) && codecs[code].takes(payload) {
			return uint8(code), nil
		}
	}
	return 0, fmt.Errorf("%T: %w", payload, errType)
}
