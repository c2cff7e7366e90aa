package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// even returns a table whose rows are equally frequent.
func even(rows, ids float64) Table {
	zero := 0.0
	p := Popularity{Exponent: &zero}
	return Table{Rows: rows, IDs: ids, Dim: 1, Frequencies: p.frequencies(rows, 0)}
}

// A table has as many hot rows as ranks that a sample contains with at least the probability of the
// threshold. The expected distinct rows of one sample give that probability in another way.
func TestHotRowsAreThoseAboveTheThreshold(t *testing.T) {
	m, err := Load("criteo")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range m.Tables()[:4] {
		for _, ids := range []float64{1, 2.5} {
			table.IDs = ids
			for _, least := range []float64{0.9, 0.3, 0.03, 0.004} {
				want := 0.0
				for want < table.Rows {
					f := table.Frequencies
					if f.DistinctBeyond(ids, want)-f.DistinctBeyond(ids, want+1) < least {
						break
					}
					want++
				}
				if got := HotRows([]Table{table}, least, 0)[0]; got != want {
					t.Errorf("%s: %v rows in at least %v of the samples, want %v", table.Name, got, least,
						want)
				}
			}
		}
	}
}

// A limit keeps the most frequent rows of all tables. Here the five rows of a table are in a fifth of the
// samples each, the ten rows of another in a tenth, and the rows of a sequence do not count.
func TestMostFrequentRowsOfAllTables(t *testing.T) {
	sequence := even(2, 1)
	sequence.Sequence = true
	tables := []Table{even(10, 1), even(5, 1), sequence}
	for _, c := range []struct {
		share float64
		most  int
		want  [2]float64
	}{
		{0.3, 0, [2]float64{0, 0}}, {0.15, 0, [2]float64{0, 5}}, {0.05, 0, [2]float64{10, 5}},
		{0.05, 20, [2]float64{10, 5}}, {0.05, 5, [2]float64{0, 5}}, {0.05, 3, [2]float64{0, 3}},
		{0.05, 9, [2]float64{4, 5}},
	} {
		got := HotRows(tables, c.share, c.most)
		if math.Abs(got[0]-c.want[0]) > 1e-6 || math.Abs(got[1]-c.want[1]) > 1e-6 || got[2] != 0 {
			t.Errorf("share %v, most %d: %v rows, want %v", c.share, c.most, got, c.want)
		}
	}
}

// Bags are divided as the bags of drawn samples are. The third of four equally frequent rows is cold, and so
// is the fourth. Counts of 200,000 samples deviate by less than 0.5 %.
func TestBagsOfDrawnSamples(t *testing.T) {
	const samples, hot = 200_000, 2
	random := rand.New(rand.NewPCG(1, 2))
	for _, ids := range []float64{0.4, 1, 2, 2.3} {
		table := even(4, ids)
		var want HotBags
		for range samples {
			n := int(ids)
			if random.Float64() < ids-math.Floor(ids) {
				n++
			}
			hits := 0
			for range n {
				if random.IntN(4) < hot {
					hits++
				}
			}
			want.IDs += float64(hits) / samples
			if hits > 0 {
				want.Pooled += float64(n) / samples
				want.WithHot += 1.0 / samples
				if hits == n {
					want.WhollyHot += 1.0 / samples
				}
			}
		}
		got := table.HotBags(hot)
		for _, x := range [][2]float64{{got.IDs, want.IDs}, {got.Pooled, want.Pooled},
			{got.WithHot, want.WithHot}, {got.WhollyHot, want.WhollyHot}} {
			if math.Abs(x[0]-x[1]) > 0.005*max(1, x[1]) {
				t.Errorf("%v ids: %+v, drawn %+v", ids, got, want)
			}
		}
	}
	if none := even(4, 2.3); none.HotBags(0) != (HotBags{}) {
		t.Errorf("without hot rows: %+v", none.HotBags(0))
	}
}
