package wire

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/route"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// flat returns the bytes of a frame in one piece.
func (f Frame) flat() []byte { return bytes.Join(f.Segments, nil) }

// drawMessage draws a header. Indices are those of instances, all else is any
// number.
func drawMessage(t *rapid.T, kind msg.Kind) msg.Message {
	address := func(name string) msg.Address {
		return msg.Address{Role: msg.Role(rapid.IntRange(0, int(msg.Coordinator)).Draw(t, name)),
			Index: rapid.Int32Min(0).Draw(t, name+" index")}
	}
	number := func(name string) int32 { return rapid.Int32().Draw(t, name) }
	return msg.Message{
		Kind: kind, From: address("from"), To: address("to"), Rank: number("rank"), Step: number("step"),
		Floor:   number("floor"),
		Samples: number("samples"), StepSamples: number("step samples"),
		Bytes: unit.Bytes(rapid.Int64().Draw(t, "bytes")),
	}
}

// drawIdentity draws who sends.
func drawIdentity(t *rapid.T) Identity {
	id := Identity{Incarnation: rapid.Uint32().Draw(t, "incarnation"), View: rapid.Uint32().Draw(t, "view")}
	copy(id.Run[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "run"))
	return id
}

// drawArray draws arrays on both sides of aliasMin.
func drawArray[T element](t *rapid.T, name string, n int, value *rapid.Generator[T]) []T {
	cycle := rapid.SliceOfN(value, 1, 9).Draw(t, name)
	values := make([]T, n)
	for i := range values {
		values[i] = cycle[i%len(cycle)]
	}
	return values
}

func drawLength(t *rapid.T, name string) int {
	return rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 3000)).Draw(t, name)
}

func drawFloats(t *rapid.T, name string, n int) []float32 {
	return drawArray(t, name, n, rapid.Float32())
}

// drawPart draws a part with ids, dense features and labels.
func drawPart(t *rapid.T) *batch.Part {
	b := &batch.Batch{Samples: rapid.IntRange(0, 300).Draw(t, "samples")}
	for range rapid.IntRange(0, 4).Draw(t, "slots") {
		slot := batch.Jagged{Offsets: make([]int32, b.Samples+1)}
		for i := range b.Samples {
			slot.Offsets[i+1] = slot.Offsets[i] + int32(i)%3
		}
		slot.IDs = drawArray(t, "ids", int(slot.Offsets[b.Samples]), rapid.Uint64())
		b.Slots = append(b.Slots, slot)
	}
	b.Dense = drawFloats(t, "dense", b.Samples*rapid.IntRange(0, 3).Draw(t, "dense width"))
	b.Labels = drawFloats(t, "labels", b.Samples)
	if rapid.Bool().Draw(t, "weighted") {
		b.Weights = drawFloats(t, "weights", b.Samples)
	}
	ranks := rapid.IntRange(1, 8).Draw(t, "ranks")
	parts := batch.Cut(b, ranks*rapid.IntRange(1, 4).Draw(t, "groups of a rank"), ranks)
	return &parts[rapid.IntRange(0, ranks-1).Draw(t, "rank")]
}

// drawPayload draws a payload of a kind of message; driver says that it is a driver's own.
func drawPayload(t *rapid.T, kind msg.Kind, driver bool) exec.Payload {
	switch {
	case driver:
		sum := rapid.Bool().Draw(t, "sum")
		return Chunk{
			Bucket: rapid.IntRange(0, 1000).Draw(t, "bucket"),
			Sum:    sum, Own: sum && rapid.Bool().Draw(t, "own"),
			Values: drawFloats(t, "values", drawLength(t, "n")),
			Stats:  drawFloats(t, "stats", drawLength(t, "stats n")),
		}
	case !kind.HasPayload():
		return nil
	}
	switch kind {
	case msg.IDFeatures:
		return drawIDs(t)
	case msg.Samples:
		return exec.Samples{Part: drawPart(t)}
	case msg.Lookup:
		return exec.Signs{Signs: drawSigns(t)}
	case msg.Put:
		return &exec.Put{Samples: rapid.IntRange(0, 999).Draw(t, "samples"), Signs: drawSigns(t),
			Sums: drawValues(t)}
	case msg.Embeddings:
		if rapid.Bool().Draw(t, "hot rows") {
			return drawMixed(t)
		}
		if rapid.Bool().Draw(t, "by slot") {
			return &exec.PooledAndIDs{Pooled: exec.Pooled{Values: drawValues(t), Winners: drawWinners(t)},
				IDs: *drawIDs(t)}
		}
		if rapid.Bool().Draw(t, "maxima") {
			return &exec.Pooled{Values: drawValues(t), Winners: drawWinners(t)}
		}
	case msg.Params, msg.Push:
		return exec.DenseShard(drawFloats(t, "values", drawLength(t, "n")))
	}
	return exec.Values{Values: drawValues(t)}
}

