package exec

import (
	"math"
	"math/bits"
	"reflect"
	"slices"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
)

// A change of any bit changes the fingerprint; so does moving a value from one array to the next, or the sign
// of a zero.
func TestFingerprintsDiffer(t *testing.T) {
	negative := float32(math.Copysign(0, -1))
	long := make([]float32, 1001)
	bytes := make([]byte, 21)
	payloads := []any{
		[]float32{}, []float32{0}, []float32{0, 0}, []float32{negative, 0}, []float32{0, negative},
		[]float32{1, 2, 3}, []float32{1, 3, 2},
		[]uint64{3}, []uint64{3, 4}, []int32{7, 8}, []int32{8, 7}, []bool{true, false}, []bool{false, true},
		[][]float32{{1}, {2, 3}}, [][]float32{{1, 2}, {3}}, [][]float32{{1, 2, 3}, {}},
		&Put{Samples: 2, Sums: compress.Values{Floats: []float32{1}}},
		&Put{Samples: 2, Sums: compress.Values{Floats: []float32{2}}},
		&Put{Samples: 2, Signs: compress.Signs{Plain: []uint64{5}}},
		&Put{Samples: 2, Signs: compress.Signs{Plain: []uint64{6}}},
		&IDs{Samples: 3}, &IDs{Samples: 3, FirstGroup: 1},
	}
	for i := range long {
		changed := slices.Clone(long)
		changed[i] = math.Float32frombits(1)
		payloads = append(payloads, changed)
	}
	for i := range bytes {
		changed := slices.Clone(bytes)
		changed[i] = 1
		payloads = append(payloads, changed)
	}
	seen := map[fingerprint]any{}
	for _, p := range payloads {
		of := func() fingerprint {
			var h fingerprint
			h.value(reflect.ValueOf(p))
			return h
		}
		f := of()
		if other, known := seen[f]; known {
			t.Fatalf("%v and %v have one fingerprint", other, p)
		}
		if seen[f] = p; f != of() {
			t.Fatalf("%v has two fingerprints", p)
		}
	}
}

// Recordings hold fingerprints, so later versions of Tandem must compute the same ones. A payload is folded
// as these words, after the kind of the message: the length of a slice and 1, floats two at a time, bytes
// eight at a time after their number, other values one by one.
func TestFingerprintsStayWhatRecordingsHold(t *testing.T) {
	for _, c := range []struct {
		payload any
		words   []uint64
	}{
		{[]float32{1, 2, 4}, []uint64{4, 0x40000000_3f800000, 0x40800000}},
		{[]uint64{7, 9}, []uint64{3, 7, 9}},
		{compress.Signs{Plain: []uint64{5}}, []uint64{2, 5, 1, 0, 0}},
		{[]int32{7, -1}, []uint64{3, 7, math.MaxUint64}},
		{[]bool{true, false}, []uint64{3, 1, 2}},
		{[]byte{1, 0, 0, 0, 0, 0, 0, 0, 5}, []uint64{10, 9, 1, 5}},
		{&Put{Samples: 2, Signs: compress.Signs{Plain: []uint64{5}},
			Sums: compress.Pack(compress.FP32, []float32{1})},
			[]uint64{2, 2, 5, 1, 0, 0, 4, 0x32337066, 2, 0x3f800000, 1, 0, 0}},
	} {
		want := uint64(msg.Rows) + 1
		for _, word := range c.words {
			high, low := bits.Mul64(want^word, 0x9e3779b97f4a7c15)
			want = high ^ low
		}
		folded := fingerprint(msg.Rows) + 1
		folded.value(reflect.ValueOf(c.payload))
		got := uint64(folded)
		switch c.payload.(type) {
		case []float32, compress.Signs, *Put: // these travel
			got = Fingerprint(msg.Message{Kind: msg.Rows}, travelling(c.payload))
		}
		if got != want {
			t.Errorf("%+v: %x, want %x", c.payload, got, want)
		}
	}
}

// The fingerprint of a part of a batch covers what the message carries, independent of its place in memory;
// the ids need not have travelled.
func TestFingerprintOfParts(t *testing.T) {
	c := exectest.NewColumns(32, 32)
	whole := batch.Cut(c.All, 4, 2)[1]
	samples := batch.Part{
		Batch: &batch.Batch{Samples: whole.Samples, Dense: slices.Clone(whole.Dense),
			Labels: slices.Clone(whole.Labels)},
		Bounds: slices.Clone(whole.Bounds),
	}
	of := func(p *batch.Part) uint64 { return Fingerprint(msg.Message{Kind: msg.Samples}, Samples{p}) }
	before := of(&whole)
	if of(&samples) != before {
		t.Error("a part that has travelled has another fingerprint")
	}
	samples.Labels[3]++
	if of(&samples) == before {
		t.Error("a label that has changed shows nowhere")
	}
	samples.Labels[3]--
	samples.Weights = slices.Repeat([]float32{1}, samples.Samples)
	if weighted := of(&samples); weighted == before {
		t.Error("weights show nowhere")
	} else if samples.Weights[2] = 2; of(&samples) == weighted {
		t.Error("a weight that has changed shows nowhere")
	}
}

func BenchmarkFingerprint(b *testing.B) {
	values := make([]float32, 1<<18)
	b.SetBytes(int64(4 * len(values)))
	for b.Loop() {
		Fingerprint(msg.Message{Kind: msg.Rows}, DenseShard(values))
	}
}

// Weights of ids are part of a payload.
func TestFingerprintHasTheWeightsOfIDs(t *testing.T) {
	seen := map[uint64]bool{}
	for _, weights := range [][]float32{nil, {1}, {2}, {1, 1}} {
		seen[Fingerprint(msg.Message{Kind: msg.IDFeatures}, &IDs{Samples: 1, Weights: weights})] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d different fingerprints, want 4", len(seen))
	}
}
