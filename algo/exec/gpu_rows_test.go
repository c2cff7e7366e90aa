package exec

import (
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
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