func drawIDs(t *rapid.T) *exec.IDs {
	part := drawPart(t)
	ids := &exec.IDs{Samples: part.Samples, FirstGroup: part.FirstGroup, Bounds: part.Bounds,
		Columns: part.Slots}
	if rapid.Bool().Draw(t, "compressed") {
		ids.Columns, ids.Packed = nil, compress.AppendIDs(nil, part.Slots)
	}
	if rapid.Bool().Draw(t, "weights of ids") {
		ids.Weights = drawFloats(t, "weights", drawLength(t, "n"))
	}
	return ids
}

func drawMixed(t *rapid.T) *exec.MixedRows {
	numbers := func(name string) []int32 { return drawArray(t, name, drawLength(t, "n"), rapid.Int32()) }
	m := &exec.MixedRows{Values: drawValues(t), Cold: rapid.IntRange(0, 999).Draw(t, "cold"),
		Places: numbers("places")}
	for range rapid.IntRange(0, 3).Draw(t, "slots") {
		m.Slots = append(m.Slots, route.Bags{Rows: numbers("rows"), Offsets: numbers("offsets")})
	}
	m.Winners = drawWinners(t)
	return m
}

func drawWinners(t *rapid.T) exec.Winners {
	return drawArray(t, "winners", drawLength(t, "n"), rapid.Byte())
}

func drawSigns(t *rapid.T) compress.Signs {
	signs := drawArray(t, "signs", drawLength(t, "n"), rapid.Uint64())
	if rapid.Bool().Draw(t, "compressed") {
		return compress.PackSigns(signs, 8)
	}
	return compress.Signs{Plain: signs}
}

func drawValues(t *rapid.T) compress.Values {
	return compress.Pack(rapid.SampledFrom(compress.Forms()).Draw(t, "form"),
		drawFloats(t, "values", drawLength(t, "n")))
}

// travels returns what is encoded of a payload: of a part for an NN worker, everything except its ids.
func travels(payload exec.Payload) exec.Payload {
	part, ok := payload.(exec.Samples)
	if !ok {
		return payload
	}
	return exec.Samples{Part: &batch.Part{
		Batch: &batch.Batch{Samples: part.Samples, Dense: part.Dense, Labels: part.Labels,
			Weights: part.Weights},
		FirstGroup: part.FirstGroup, Bounds: part.Bounds,
	}}
}

func mustBeEqual(t interface{ Fatalf(string, ...any) }, got, want any) {
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); d != "" {
		t.Fatalf("differs (-want +got):\n%s", d)
	}
}

// sender is who sends the frames of most tests.
var sender = Identity{
	Run: RunID{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad,
		0xae, 0xaf},
	Incarnation: 9, View: 10,
}

// payloadOf returns values as the payload that they travel as.
func payloadOf(values any) exec.Payload {
	switch v := values.(type) {
	case nil:
		return nil
	case *batch.Part:
		return exec.Samples{Part: v}
	case compress.Signs:
		return exec.Signs{Signs: v}
	case compress.Values:
		return exec.Values{Values: v}
	case []float32:
		return exec.DenseShard(v)
	}
	return values.(exec.Payload)
}

// mustEncode encodes into one piece.
func mustEncode(t testing.TB, m msg.Message, values any) []byte {
	t.Helper()
	f, err := Encode(sender, m, payloadOf(values))
	if err != nil {
		t.Fatal(err)
	}
	return f.flat()
}
