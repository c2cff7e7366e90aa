package wire

import (
	"testing"

	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/msg"
)

// benchPart is a part of 4096 samples, 26 slots of one id and 13 numeric
// features, as Criteo has.
func benchPart() *batch.Part {
	const n = 4096
	b := &batch.Batch{Samples: n, Dense: make([]float32, 13*n), Labels: make([]float32, n)}
	for range 26 {
		slot := batch.Jagged{Offsets: make([]int32, n+1), IDs: make([]uint64, n)}
		for i := range slot.Offsets {
			slot.Offsets[i] = int32(i)
		}
		b.Slots = append(b.Slots, slot)
	}
	return &batch.Cut(b, 8, 1)[0]
}

func benchmarks() map[string]struct {
	kind    msg.Kind
	payload any
} {
	type frame = struct {
		kind    msg.Kind
		payload any
	}
	part := benchPart()
	return map[string]frame{
		"header": {msg.StepDone, nil},
		"values": {msg.Rows, fp32(make([]float32, 1<<18)...)},
		"signs":  {msg.Lookup, plain(make([]uint64, 1<<17)...)},
		"put": {msg.Put, &exec.Put{Signs: plain(make([]uint64, 1<<13)...),
			Sums: fp32(make([]float32, 1<<18)...)}},
		"id features": {msg.IDFeatures, &exec.IDs{Samples: part.Samples, Bounds: part.Bounds,
			Columns: part.Slots}},
		"samples": {msg.Samples, part},
	}
}

// Large arrays cost only a check of their length, so these are not speeds of moved bytes, except for
// BenchmarkCopy.
func BenchmarkEncode(b *testing.B) {
	for name, f := range benchmarks() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				frame, err := Encode(Identity{}, msg.Message{Kind: f.kind}, payloadOf(f.payload))
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(frame.Size))
			}
		})
	}
}

// Decoding checks offsets and bounds, which takes a pass over them.
func BenchmarkDecode(b *testing.B) {
	for name, f := range benchmarks() {
		b.Run(name, func(b *testing.B) {
			frame := mustEncode(b, msg.Message{Kind: f.kind}, payloadOf(f.payload))
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := Decode(frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCopy measures machines that cannot alias.
func BenchmarkCopy(b *testing.B) {
	values := make([]float32, 1<<18)
	for name, f := range map[string]func(){
		"to bytes":   func() { copiedBytes(values) },
		"from bytes": func() { copiedArray[float32](bytesOf(values)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(values)))
			for b.Loop() {
				f()
			}
		})
	}
}
