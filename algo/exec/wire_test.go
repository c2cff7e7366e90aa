package exec

import (
	"fmt"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// sizeOf is the size of a payload on a wire.
func sizeOf(t *testing.T, payload Payload) unit.Bytes {
	switch x := payload.(type) {
	case *IDs:
		return unit.Bytes(x.Size())
	case Signs:
		return unit.Bytes(x.Size())
	case Values:
		return unit.Bytes(x.Size())
	case *Put:
		return unit.Bytes(x.Signs.Size() + x.Sums.Size())
	case *MixedRows:
		return unit.Bytes(x.Size())
	case *Pooled:
		return unit.Bytes(x.Size())
	}
	t.Fatalf("payload %T", payload)
	return 0
}

// The sizes in results, which roles use for their windows and a simulator for its wires, are the sizes of the
// payloads that travel.
func TestResultsHaveTheSizesThatTravel(t *testing.T) {
	for _, wire := range compress.Forms() {
		for _, index := range []string{job.IndexRaw, job.IndexCompressed} {
			t.Run(fmt.Sprintf("%s %s", wire, index), func(t *testing.T) {
				settings := exectest.Job(2, 3)
				settings.Wire.Precision, settings.Wire.Index = wire, index
				s := newScript(t, settings, exectest.NewColumns(16, 16))
				s.read = s.do(dataLoader, role.Read, event.NoRank)
				same := func(k msg.Kind, from, to msg.Address, stated unit.Bytes) {
					t.Helper()
					m := msg.Message{Kind: k, From: from, To: to, Rank: 1}
					payload := s.p.Payload(s.stores[from], m, s.sent(m.Kind, m.Rank))
					if got := sizeOf(t, payload); got != stated {
						t.Errorf("%v to %v: %d bytes, stated %d", k, to, got, stated)
					}
					s.send(k, from, to, 1)
				}
				same(msg.IDFeatures, dataLoader, embeddingWorker, s.read.IDBytes[1])
				s.send(msg.Samples, dataLoader, nnWorker(1), 1)
				split := s.do(embeddingWorker, role.Split, 1)
				for p := range s.servers() {
					same(msg.Lookup, embeddingWorker, server(p), split.SignBytes[p])
					rows := s.do(server(p), role.ReadRows, 1).Bytes
					if rows != split.ValueBytes[p] {
						t.Errorf("rows of %d bytes, stated %d", rows, split.ValueBytes[p])
					}
					same(msg.Rows, server(p), embeddingWorker, rows)
				}
				same(msg.Embeddings, embeddingWorker, nnWorker(1), s.do(embeddingWorker, role.Pool, 1).Bytes)
				s.do(nnWorker(1), role.Forward, 1)
				same(msg.PutGradients, nnWorker(1), embeddingWorker,
					s.do(nnWorker(1), role.Backward, 1).Bytes)
				s.do(embeddingWorker, role.Merge, 1)
				for p := range s.servers() {
					same(msg.Put, embeddingWorker, server(p), split.SignBytes[p]+split.ValueBytes[p])
				}
			})
		}
	}
}

// Compressed ids are lossless: the result equals the reference bit for bit.
func TestCompressedIndexChangesNoBits(t *testing.T) {
	source := exectest.NewColumns(16*2+5, 16)
	settings := exectest.Job(4, 3)
	settings.Wire.Index = job.IndexCompressed
	q, s := mustNewSequential(t, settings, source), newScript(t, settings, source)
	mustStep(t, q, source.Steps())
	for range source.Steps() {
		s.train(false)
	}
	if s.p.Model().DenseDigest() != q.Dense().Digest() || s.rowsDigest() != q.Rows()[0].Digest() {
		t.Error("parameters differ from the reference")
	}
}

// A sum of gradients that no half can hold stops the run where it would be applied, and the error gives the
// remedy; a block scale avoids the overflow.
func TestOverflowOfAHalfIsReported(t *testing.T) {
	for _, c := range []struct {
		wire compress.Form
		want string
	}{{compress.FP16, "wire fp16-block"}, {compress.FP16Block, ""}} {
		settings := exectest.Job(1, 1)
		settings.Wire.Precision = c.wire
		p, store := mustNew(t, settings, exectest.NewColumns(16, 16)), NewStore()
		if err := p.Model().Tables()[0].Lookup([]uint64{1}, make([]float32, 3)); err != nil {
			t.Fatal(err)
		}
		store.set(role.Handle{Kind: role.ShardGrads},
			&Put{Samples: 8, Signs: plain(1), Sums: compress.Pack(c.wire, []float32{1, 1e6, 1})})
		_, err := p.Execute(server(0), store, role.Work{Kind: role.Apply, StepSamples: 16},
			role.Operands{Reads: []role.Handle{{Kind: role.ShardGrads}}}, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.wire, err, c.want)
		}
	}
}

