package wire

import (
	"bytes"
	"errors"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/route"
	"tandem/algo/protocol/msg"
)

func seedPart() *batch.Part {
	return &batch.Cut(&batch.Batch{
		Samples: 3, Slots: []batch.Jagged{{Offsets: []int32{0, 1, 1, 3}, IDs: []uint64{7, 8, 9}},
			{Offsets: []int32{0, 0, 0, 0}}},
		Dense: []float32{1, 2, 3, 4, 5, 6}, Labels: []float32{0, 1, 0}, Weights: []float32{2, 0.5, 1},
	}, 2, 1)[0]
}

func fp32(values ...float32) compress.Values { return compress.Pack(compress.FP32, values) }

// seeds are a frame of each type of payload, by the name of the type.
func seeds(t testing.TB) map[string][]byte {
	part := seedPart()
	of := func(k msg.Kind, payload any) []byte {
		from := msg.Address{Role: msg.EmbeddingWorker, Index: 1}
		to := msg.Address{Role: msg.NNWorker, Index: 2}
		return mustEncode(t, msg.Message{Kind: k, From: from, To: to, Rank: 3, Step: 4, Floor: 5, Samples: 6,
			StepSamples: 7, Bytes: 8}, payload)
	}
	return map[string][]byte{
		"none": of(msg.StepDone, nil),
		"id features": of(msg.IDFeatures,
			&exec.IDs{Samples: part.Samples, FirstGroup: part.FirstGroup, Bounds: part.Bounds,
				Columns: part.Slots, Weights: []float32{0.5, 2}}),
		"samples": of(msg.Samples, part),
		"signs":   of(msg.Lookup, compress.Signs{Plain: []uint64{1, 1 << 63}}),
		"values":  of(msg.Rows, compress.Pack(compress.FP16Block, []float32{1.5, -2, 3})),
		"put":     of(msg.Put, &exec.Put{Samples: 4, Signs: plain(5, 6), Sums: fp32(1, 2, 3, 4)}),
		"chunk": of(0, Chunk{Bucket: 2, Sum: true, Values: []float32{1},
			Stats: []float32{2, 3, 4}}),
		"dense shard": of(msg.Params, []float32{1.5, -2, 3}),
		"mixed rows": of(msg.Embeddings, &exec.MixedRows{Values: fp32(1, 2, 3), Cold: 1, Places: []int32{5},
			Slots: []route.Bags{{Rows: []int32{0, 1}, Offsets: []int32{0, 2, 2}}}, Winners: []byte{1}}),
		"pooled": of(msg.PutGradients, &exec.Pooled{Values: fp32(1, 2), Winners: []byte{0, 3}}),
		"pooled and ids": of(msg.Embeddings, &exec.PooledAndIDs{
			Pooled: exec.Pooled{Values: fp32(1, 2), Winners: []byte{0, 3}},
			IDs: exec.IDs{Samples: part.Samples, FirstGroup: part.FirstGroup, Bounds: part.Bounds,
				Columns: part.Slots}}),
	}
}

// For any bytes, Decode neither panics nor allocates more than a few times their number, and it accepts only
// the one encoding of a message.
func FuzzDecode(f *testing.F) {
	for _, frame := range seeds(f) {
		f.Add(frame)
		f.Add(frame[:len(frame)-1])
		f.Add(bytes.Repeat(frame, 2))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, payload, rest, err := Decode(data)
		if err != nil {
			if refused := new(Refusal); !errors.As(err, &refused) || refused.Reason != Malformed {
				t.Errorf("%v is not counted as malformed", err)
			}
			return
		}
		frame := data[:len(data)-len(rest)]
		again, err := Encode(h.Identity, h.Message, payload)
		if err != nil || !bytes.Equal(again.flat(), frame) {
			t.Errorf("%v, %v %T\n got %x\nwant %x", err, h, payload, again.flat(), frame)
		}
	})
}
