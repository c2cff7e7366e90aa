package wire

import (
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// formOnly is a data set with a schema and no samples.
type formOnly struct{ schema batch.Schema }

func (d *formOnly) Schema() *batch.Schema          { return &d.schema }
func (d *formOnly) Steps() int                     { return 10 }
func (d *formOnly) Samples(int) int                { return 8 }
func (d *formOnly) Read(int) (*batch.Batch, error) { panic("nothing is read") }

// admission returns an exec.Admission for two ranks of a small network.
func admission(t testing.TB, index string) *exec.Admission {
	training := job.Default()
	training.Training.Mode, training.Roles.Ranks, training.Training.Groups,
		training.Training.GlobalBatch = job.AsyncPS, 2, 4, 8
	training.Wire.Index, training.Wire.Precision = index, compress.FP16Block
	training.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 2, Top: []int{3},
		Activation: model.ReLU, BatchNorm: true}
	p, err := exec.New(training, &formOnly{batch.Schema{
		Slots: []batch.Slot{{Name: "a", Dim: 2}, {Name: "b", Dim: 2, Pooling: batch.Raw, FixedSize: 2}},
		Dense: []string{"x"}, Labels: []string{"y"}, PrefixBits: 8,
	}}, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Admission()
}

// Checking a payload that was decoded from any bytes does not panic, and the frame of a payload that passes
// is within the limit for its header.
func FuzzCheckPayload(f *testing.F) {
	admissions := []*exec.Admission{admission(f, job.IndexRaw), admission(f, job.IndexCompressed)}
	for _, frame := range seeds(f) {
		f.Add(frame)
	}
	part := &batch.Cut(&batch.Batch{Samples: 8, Dense: make([]float32, 8), Labels: make([]float32, 8)}, 4,
		2)[1]
	ids := &exec.IDs{Samples: 4, FirstGroup: 2, Bounds: part.Bounds, Columns: []batch.Jagged{
		{Offsets: []int32{0, 1, 1, 3, 3}, IDs: []uint64{7, 8, 9}},
		{Offsets: []int32{0, 0, 0, 0, 1}, IDs: []uint64{1}},
	}}
	packed := *ids
	packed.Columns, packed.Packed = nil, compress.AppendIDs(nil, ids.Columns)
	for kind, payload := range map[msg.Kind]any{
		msg.Samples: part, msg.IDFeatures: ids, msg.Lookup: plain(1, 2),
		msg.Put: &exec.Put{Samples: 4, Signs: plain(1),
			Sums: compress.Pack(compress.FP16Block, []float32{1, 2})},
	} {
		m := msg.Message{Kind: kind, Rank: 1, Samples: 4, StepSamples: 8, Bytes: msg.HeaderBytes}
		f.Add(mustEncode(f, m, payload))
		m.Bytes += map[msg.Kind]unit.Bytes{msg.Samples: 32, msg.IDFeatures: 72, msg.Lookup: 16,
			msg.Put: 13}[kind]
		f.Add(mustEncode(f, m, payload))
		if err := admissions[0].CheckPayload(m, payloadOf(payload)); err != nil {
			f.Errorf("%v: %v", m, err)
		}
	}
	f.Add(mustEncode(f, msg.Message{Kind: msg.IDFeatures, Rank: 1, Samples: 4, StepSamples: 8, Bytes: 90},
		&packed))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, payload, _, err := Decode(data)
		if err != nil {
			return
		}
		for _, p := range admissions {
			if err := p.CheckPayload(h.Message, payload); err == nil && !h.Chunk() &&
				int64(h.Size) > int64(p.FrameMax(h.Message)) {
				t.Errorf("%v passes with %d bytes, more than %d", h.Message, h.Size, p.FrameMax(h.Message))
			}
		}
	})
}
