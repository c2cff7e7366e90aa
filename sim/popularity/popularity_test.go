package popularity

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The groups hold every id once and all of the probability, in descending order.
func TestGroupsAreComplete(t *testing.T) {
	for _, s := range sources {
		ids, all, last := 0.0, 0.0, math.Inf(1)
		for _, g := range popularity(s.sums) {
			ids += g.IDs
			all += g.IDs * g.Probability
			if g.Probability > last*(1+1e-12) {
				t.Errorf("%s: probability %v after %v", s.name, g.Probability, last)
			}
			last = g.Probability
		}
		if ids != float64(len(s.sums)) || math.Abs(all-1) > 1e-9 {
			t.Errorf("%s: %v ids of probability %v, want %d, 1", s.name, ids, all, len(s.sums))
		}
	}
}

// A sum that rounding makes too large does not put a likelier id behind another.
func TestGroupsDescendInSpiteOfRounding(t *testing.T) {
	sums := []float64{0.25, 0.5 + 1e-7, 0.75 - 1e-7, 1}
	for i, g := range popularity(sums) {
		if g.Probability > 0.25 {
			t.Errorf("id %d has probability %v", i, g.Probability)
		}
	}
}

// Limits: a cache of all rows never misses, one of none always; one id makes its shard carry everything; a
// single shard has no skew.
func TestLimits(t *testing.T) {
	p := popularity(zipf(1000, 1))
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"LRU cache of all rows", p.LRUMisses(100, 1000), 0},
		{"one draw without cache", p.LRUMisses(1, 0), 1},
		{"one id without cache", Popularity{{1, 1}}.LRUMisses(50, 0), 1},
		{"skew of one id", Popularity{{1, 1}}.Skew(40, 1), 40},
		{"skew of one shard", p.Skew(1, 1), 1},
		// n (1 − (1 − 1/n)^d)
		{"distinct of uniform ids", Popularity{{10, 0.1}}.LRUMisses(2, 0), 10 * (1 - 0.81)},
	} {
		if math.Abs(c.got-c.want) > 1e-6*max(1, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// Columns share the draws by their weights; ids of both that are about equally likely form one group.
func TestMixOfColumns(t *testing.T) {
	got := Mix([]Popularity{{{4, 0.2}, {20, 0.01}}, {{8, 0.1}, {8, 0.0248}}}, []float64{3, 1})
	want := Popularity{{4, 0.15}, {8, 0.025}, {20, 0.0075}, {8, 0.0062}}
	for i, g := range got {
		if len(got) != len(want) || g.IDs != want[i].IDs ||
			math.Abs(g.Probability-want[i].Probability) > 1e-12 {
			t.Fatalf("mixed to %v, want %v", got, want)
		}
	}
	got = Mix([]Popularity{{{10, 0.1}}, {{10, 0.1}}, {{5, 0.2}}}, []float64{1.02, 1, 1})
	if len(got) != 2 || got[0].IDs != 5 || got[1].IDs != 20 ||
		math.Abs(got[1].Probability*20-2.02/3.02) > 1e-12 {
		t.Errorf("like columns mix to %v", got)
	}
}

// A larger cache misses less, and none misses more than all distinct ids or less than the rows that it cannot
// hold: the distinct ids of a batch beyond the most likely ones.
func TestOrderOfMisses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.IntRange(1, 3000).Draw(t, "ids")
		p := popularity(zipf(ids, rapid.Float64Range(0, 2).Draw(t, "exponent")))
		draws := rapid.Float64Range(1, 5000).Draw(t, "draws")
		rows := rapid.Float64Range(0, 3000).Draw(t, "rows")
		used, more, all := p.LRUMisses(draws, rows), p.LRUMisses(draws, rows*1.1), p.LRUMisses(draws, 0)
		best, left := 0.0, rows
		for _, g := range p {
			held := min(left, g.IDs)
			left -= held
			best += (g.IDs - held) * g.seen(draws)
		}
		if slack := 1e-6 * all; best > used+slack || more > used+slack || used > all+slack {
			t.Fatalf("misses: best %v, LRU %v, LRU with more rows %v of %v", best, used, more, all)
		}
	})
}