// Invalid payloads fail the work that unpacks them.
func TestBadPayloadsFailTheirWork(t *testing.T) {
	const rank = 0
	short := compress.Values{Form: compress.FP16, Packed: make([]byte, 3)}
	for _, c := range []struct {
		kind    role.WorkKind
		at      msg.Address
		handle  role.HandleKind
		payload any
	}{
		{role.Split, embeddingWorker, role.BatchIDs,
			&IDs{Samples: 16, Bounds: []int{0, 16}, Packed: []byte{9, 9}}},
		{role.ReadRows, server(0), role.ShardSigns, compress.Signs{Packed: []byte{8, 9}}},
		{role.Pool, embeddingWorker, role.ShardRows, []compress.Values{short}},
		{role.Forward, nnWorker(0), role.PooledRows, short},
		{role.Merge, embeddingWorker, role.PooledGrads, short},
		{role.Apply, server(0), role.ShardGrads, &Put{Signs: plain(1), Sums: short}},
		{role.ApplyStep, server(0), role.ShardGrads, &Put{Signs: compress.Signs{Packed: []byte{8, 9}}}},
	} {
		s := newScript(t, exectest.Job(1, 1), exectest.NewColumns(16, 16))
		s.read = s.do(dataLoader, role.Read, event.NoRank)
		s.lookup(rank)
		s.stores[c.at].set(role.Handle{Kind: c.handle}, c.payload)
		_, err := s.p.Execute(c.at, s.stores[c.at], role.Work{Kind: c.kind, StepSamples: 16},
			s.operands(role.Work{Kind: c.kind}), nil)
		if err == nil || !strings.Contains(err.Error(), "compress: ") {
			t.Errorf("%v: %v", c.kind, err)
		}
	}
}

// The fingerprint of a packed payload depends on every bit.
func TestFingerprintSeesPackedBits(t *testing.T) {
	packed := compress.Pack(compress.FP16Block, make([]float32, 5)).Packed // 11 bytes: a word and a rest
	m := msg.Message{Kind: msg.Rows}
	seen := map[uint64]string{}
	note := func(name string, payload Payload) {
		f := Fingerprint(m, payload)
		if other, twice := seen[f]; twice {
			t.Errorf("%s has the fingerprint of %s", name, other)
		}
		seen[f] = name
	}
	note("as it is", Values{compress.Values{Form: compress.FP16Block, Packed: packed}})
	note("another form", Values{compress.Values{Form: compress.FP16, Packed: packed}})
	note("one byte less", Values{compress.Values{Form: compress.FP16Block, Packed: packed[:10]}})
	for bit := range 8 * len(packed) {
		packed[bit/8] ^= 1 << (bit % 8)
		note(fmt.Sprintf("bit %d flipped", bit), Values{compress.Values{Form: compress.FP16Block,
			Packed: packed}})
		packed[bit/8] ^= 1 << (bit % 8)
	}
}

// BenchmarkSplit measures the cost of compressing the index beside resolving it: Read and Split of a batch of
// 1024 samples of two slots.
func BenchmarkSplit(b *testing.B) {
	for _, index := range []string{job.IndexRaw, job.IndexCompressed} {
		b.Run(index, func(b *testing.B) {
			settings := exectest.Job(1, 2)
			settings.Wire.Index, settings.Training.GlobalBatch = index, 1024
			source := exectest.NewColumns(1024, 1024)
			p, err := New(settings, source, backend.Backend{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s := NewStore()
				if _, err := p.Execute(dataLoader, s, role.Work{Kind: role.Read, Rank: event.NoRank},
					role.Operands{Makes: []role.Handle{{Kind: role.GlobalBatch}}}, nil); err != nil {
					b.Fatal(err)
				}
				ids := p.Payload(s, msg.Message{Kind: msg.IDFeatures}, role.Handle{Kind: role.GlobalBatch})
				s.set(role.Handle{Kind: role.BatchIDs}, ids.(*IDs))
				if _, err := p.Execute(embeddingWorker, s, role.Work{Kind: role.Split},
					role.Operands{Reads: []role.Handle{{Kind: role.BatchIDs}},
						Makes: []role.Handle{{Kind: role.RoutedIDs}}}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
