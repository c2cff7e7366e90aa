package synth

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// streamedSpec has every kind of column and dependence.
func streamedSpec() job.Synthetic {
	points := []job.CoveragePoint{{Top: 1, Share: 0.2}, {Top: 10, Share: 0.5}, {Top: 100, Share: 0.8}}
	return job.Synthetic{
		Seed: 3, TrainRows: 3000, TestRows: 1000, Numeric: 2, PositiveRate: 0.25, RowsPerDay: 400,
		Teacher: job.SyntheticTeacher{Linear: 1, Interaction: 1, Cubic: 1, Numeric: 1, Rare: 1e-3},
		Columns: []job.SyntheticColumn{
			{Name: "zipf", Cardinality: 1_000_000_000, Exponent: 1.05, Drift: 0.3},
			{Name: "a", Cardinality: 5000, Coverage: points, Blank: 2},
			{Name: "b", Cardinality: 1000, Coverage: points, Blank: 1, Drift: 0.5},
			{Name: "many", Cardinality: 1000, Coverage: points, IDsPerRow: 2.5},
		},
		Ties:       []job.SyntheticTie{{Columns: []string{"a", "b", "many"}, Strength: 0.7}},
		Blanks:     [][]string{{"a", "b"}},
		Conversion: &job.SyntheticConversion{Rate: 0.3, Shared: 0.5},
	}
}

