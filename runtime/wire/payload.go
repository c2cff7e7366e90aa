package wire

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
)

// A codec encodes and decodes one type of payload.
type codec struct {
	name    string
	kinds   []msg.Kind // kinds of messages with this payload; none stands for all kinds
	accepts func(payload exec.Payload) bool
	encode  func(w *writer, payload exec.Payload)
	decode  func(r *reader) exec.Payload
}

// serves reports whether messages of a kind may have payloads of this codec.
func (c *codec) serves(k msg.Kind) bool { return len(c.kinds) == 0 || slices.Contains(c.kinds, k) }

// codecFor returns the codec of type T, made from its two functions. The result of decode is not used if r
// has failed.
func codecFor[T exec.Payload](name string, encode func(w *writer, payload T),
	decode func(r *reader) exec.Payload, kinds ...msg.Kind) codec {
	return codec{
		name:    name,
		kinds:   kinds,
		accepts: func(payload exec.Payload) bool { _, ok := payload.(T); return ok },
		encode:  func(w *writer, payload exec.Payload) { encode(w, payload.(T)) },
		decode:  decode,
	}
}

// chunkName is the name of Chunk's codec.
const chunkName = "chunk"

// codecs are the codecs of all types of payload. The index of a codec is its code in a frame, so new codecs
// are added at the end.
var codecs = [...]codec{
	{name: "none", accepts: func(exec.Payload) bool { return false },
		decode: func(*reader) exec.Payload { return nil }},
	codecFor("id features", encodeIDs, decodeIDs, msg.IDFeatures, msg.Embeddings),
	codecFor("samples", encodeSamples, decodeSamples, msg.Samples),
	codecFor("signs", func(w *writer, s exec.Signs) { encodeSigns(w, s.Signs) },
		func(r *reader) exec.Payload { return exec.Signs{Signs: decodeSigns(r)} }, msg.Lookup),
	codecFor("values", func(w *writer, v exec.Values) { encodeValues(w, v.Values) },
		func(r *reader) exec.Payload { return exec.Values{Values: decodeValues(r)} }, msg.Rows,
		msg.Embeddings, msg.PutGradients),
	codecFor("put", encodePut, decodePut, msg.Put),
	codecFor(chunkName, encodeChunk, decodeChunk),
	codecFor("dense shard", func(w *writer, v exec.DenseShard) { writeArray(w, []float32(v)) },
		func(r *reader) exec.Payload { return exec.DenseShard(readArray[float32](r)) }),
	codecFor("mixed rows", encodeMixed, decodeMixed, msg.Embeddings),
	codecFor("pooled", encodePooled, decodePooled, msg.Embeddings, msg.PutGradients),
	codecFor("pooled and ids", encodePooledAndIDs, decodePooledAndIDs, msg.Embeddings),
}

var errType = errors.New("this type of payload has no encoding; add it to runtime/wire/payload.go")

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
