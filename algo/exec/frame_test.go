package exec

import (
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// A frame may be as large as the largest payload of its kind that CheckPayload lets pass, and hardly larger,
// regardless of the size that its message states. Of 8 samples in 2 slots of rows of 3 values:
func TestFramesAreAsLargeAsTheLargestPayload(t *testing.T) {
	p := mustNew(t, exectest.Job(2, 2), exectest.NewColumns(16, 16))
	const ids = 2 * 8 * idsMax          // each may be a sign of its own
	const width = 3 + 2*(3+1)           // a sum, and two raw rows with their masks
	const headers = unit.Bytes(1 << 10) // of message, frame and arrays
	for kind, most := range map[msg.Kind]unit.Bytes{
		msg.IDFeatures: 8*ids + 4*2*8, // and an offset for each sample and slot
		msg.Samples:    4 * 8 * (1 + 1),
		msg.Lookup:     8 * ids, msg.Rows: 4 * 3 * ids, msg.Put: (8 + 4*3) * ids,
		msg.Embeddings: 4 * 8 * width, msg.PutGradients: 4 * 8 * width,
		msg.PutAck: 0,
	} {
		m := msg.Message{Kind: kind, Rank: 1, Samples: 8, StepSamples: 16, Bytes: 1 << 40}
		if got := p.Admission().FrameMax(m); got < msg.HeaderBytes+most ||
			got > msg.HeaderBytes+most+headers {
			t.Errorf("%v: a frame of up to %d bytes, want %d and the header", kind, got, most)
		}
		if m.Bytes = msg.HeaderBytes; p.Admission().FrameMax(m) > msg.HeaderBytes+headers {
			t.Errorf("%v: a frame of up to %d bytes for a message without a payload", kind,
				p.Admission().FrameMax(m))
		}
	}
	// With hot rows, embeddings are those of bags without one. Of every id, the row may be sent, with its
	// number in a bag and its place among the hot rows. Every bag has an end.
	p = mustNew(t, withHotRows(t, exectest.Job(2, 2)), exectest.NewColumns(16, 16))
	const most = unit.Bytes(4*8*width + 4*(3+2)*ids + 4*2*(8+1))
	m := msg.Message{Kind: msg.Embeddings, Rank: 1, Samples: 8, StepSamples: 16, Bytes: 1 << 40}
	if got := p.Admission().FrameMax(m); got < msg.HeaderBytes+most || got > msg.HeaderBytes+most+headers {
		t.Errorf("embeddings with hot rows: a frame of up to %d bytes, want %d and the header", got, most)
	}
}

// Weights of ids travel with them, in the slots that have some.
func TestFramesHaveRoomForWeights(t *testing.T) {
	p := mustNew(t, exectest.Job(2, 2), withWeights(16))
	m := msg.Message{Kind: msg.IDFeatures, Rank: 1, Samples: 8, StepSamples: 16, Bytes: 1 << 40}
	const most, headers = unit.Bytes(8*2*8*idsMax + 4*2*8 + 4*8*idsMax), unit.Bytes(1 << 10)
	if got := p.Admission().FrameMax(m); got < msg.HeaderBytes+most || got > msg.HeaderBytes+most+headers {
		t.Errorf("a frame of up to %d bytes, want %d and the header", got, most)
	}
}

// The last step of an epoch may have one sample only.
func TestAStepOfOneSampleIsAdmitted(t *testing.T) {
	p := mustNew(t, exectest.Job(1, 1), exectest.NewColumns(16, 16))
	lookup := msg.Message{
		Kind: msg.Lookup, From: embeddingWorker, To: server(0), Samples: 1, StepSamples: 1,
		Bytes: msg.HeaderBytes + 8,
	}
	if err := p.Admission().CheckPayload(lookup, Signs{compress.Signs{Plain: []uint64{7}}}); err != nil {
		t.Error(err)
	}
}

// A sample may have 4,096 ids per slot on average, and not one more.
func TestIDsOfAMessageAreBoundedInTheMean(t *testing.T) {
	p, _, all := exchange(t, exectest.Job(2, 2))
	for more := range 2 {
		ids, m := *all[msg.IDFeatures].payload.(*IDs), all[msg.IDFeatures].m
		ids.Columns = []batch.Jagged{many(8), {Offsets: make([]int32, 9)}} // one id too many
		ids.Columns[0].IDs = ids.Columns[0].IDs[1-more:]
		ids.Columns[0].Offsets[8] = int32(len(ids.Columns[0].IDs))
		m.Bytes = msg.HeaderBytes + unit.Bytes(ids.Size())
		if err := p.Admission().CheckPayload(m, &ids); (err == nil) != (more == 0) {
			t.Errorf("%d ids of 8 samples in 2 slots: %v", len(ids.Columns[0].IDs), err)
		}
	}
}

// Every embedding PS, even the first, refuses a put of signs that differ from its lookup's.
func TestEveryServerComparesPutsWithLookups(t *testing.T) {
	p, stores, all := exchange(t, exectest.Job(2, 2))
	for i := range int32(2) {
		m := all[msg.Put].m
		m.To = server(i)
		m.Bytes = msg.HeaderBytes + 8 + 4*3
		err := examine(p, stores[m.To], m, &Put{
			Samples: 8, Signs: compress.Signs{Plain: []uint64{1}},
			Sums: compress.Pack(compress.FP32, make([]float32, 3)),
		})
		if err == nil || !strings.Contains(err.Error(), "signs: a put of 1, but ") {
			t.Errorf("PS %d: %v", i, err)
		}
	}
}