// Streamed rows are the rows in memory, however they are cut, gathered, or shared by goroutines.
func TestStreamedRowsAreThoseInMemory(t *testing.T) {
	spec := streamedSpec()
	all, err := generate(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	spec.Stream = true
	for _, workers := range []int{1, 3, 16} {
		streamed, err := generate(spec, workers)
		if err != nil {
			t.Fatal(err)
		}
		if streamed.Train.Samples != 0 || !reflect.DeepEqual(streamed.Test, all.Test) {
			t.Fatal("training rows in memory, or other test rows")
		}
		for _, cut := range [][2]int{{0, 3000}, {0, 1}, {17, 18}, {1000, 2500}, {2999, 3000}} {
			got, want := streamed.Rows.Between(cut[0], cut[1]), batch.Slice(all.Train, cut[0], cut[1])
			for c := range got.Slots {
				if !slices.Equal(got.Slots[c].IDs,
					want.Slots[c].IDs[want.Slots[c].Offsets[0]:][:len(got.Slots[c].IDs)]) {
					t.Fatalf("rows %v: other ids of column %d", cut, c)
				}
			}
			if !slices.Equal(got.Dense, want.Dense) || !slices.Equal(got.Labels, want.Labels) {
				t.Fatalf("rows %v: other numbers or labels", cut)
			}
		}
		order := []int32{2999, 0, 5, 5, 1234}
		got, want := streamed.Rows.Gather(order), batch.NewGatherer(all.Train).Rows(order)
		for c := range got.Slots {
			if !slices.Equal(got.Slots[c].IDs, want.Slots[c].IDs) {
				t.Fatalf("gathered: other ids of column %d", c)
			}
		}
		if !slices.Equal(got.Labels, want.Labels) {
			t.Fatal("gathered: other labels")
		}
	}
}

// Every goroutine that reads gets the same rows.
func TestRowsAreSafeForConcurrentUse(t *testing.T) {
	spec := streamedSpec()
	spec.Stream = true
	data := mustGenerate(t, spec)
	want := data.Rows.Between(0, 500)
	results := make(chan *batch.Batch)
	for range 8 {
		go func() { results <- data.Rows.Between(0, 500) }()
	}
	for range 8 {
		if got := <-results; !reflect.DeepEqual(got, want) {
			t.Error("other rows")
		}
	}
}

// A day replaces the drift's share of the identities, and keeps the distribution of ranks. The first
// and last day of 8 share few ids at a drift of 0.2 a day, and all without drift.
func TestDriftReplacesIDs(t *testing.T) {
	const perDay, days = 5000, 8
	spec := job.Synthetic{
		Seed: 1, TrainRows: perDay * days, TestRows: perDay, RowsPerDay: perDay,
		Columns: []job.SyntheticColumn{
			{Name: "still", Cardinality: 50}, {Name: "moving", Cardinality: 50, Drift: 0.2},
			{Name: "fast", Cardinality: 50, Drift: 1},
		},
	}
	data := mustGenerate(t, spec)
	seen := func(ids []uint64) map[uint64]bool {
		set := map[uint64]bool{}
		for _, id := range ids {
			set[id] = true
		}
		return set
	}
	kept := func(c, day int) float64 { // share of the ids of day 0 that are there on another day
		first, other := seen(data.Train.Slots[c].IDs[:perDay]), seen(data.Test.Slots[c].IDs)
		if day < days {
			other = seen(data.Train.Slots[c].IDs[day*perDay:][:perDay])
		}
		both := 0.0
		for id := range first {
			if other[id] {
				both++
			}
		}
		return both / float64(len(first))
	}
	for day, want := range map[int][3]float64{
		0: {1, 1, 1}, 1: {1, 0.8, 0}, 3: {1, 0.4, 0}, 5: {1, 0, 0}, days: {1, 0, 0},
	} {
		for c, share := range want {
			// 50 ids of a binomial share.
			if got := kept(c, day); math.Abs(got-share) > 0.25 || (share == 0 || share == 1) && got != share {
				t.Errorf("column %d: %v of the ids are left on day %d, want %v", c, got, day, share)
			}
		}
	}
	for c := range spec.Columns {
		if n := len(seen(data.Train.Slots[c].IDs[:perDay])); n != 50 {
			t.Errorf("column %d: %d ids on a day, want 50", c, n)
		}
	}
}

// The logarithms of the ranks of tied columns correlate, by the strength squared: both follow the
// latent value.
func TestTiesHaveTheirStrength(t *testing.T) {
	points := []job.CoveragePoint{{Top: 10, Share: 0.3}, {Top: 100, Share: 0.6}}
	spec := job.Synthetic{Seed: 1, TrainRows: 1, TestRows: 1, Columns: []job.SyntheticColumn{
		{Name: "a", Cardinality: 1000, Coverage: points}, {Name: "b", Cardinality: 1000, Coverage: points},
	}}
	for _, strength := range []float64{0.3, 0.8, 1} {
		spec.Ties = []job.SyntheticTie{{Columns: []string{"a", "b"}, Strength: strength}}
		g := newGenerator(spec.Resolve(), 1)
		p := g.newPart(partTrain)
		p.draw(rowRange{count: 20_000})
		var x, y, xx, yy, xy float64
		for i := range 20_000 {
			a, b := math.Log(float64(p.columns[0].ranks[i])), math.Log(float64(p.columns[1].ranks[i]))
			x, y, xx, yy, xy = x+a/20_000, y+b/20_000, xx+a*a/20_000, yy+b*b/20_000, xy+a*b/20_000
		}
		got := (xy - x*y) / math.Sqrt((xx-x*x)*(yy-y*y))
		if want := strength * strength; math.Abs(got-want) > 4/math.Sqrt(20_000) {
			t.Errorf("strength %v: correlation %.3f, want %.3f", strength, got, want)
		}
	}
}

// The score with cubic terms equals the definition, triple by triple, and rare shrinks hidden values.
func TestCubicScoreMatchesTriples(t *testing.T) {
	teacher := job.SyntheticTeacher{Rank: 3, Linear: 0.7, Cubic: 1.3, Scale: 1, Rare: 0.01}
	columns := []job.SyntheticColumn{{Cardinality: 50}, {Cardinality: 9, Exponent: 1},
		{Cardinality: 200, Exponent: 2},
		{Cardinality: 30}}
	s := newScorer(9, job.Synthetic{Columns: columns, Teacher: teacher})
	ranks := [][]int64{{7}, {3 + 5<<rankBits}, {200}, {1}}
	value := func(c, i int) float64 {
		p := NewZipf(columns[c]).Probability(ranks[c][0] % (1 << rankBits))
		return hidden(rng.Mix(s.columns[c]+uint64(ranks[c][0])), i) * math.Sqrt(p/(p+0.01))
	}
	var linear, triples float64
	for c := range ranks {
		linear += value(c, 0)
		for d := range c {
			for e := range d {
				for k := range teacher.Rank {
					triples += value(c, k+1) * value(d, k+1) * value(e, k+1)
				}
			}
		}
	}
	want := 0.7*linear/2 + 1.3*triples/math.Sqrt(4*3) // 4 columns, 4 triples of 3 products
	if got := s.score(ranks, nil); math.Abs(got-want) > 1e-12 {
		t.Errorf("score %v, want %v", got, want)
	}
}

// A teacher with a seed of its own is the same for all rows: it gives ranks the same score under any
// seed, which draws other rows. Without one, it changes with the rows.
func TestTeacherSeed(t *testing.T) {
	score := func(seed, teacher uint64) float64 {
		spec := streamedSpec()
		spec.Seed, spec.Teacher.Seed = seed, teacher
		g := newGenerator(spec.Resolve(), 1)
		ranks := [][]int64{{5}, {3}, {700}, {1, 9}}
		return g.scorer.score(ranks, []float32{1, 2}) + g.conversion.scorer.score(ranks, []float32{1, 2})
	}
	if score(3, 9) != score(4, 9) {
		t.Error("the same teacher gives other scores")
	}
	if score(3, 0) == score(4, 0) || score(3, 9) == score(3, 8) || score(3, 0) != score(4, 3) {
		t.Error("the seed does not decide")
	}
	spec := streamedSpec()
	spec.Teacher.Seed = 9
	first := mustGenerate(t, spec)
	spec.Seed++
	if second := mustGenerate(t, spec); slices.Equal(first.Test.Slots[1].IDs, second.Test.Slots[1].IDs) {
		t.Error("another seed, the same rows")
	}
}

// A column is of lists unless every row has one id.
func TestColumnsOfListsAreKnown(t *testing.T) {
	spec := job.Synthetic{Seed: 1, TrainRows: 2000, TestRows: 1, Stream: true, Columns: []job.SyntheticColumn{
		{Cardinality: 100}, {Cardinality: 100, IDsPerRow: 1.5}, {Cardinality: 100, IDsPerRow: 1},
		{Cardinality: 100, IDsPerRow: 2}, {Cardinality: 100, IDsPerRow: 0.5}}}
	made, err := Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	rows := made.Rows.Between(0, made.Rows.Samples())
	for column, slot := range rows.Slots {
		isList := false
		for row := range rows.Samples {
			isList = isList || len(slot.SampleIDs(row)) != 1
		}
		if got := made.Rows.IsList(column); got != isList {
			t.Errorf("column %d is of lists: %v, want %v", column, got, isList)
		}
	}
}
