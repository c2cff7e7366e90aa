package exec

import (
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/embedding"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Where a rank has all rows on its GPU, it gets ids in place of pooled embeddings, and sends no gradient of
// them; other payloads are refused, and so is a program that computes on the processors.
func TestRanksWithRowsGetIDs(t *testing.T) {
	j, data := exectest.Job(1, 2), exectest.NewColumns(16, 16)
	j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA = job.RowsOnGPU, 100, true
	const want = "rows.placement = gpu: ranks compute on the processors here"
	if _, err := New(j, data, backend.Backend{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without a GPU: %v, want %s", err, want)
	}
	bySlot := j
	bySlot.Rows.Placement = ""
	bySlot.Data.Slots = []job.SlotSetting{{Slot: data.Fields.Slots[0].Name, Placement: job.RowsOnGPU}}
	const bySlotWant = "data.slots: placement = gpu: ranks compute on the processors here; set it to ps"
	if _, err := New(bySlot, data, backend.Backend{}); err == nil ||
		!strings.Contains(err.Error(), bySlotWant) {
		t.Errorf("a slot without a GPU: %v, want %s", err, bySlotWant)
	}
	elsewhere := func(at msg.Address) bool { return at.Role != msg.NNWorker }
	p, err := NewLocal(j, data, backend.Backend{}, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	part := batch.Cut(data.All, j.TotalGroups(), 1)[0]
	ids := newIDs(&data.Fields, &part, false)
	pooled := Values{compress.Pack(compress.FP32, make([]float32, 16*data.Fields.EmbeddingWidth()))}
	none := Values{compress.Pack(compress.FP32, nil)}
	check := func(k msg.Kind, payload Payload, size int) error {
		return p.Admission().CheckPayload(msg.Message{Kind: k, Samples: 16, StepSamples: 16,
			Bytes: msg.HeaderBytes + unit.Bytes(size)}, payload)
	}
	if err := check(msg.Embeddings, ids, ids.Size()); err != nil {
		t.Errorf("ids: %v", err)
	}
	if err := check(msg.PutGradients, none, none.Size()); err != nil {
		t.Errorf("no gradients: %v", err)
	}
	cut := *ids
	cut.Columns = cut.Columns[1:]
	for k, payloads := range map[msg.Kind][]Payload{
		msg.Embeddings: {pooled, none, &cut, &MixedRows{}}, msg.PutGradients: {pooled, ids},
	} {
		for _, payload := range payloads {
			if check(k, payload, payload.(interface{ Size() int }).Size()) == nil {
				t.Errorf("%T passes as the payload of %v", payload, k)
			}
		}
	}
}

// Where a rank has the rows of one slot on its GPU and PSs have those of the other, it gets the pooled
// embeddings of the other with the ids of the first, and sends the gradients of what it got. Other payloads
// are refused, and those of another number of values, winners or slots.
func TestRanksWithRowsOfSomeSlotsGetBoth(t *testing.T) {
	j, data := exectest.Job(1, 2), exectest.NewColumns(16, 16)
	j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA = job.RowsOnGPU, 100, true
	j.Data.Slots = []job.SlotSetting{{Slot: "tags", Placement: job.RowsOnPSs}}
	data.Fields.Slots[0].Pooling = batch.Max // 3 values of tags, 2·(3+1) of history
	elsewhere := func(at msg.Address) bool { return at.Role != msg.NNWorker }
	p, err := NewLocal(j, data, backend.Backend{}, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	part := batch.Cut(data.All, j.TotalGroups(), 1)[0]
	_, ids := (&embeddingWorkerWork{p.numerics}).divide(embedding.BatchKey{}, part)
	if len(ids.Columns) != 1 || len(ids.Columns[0].IDs) != len(data.All.Slots[1].IDs) {
		t.Fatalf("ids %v, want those of history", ids.Columns)
	}
	pooled := func(values, winners int) Pooled {
		return Pooled{compress.Pack(compress.FP32, make([]float32, values)), make(Winners, winners)}
	}
	both, grads := &PooledAndIDs{pooled(16*3, 16*3), *ids}, pooled(16*3, 16*3)
	all := newIDs(&data.Fields, &part, false)
	most := p.Admission().FrameMax(msg.Message{Kind: msg.Embeddings, Samples: 16, StepSamples: 16,
		Bytes: 1e9})
	if want := unit.Bytes(16 * (4*(3+3) + 4096*8)); most < want {
		t.Errorf("frames of up to %v, and 4,096 ids of a sample beside the values take %v", most, want)
	}
	for _, c := range []struct {
		kind    msg.Kind
		payload Payload
		passes  bool
	}{
		{msg.Embeddings, both, true}, {msg.PutGradients, &grads, true},
		{msg.Embeddings, &PooledAndIDs{pooled(16*11, 16*3), *ids}, false},
		{msg.Embeddings, &PooledAndIDs{pooled(16*3, 0), *ids}, false},
		{msg.Embeddings, &PooledAndIDs{pooled(16*3, 16*3), *all}, false},
		{msg.Embeddings, &grads, false}, {msg.Embeddings, ids, false}, {msg.PutGradients, both, false},
	} {
		err := p.Admission().CheckPayload(msg.Message{Kind: c.kind, Samples: 16, StepSamples: 16,
			Bytes: msg.HeaderBytes + unit.Bytes(c.payload.(interface{ Size() int }).Size())}, c.payload)
		if (err == nil) != c.passes {
			t.Errorf("%v of %T %v: error %v", c.kind, c.payload, c.payload, err)
		}
	}
	for samples, passes := range map[int]bool{16: true, 8: false} { // of the part that the rank holds
		held := part
		held.Samples = samples
		s := NewStore()
		s.set(role.Handle{Kind: role.BatchSamples}, &held)
		err := p.Admission().CheckHeld(s, msg.Message{Kind: msg.Embeddings}, both)
		if (err == nil) != passes {
			t.Errorf("ids of 16 samples for %d: %v", samples, err)
		}
	}
}
