package wire

import (
	"errors"
	"fmt"

	"tandem/algo/msg"
)

// A codec is how one type of payload travels.
type codec struct {
	name   string
	takes  func(payload any) bool
	encode func(w *writer, payload any)
	decode func(r *reader) any
}

// entry makes the codec of type T from its two functions. What decode returns
// after r has failed is dropped.
func entry[T any](name string, encode func(w *writer, payload T), decode func(r *reader) any) codec {
	return codec{
		name:   name,
		takes:  func(payload any) bool { _, ok := payload.(T); return ok },
		encode: func(w *writer, payload any) { encode(w, payload.(T)) },
		decode: decode,
	}
}

// codecs lists the types of payload. The position of a type is its code on the
// wire: add at the end only.
var codecs = [...]codec{
	{"none", func(any) bool { return false }, func(*writer, any) {}, func(*reader) any { return nil }},
	entry("id features", encodeIDs, decodeIDs),
	entry("samples", encodeSamples, decodeSamples),
	entry("signs", section[uint64], func(r *reader) any { return array[uint64](r) }),
	entry("values", section[float32], func(r *reader) any { return array[float32](r) }),
	entry("put", encodePut, decodePut),
	entry("chunk", encodeChunk, decodeChunk),
}

var errType = errors.New("this type of payload cannot travel; give it a line in runtime/wire/payload.go")

// codeOf returns the code of a payload, and the payload in the form that the
// codec takes.
func codeOf(k msg.Kind, payload any) (uint8, any, error) {
	if payload == nil {
		return 0, nil, nil
	}
	payload = view(k, payload)
	for code := range codecs {
		if codecs[code].takes(payload) {
			return uint8(code), payload, nil
		}
	}
	return 0, nil, fmt.Errorf("%T: %w", payload, errType)
}
