package datasets

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/batch"
)

var _ batch.Source = (*Source)(nil)

// numberedRows returns a batch in which row i has i%3 ids, all equal to i, the
// dense value i and the label i%2, so that a row is known by its content.
func numberedRows(n int) (batch.Schema, *batch.Batch) {
	b := &batch.Batch{Samples: n, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
	for i := range n {
		for range i % 3 {
			b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(i))
		}
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(len(b.Slots[0].IDs)))
		b.Dense = append(b.Dense, float32(i))
		b.Labels = append(b.Labels, float32(i%2))
	}
	return WithDim(newSchema([]string{"s"}, []string{"d"}, "l"), 4), b
}

// rowNumbers returns which rows of numberedRows b has, and checks their content.
func rowNumbers(t rapid.TB, b *batch.Batch) []int {
	t.Helper()
	rows := make([]int, b.Samples)
	for i := range rows {
		row := int(b.Dense[i])
		want := slices.Repeat([]uint64{uint64(row)}, row%3)
		if !slices.Equal(b.Slots[0].Of(i), want) || b.Labels[i] != float32(row%2) {
			t.Fatalf("sample %d is not row %d: ids %v, label %v", i, row, b.Slots[0].Of(i), b.Labels[i])
		}
		rows[i] = row
	}
	return rows
}

func TestEveryEpochVisitsEveryRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "rows")
		global := rapid.IntRange(1, 70).Draw(t, "global batch")
		epochs := rapid.IntRange(1, 4).Draw(t, "epochs")
		var seed *uint64
		if rapid.Bool().Draw(t, "shuffle") {
			seed = new(rapid.Uint64().Draw(t, "seed"))
		}
		schema, rows := numberedRows(n)
		source, err := NewSource(schema, rows, global, epochs, seed)
		if err != nil {
			t.Fatal(err)
		}
		perEpoch := (n + global - 1) / global
		if source.Steps() != epochs*perEpoch {
			t.Fatalf("%d steps, want %d", source.Steps(), epochs*perEpoch)
		}
		for epoch := range epochs {
			var seen []int
			for i := range perEpoch {
				step := epoch*perEpoch + i
				want := min(global, n-i*global)
				b, err := source.Read(step)
				if err != nil || b.Samples != want || source.Samples(step) != want {
					t.Fatalf("step %d: %d samples, announced %d, want %d, error %v", step, b.Samples, source.Samples(step), want, err)
				}
				seen = append(seen, rowNumbers(t, b)...)
			}
			if seed == nil && !slices.IsSorted(seen) {
				t.Fatal("without shuffling the order changed")
			}
			slices.Sort(seen)
			for i, row := range seen {
				if row != i {
					t.Fatalf("epoch %d visits %v", epoch, seen)
				}
			}
		}
	})
}

func TestReadAgainAndConcurrentlyGivesTheSame(t *testing.T) {
	schema, rows := numberedRows(100)
	source, err := NewSource(schema, rows, 32, 5, new(uint64(9)))
	if err != nil {
		t.Fatal(err)
	}
	want := make([][]int, source.Steps())
	for step := range want {
		b, _ := source.Read(step)
		want[step] = rowNumbers(t, b)
	}
	if slices.Equal(want[0], want[4]) {
		t.Error("epochs 0 and 1 begin alike: not shuffled anew")
	}
	var wait sync.WaitGroup
	for reader := range 4 {
		wait.Go(func() {
			for i := range want {
				step := (i*7 + reader) % len(want) // jumps between epochs
				b, _ := source.Read(step)
				if got := rowNumbers(t, b); !slices.Equal(got, want[step]) {
					t.Errorf("step %d read again: %v, want %v", step, got, want[step])
				}
			}
		})
	}
	wait.Wait()
}

func TestNewSourceRefuses(t *testing.T) {
	for _, c := range []struct {
		change        func(*batch.Schema, *batch.Batch)
		global, epoch int
		want          string
	}{
		{func(*batch.Schema, *batch.Batch) {}, 0, 1, "global batch 0"},
		{func(*batch.Schema, *batch.Batch) {}, 1, 0, "epochs 0"},
		{func(_ *batch.Schema, b *batch.Batch) { b.Samples = 0 }, 1, 1, "no rows"},
		{func(s *batch.Schema, _ *batch.Batch) { s.Slots[0].Dim = 0 }, 1, 1, `slot "s" has dimension 0: set it with WithDim`},
		{func(s *batch.Schema, _ *batch.Batch) { s.Slots = nil }, 1, 1, "1 id columns, schema has 0 slots"},
		{func(_ *batch.Schema, b *batch.Batch) { b.Slots[0].Offsets = nil }, 1, 1, `slot "s" has 0 offsets, want 4`},
		{func(s *batch.Schema, _ *batch.Batch) { s.Dense = nil }, 1, 1, "3 dense values, want 0"},
		{func(s *batch.Schema, _ *batch.Batch) { s.Labels = nil }, 1, 1, "3 labels, want 0"},
	} {
		schema, rows := numberedRows(3)
		c.change(&schema, rows)
		_, err := NewSource(schema, rows, c.global, c.epoch, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestWithDimLeavesTheArgument(t *testing.T) {
	schema := newSchema([]string{"a", "b"}, nil, "l")
	if got := WithDim(schema, 16); got.EmbeddingWidth() != 32 || schema.Slots[0].Dim != 0 {
		t.Errorf("width %d, argument's dim %d; want 32 and 0", got.EmbeddingWidth(), schema.Slots[0].Dim)
	}
}
