package work

import (
	"testing"

	"tandem/algo/compress"
	"tandem/algo/msg"
	"tandem/algo/role"
)

func TestStoreHoldsUntilRelease(t *testing.T) {
	s := NewStore()
	pooled := role.Handle{Kind: role.PooledRows, Rank: 1, Step: 2}
	s.put(pooled, []float32{1, 2})
	s.put(role.Handle{Kind: role.PooledRows, Rank: 1, Step: 3}, []float32{3})
	if got := get[[]float32](s, pooled); len(got) != 2 || s.Len() != 2 {
		t.Errorf("holds %v, %d handles; want [1 2] and 2", got, s.Len())
	}
	s.Release(pooled)
	if s.Len() != 1 {
		t.Errorf("%d handles after a release, want 1", s.Len())
	}
}

func TestStorePanics(t *testing.T) {
	h := role.Handle{Kind: role.PooledRows, Rank: 1, Step: 2}
	held := "work: {Kind:6 Rank:1 Step:2}" // PooledRows is the seventh kind
	s := NewStore()
	mustPanic(t, held+" released, but not held", func() { s.Release(h) })
	mustPanic(t, held+" holds <nil>, want []float32", func() { get[[]float32](s, h) })
	s.put(h, []uint64{1})
	mustPanic(t, held+" holds []uint64, want []float32", func() { get[[]float32](s, h) })
	s.Release(h)
	mustPanic(t, held+" released, but not held", func() { s.Release(h) })
}

// The rows of all PSs come together under one handle, whatever their order; a PS
// that was not asked stays empty.
func TestRowsOfAllServersShareAHandle(t *testing.T) {
	p, s := mustNew(t, training(1, 3), newColumns(16, 16)), NewStore()
	for _, server := range []int32{2, 0} {
		m := msg.Message{Kind: msg.Rows, From: msg.Address{Role: msg.ParameterServer, Index: server}, Rank: 0, Step: 4}
		p.Keep(s, m, compress.Values{Form: compress.FP32, Floats: []float32{float32(server)}})
	}
	parts := get[[]compress.Values](s, role.Handle{Kind: role.ShardRows, Step: 4})
	if len(parts) != 3 || parts[0].Floats[0] != 0 || parts[1].Floats != nil || parts[2].Floats[0] != 2 || s.Len() != 1 {
		t.Errorf("%v under %d handles", parts, s.Len())
	}
}

func TestKeepPanicsWithoutAPayload(t *testing.T) {
	p := mustNew(t, training(1, 1), newColumns(16, 16))
	m := msg.Message{Kind: msg.GetEmbeddings, From: msg.Address{Role: msg.NNWorker}, To: msg.Address{Role: msg.EmbeddingWorker}}
	payload := p.Payload(NewStore(), m)
	mustPanic(t, "work: GetEmbeddings rank 0 step 0, NN worker 0 → embedding worker 0 has no payload to keep", func() {
		p.Keep(NewStore(), m, payload)
	})
}
