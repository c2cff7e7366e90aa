package datasets

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/order"
)

var _ batch.Source = (*Source)(nil)

// numberedRows returns a batch in which row i has i%3 ids, all equal to i, the dense value i and
// the label i%2, so that the content identifies the row.
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

// rowNumbers returns the numbers of the rows in b, and checks their content.
func rowNumbers(t rapid.TB, b *batch.Batch) []int {
	t.Helper()
	rows := make([]int, b.Samples)
	for i := range rows {
		row := int(b.Dense[i])
		want := slices.Repeat([]uint64{uint64(row)}, row%3)
		if !slices.Equal(b.Slots[0].SampleIDs(i), want) || b.Labels[i] != float32(row%2) {
			t.Fatalf("sample %d is not row %d: ids %v, label %v", i, row, b.Slots[0].SampleIDs(i),
				b.Labels[i])
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
		schema, rows := numberedRows(n)
		how, seed := rapid.SampledFrom([]string{"in order", "full", "windows"}).Draw(t, "shuffle"),
			rapid.Uint64().Draw(t, "seed")
		source, err := NewSource(schema, rows, global, epochs, nil)
		switch how {
		case "full":
			source, err = NewSource(schema, rows, global, epochs, &seed)
		case "windows":
			n = rapid.IntRange(1, 500).Draw(t, "more rows") // of one and of several rows a block
			schema, rows = numberedRows(n)
			window := rapid.IntRange(1, 200).Draw(t, "window")
			source, err = NewWindowedSource(schema, rows, global, epochs, seed, window)
		}
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
					t.Fatalf("step %d: %d samples, announced %d, want %d, error %v", step, b.Samples,
						source.Samples(step), want, err)
				}
				seen = append(seen, rowNumbers(t, b)...)
			}
			if how == "in order" && !slices.IsSorted(seen) {
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

func TestReadingIsRepeatableAndConcurrent(t *testing.T) {
	schema, rows := numberedRows(100)
	full, err := NewSource(schema, rows, 32, 5, new(uint64(9)))
	if err != nil {
		t.Fatal(err)
	}
	windowed, err := NewWindowedSource(schema, rows, 32, 5, 9, 20)
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]batch.Source{
		"full": full, "windowed": windowed, "read ahead": NewReadAhead(full, 3),
		"windowed, read ahead": NewReadAhead(windowed, 1),
	} {
		t.Run(name, func(t *testing.T) { readAgainAndConcurrently(t, source) })
	}
}

func readAgainAndConcurrently(t *testing.T, source batch.Source) {
	want := make([][]int, source.Steps())
	for step := range want {
		b, _ := source.Read(step)
		want[step] = rowNumbers(t, b)
	}
	if slices.Equal(want[0], want[4]) {
		t.Error("epochs 0 and 1 begin with the same rows")
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

// With 6400 rows and windows of 640, a block has 10 rows. Two consecutive rows of a window are in
// the same block with probability 9/639. Otherwise they are in two blocks drawn from all 640, so
// their mean distance is about a third of the data, as in a full shuffle. The block of the k-th row
// is uniformly distributed.
func TestWindowsMixAllOfTheData(t *testing.T) {
	const rows, window, block = 6400, 640, 10
	schema, data := numberedRows(rows)
	source, err := NewWindowedSource(schema, data, 64, 20, 3, window)
	if err != nil {
		t.Fatal(err)
	}
	var apart, pairs, near, middle float64
	for step := range source.Steps() {
		b, _ := source.Read(step)
		numbers := rowNumbers(t, b)
		for i := range numbers[1:] {
			distance := math.Abs(float64(numbers[i+1] - numbers[i]))
			apart, pairs = apart+distance, pairs+1
			if numbers[i+1]/block == numbers[i]/block {
				near++
			}
		}
		middle += float64(numbers[0]) / float64(source.Steps())
	}
	// 126,000 pairs, but only 200 windows of 64 blocks: the mean distance within a
	// window deviates by about a tenth of a third; five times that over √200.
	if got := apart / pairs / rows; math.Abs(got-1.0/3) > 5*0.1/3/math.Sqrt(200) {
		t.Errorf("rows that follow each other lie %.4f of the data apart, want a third", got)
	}
	// 126,000 · 9/639 = 1775 pairs, deviation √1775 = 42.
	if math.Abs(near-1775) > 5*42 {
		t.Errorf("%v pairs of one block, want about 1775", near)
	}
	// 2000 first rows of a batch; uniform numbers deviate by rows/√12.
	if math.Abs(middle-rows/2) > 5*rows/math.Sqrt(12)/math.Sqrt(2000) {
		t.Errorf("the mean row that a batch begins with is %.0f, want about %d", middle, rows/2)
	}
}

// counted counts the reads of each step. Reads block until held is closed.
type counted struct {
	batch.Source
	reads [100]atomic.Int32
	held  chan struct{}
}

func (c *counted) Read(step int) (*batch.Batch, error) {
	c.reads[step].Add(1)
	<-c.held
	return c.Source.Read(step)
}

// The number of steps ahead is bounded, and a run in order reads every step once.
func TestReadAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		schema, rows := numberedRows(100)
		source, err := NewSource(schema, rows, 1, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		under := &counted{Source: source, held: make(chan struct{})}
		ahead := NewReadAhead(under, 3)
		go ahead.Read(0)
		synctest.Wait()
		begun := func() (n int) {
			for step := range under.reads {
				n += int(under.reads[step].Load())
			}
			return n
		}
		if got := begun(); got != 4 { // step 0 and three more
			t.Errorf("%d steps begun by the first read, want 4", got)
		}
		time.Sleep(time.Second) // of the bubble
		close(under.held)
		synctest.Wait()
		if got := ahead.Waited(); got != time.Second {
			t.Errorf("the first read waited %v, want 1s", got)
		}
		for step := 1; step < 100; step++ {
			if b, err := ahead.Read(step); err != nil || rowNumbers(t, b)[0] != step {
				t.Fatalf("step %d: rows %v, error %v", step, rowNumbers(t, b), err)
			}
			synctest.Wait()
			if got, want := begun(), min(step+4, 100); got != want {
				t.Fatalf("after step %d: %d steps begun, want %d", step, got, want)
			}
		}
		if got := ahead.Waited(); got != time.Second {
			t.Errorf("waited %v in all, want 1s: the others were there", got)
		}
		ahead.Read(50) // again, as after a crash: alone
		if got := begun(); got != 101 {
			t.Errorf("reading a step again began %d steps, want 1", got-100)
		}
		NewReadAhead(under, 3).Read(40) // the first step of a training that continues
		synctest.Wait()
		if got := begun(); got != 105 {
			t.Errorf("the first read of step 40 began %d steps, want 4", got-101)
		}
	})
}

// BenchmarkSourceRead compares reading batches of 4,096 rows with Criteo's columns with gathering as
// many single ids in the same order.
func BenchmarkSourceRead(b *testing.B) {
	const rows = 1 << 20
	spec := job.Synthetic{Seed: 1, TrainRows: 1, TestRows: rows, Numeric: 13}
	for _, c := range (job.Synthetic{Preset: job.PresetCriteo}).Resolve().Columns {
		// A uniform distribution is quick to draw.
		spec.Columns = append(spec.Columns, job.SyntheticColumn{Name: c.Name, Cardinality: c.Cardinality})
	}
	data, err := Open(job.Data{Kind: job.KindSynthetic, Synthetic: &spec}, "")
	if err != nil {
		b.Fatal(err)
	}
	schema := WithDim(data.Schema, 1)
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.N)*4096/b.Elapsed().Seconds(), "rows/s")
	}
	rowOrder, limit := order.Permutation(rows, 1, "order"), make([]uint64, 4096)
	b.Run("ids-only", func(b *testing.B) {
		step := 0
		for b.Loop() {
			at := rowOrder[step%(rows/4096)*4096:][:4096]
			for _, slot := range data.Test.Slots {
				for i, row := range at {
					limit[i] = slot.IDs[row]
				}
			}
			step++
		}
		report(b)
	})
	full, _ := NewSource(schema, data.Test, 4096, 1000, new(uint64(1)))
	windowed, _ := NewWindowedSource(schema, data.Test, 4096, 1000, 1, 1<<16)
	inOrder, _ := NewSource(schema, data.Test, 4096, 1000, nil)
	for _, c := range []struct {
		name   string
		source batch.Source
	}{{"shuffled", full}, {"windowed", windowed}, {"in-order", inOrder},
		{"shuffled-ahead", NewReadAhead(full, 4)}} {
		b.Run(c.name, func(b *testing.B) {
			step := 0
			for b.Loop() {
				c.source.Read(step % c.source.Steps())
				step++
			}
			report(b)
		})
	}
	b.Run("plain-gather", func(b *testing.B) {
		step := 0
		for b.Loop() {
			batch.Gather(data.Test, rowOrder[step%(rows/4096)*4096:][:4096])
			step++
		}
		report(b)
	})
}

