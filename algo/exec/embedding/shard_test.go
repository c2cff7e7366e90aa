package embedding

import (
	"slices"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/internal/parallel"
)

// A gradient of a row that was evicted after its read has missed the updates since the row was created again,
// not the difference of two rows' counts.
func TestEvictedRowsHaveMissedWhatTheyHaveBeenThrough(t *testing.T) {
	one := exectest.Job(1, 1)
	one.Rows.Capacity, one.Rows.Eviction = 1, job.SecondChance
	rows, err := NewTable(&one, one.Model.Dim(), table.Heap{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, dim := NewShard(batch.Dims{}, []*table.Table{rows}, nil), rows.Dim()
	read := func(rank int32, sign uint64) {
		if err := s.Lookup(BatchKey{Rank: rank}, []uint64{sign}, make([]float32, dim)); err != nil {
			t.Fatal(err)
		}
	}
	put := func(rank int32, sign uint64) BatchPut {
		one := route.Put{Signs: []uint64{sign}, Sums: make([]float32, dim)}
		return BatchPut{BatchKey{Rank: rank}, []route.Put{one}}
	}
	update := func(sign uint64) { rows.Apply([]uint64{sign}, make([]float32, dim), 1, nil) }
	read(9, 7)
	for range 3 {
		update(7)
	}
	read(0, 7)
	read(1, 8) // in the place of 7
	s.CountMissed(put(0, 7))
	read(2, 7) // created again
	update(7)
	read(3, 7)
	update(7)
	s.CountMissed(put(3, 7))
	if s.missed.Count() != 2 || s.missed.Max() != 1 {
		t.Errorf("%d gradients have missed up to %d updates, want 2 and 1", s.missed.Count(), s.missed.Max())
	}
}

// The memory of a read serves the next one after its put, and not before.
func TestReadsUseMemoryAgain(t *testing.T) {
	job := exectest.Job(1, 1)
	rows, err := NewTable(&job, job.Model.Dim(), table.Heap{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, dim := NewShard(batch.Dims{}, []*table.Table{rows}, nil), rows.Dim()
	signs := []uint64{1, 2, 3}
	read := func(step int32) *table.Found {
		if err := s.Lookup(BatchKey{Step: step}, signs, make([]float32, len(signs)*dim)); err != nil {
			t.Fatal(err)
		}
		return &s.reads[BatchKey{Step: step}].found[0]
	}
	put := func(step int32) BatchPut {
		sums := make([]float32, len(signs)*dim)
		return BatchPut{BatchKey{Step: step}, []route.Put{{Signs: signs, Samples: 1, Sums: sums}}}
	}
	first, second := read(0), read(1)
	if err := s.Apply(put(0), 1, false); err != nil {
		t.Fatal(err)
	}
	third := read(2)
	if err := s.CountMissed(put(1)); err != nil {
		t.Fatal(err)
	}
	if fourth := read(3); first == second || third != first || fourth != second {
		t.Errorf("reads at %p, %p, %p and %p", first, second, third, fourth)
	}
}

// Rows that are pooled as they are looked up give the bits of a lookup and Pool, where they can be spread and
// where samples have several ids, with a pool of goroutines and without; and the same puts are due.
func TestLookupPooledIsLookupAndPool(t *testing.T) {
	helpers := parallel.New(3)
	defer helpers.Close()
	for _, ids := range []int{1, 2} {
		for _, pool := range []gemm.Pool{nil, helpers} {
			job := exectest.Job(1, 1)
			schema := &batch.Schema{PrefixBits: 8, Slots: make([]batch.Slot, 3)}
			const samples = 4000
			all := &batch.Batch{Samples: samples}
			for slot := range schema.Slots {
				schema.Slots[slot].Dim = job.Model.Dim()
				column := batch.Jagged{Offsets: []int32{0}}
				for i := range samples {
					for k := range ids {
						column.IDs = append(column.IDs, rng.Mix(uint64(i*ids+k))%5000)
					}
					column.Offsets = append(column.Offsets, int32(len(column.IDs)))
				}
				all.Slots = append(all.Slots, column)
			}
			byDim := route.RouteByDim(nil, schema, batch.Cut(all, 8, 1)[0], shard.Rows(1))
			routed := byDim.Routed[0]
			if routed.Spreads(schema) != (ids == 1) {
				t.Fatalf("%d ids: spreads %t", ids, ids != 1)
			}
			plain, err := NewTable(&job, job.Model.Dim(), table.Heap{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			rows := make([]float32, len(routed.Signs)*plain.Dim())
			other := NewShard(batch.Dims{}, []*table.Table{plain}, nil)
			if err := other.Lookup(BatchKey{}, routed.Signs, rows); err != nil {
				t.Fatal(err)
			}
			want := make([]float32, samples*schema.EmbeddingWidth())
			routed.Pool(want, schema, rows, plain.Dim())

			shared, _ := NewTable(&job, job.Model.Dim(), table.Heap{}, pool)
			s, got := NewShard(batch.Dims{}, []*table.Table{shared}, nil), make([]float32, len(want))
			o := []route.Occurrences{{Pool: pool}}
			if err := s.LookupPooled(BatchKey{}, byDim, schema, o, got, nil); err != nil {
				t.Fatal(err)
			}
			if signs, known := s.SignsOf(BatchKey{}); !slices.Equal(got, want) || !known ||
				!slices.Equal(signs, []int{len(routed.Signs)}) || shared.Digest() != plain.Digest() {
				t.Errorf("%d ids, pool %t: other values, or a read of %v signs, known %t", ids, pool != nil,
					signs, known)
			}
		}
	}
}