func TestNewSourceErrors(t *testing.T) {
	for _, c := range []struct {
		change        func(*batch.Schema, *batch.Batch)
		global, epoch int
		want          string
	}{
		{func(*batch.Schema, *batch.Batch) {}, 0, 1, "global batch 0"},
		{func(*batch.Schema, *batch.Batch) {}, 1, 0, "epochs 0"},
		{func(*batch.Schema, *batch.Batch) {}, 1, 1 << 30,
			"1073741824 epochs of 3 steps: must be at most 2147483647"},
		{func(_ *batch.Schema, b *batch.Batch) { b.Samples = 0 }, 1, 1, "no rows"},
		{func(s *batch.Schema, _ *batch.Batch) { s.Slots[0].Dim = 0 }, 1, 1,
			`slot "s" has dimension 0: set it with WithDim`},
		{func(s *batch.Schema, _ *batch.Batch) { s.Slots = nil }, 1, 1, "1 id columns, schema has 0 slots"},
		{func(_ *batch.Schema, b *batch.Batch) { b.Slots[0].Offsets = nil }, 1, 1,
			`slot "s" has 0 offsets, want 4`},
		{func(s *batch.Schema, _ *batch.Batch) { s.Dense = nil }, 1, 1, "3 dense values, want 0"},
		{func(s *batch.Schema, _ *batch.Batch) { s.Labels = nil }, 1, 1, "3 labels, want 0"},
		{func(_ *batch.Schema, b *batch.Batch) { b.Slots[0].Weights = make([]float32, 3) }, 1, 1,
			"slot s: 3 weights, and its ids have none"},
		{func(s *batch.Schema, b *batch.Batch) {
			s.Slots[0].Weighted = true
			b.Slots[0].Weights = make([]float32, 1)
		}, 1, 1, "slot s: 1 weights of 3 ids"},
	} {
		schema, rows := numberedRows(3)
		c.change(&schema, rows)
		_, err := NewSource(schema, rows, c.global, c.epoch, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestWithDimDoesNotChangeItsArgument(t *testing.T) {
	schema := newSchema([]string{"a", "b"}, nil, "l")
	if got := WithDim(schema, 16); got.EmbeddingWidth() != 32 || schema.Slots[0].Dim != 0 {
		t.Errorf("width %d, argument's dim %d; want 32 and 0", got.EmbeddingWidth(), schema.Slots[0].Dim)
	}
}
