package fabric

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// Each case names its equations and the solution that follows from them by hand. A, B, C are links, x, y, z
// the rates of flows 0, 1, 2.
func TestMaxMinCases(t *testing.T) {
	const a, b, c = LinkID(0), LinkID(1), LinkID(2)
	over := func(hops ...Hop) Flow { return Flow{Path: hops} }
	limited := func(limit unit.BytesPerSec, hops ...Hop) Flow { return Flow{Path: hops, Limit: limit} }
	tests := []struct {
		name     string
		capacity []unit.BytesPerSec
		flows    []Flow
		want     []float64
	}{
		// A: x ≤ 12. One flow takes all.
		{"alone", []unit.BytesPerSec{12}, []Flow{over(Hop{a, 1})}, []float64{12}},
		// A: x+y+z ≤ 12. Equal shares.
		{"dumbbell", []unit.BytesPerSec{12},
			[]Flow{over(Hop{a, 1}), over(Hop{a, 1}), over(Hop{a, 1})}, []float64{4, 4, 4}},
		// A: x+y ≤ 10, B: x+z ≤ 4. B stops x and z at 2; y takes the other 8.
		{"long and short", []unit.BytesPerSec{10, 4},
			[]Flow{over(Hop{a, 1}, Hop{b, 1}), over(Hop{a, 1}), over(Hop{b, 1})}, []float64{2, 8, 2}},
		// A: x+y ≤ 1, B: y+z ≤ 2, C: z ≤ 9. A stops x, y at 1/2, B leaves z 3/2.
		{"chain", []unit.BytesPerSec{1, 2, 9},
			[]Flow{over(Hop{a, 1}), over(Hop{a, 1}, Hop{b, 1}), over(Hop{b, 1}, Hop{c, 1})},
			[]float64{0.5, 0.5, 1.5}},
		// A: 4x+y ≤ 10. The rates, not the shares, are equal: x = y = 2.
		{"multiplicity", []unit.BytesPerSec{10}, []Flow{over(Hop{a, 4}), over(Hop{a, 1})}, []float64{2, 2}},
		// A: 120x ≤ 60, B: x+y ≤ 8. x ≤ 1/2, so y = 15/2: the fan-out of a batch to 120 receivers hardly
		// loads the folded one.
		{"fan-out", []unit.BytesPerSec{60, 8},
			[]Flow{over(Hop{a, 120}, Hop{b, 1}), over(Hop{b, 1})}, []float64{0.5, 7.5}},
		// A: x ≤ 3, B: x/4+y ≤ 1. At 4/5 both rates fill B.
		{"striped", []unit.BytesPerSec{3, 1},
			[]Flow{over(Hop{a, 1}, Hop{b, 0.25}), over(Hop{b, 1})}, []float64{0.8, 0.8}},
		// A: x+y+z ≤ 12, x ≤ 2. The other two share 10.
		{"limit binds", []unit.BytesPerSec{12},
			[]Flow{limited(2, Hop{a, 1}), over(Hop{a, 1}), over(Hop{a, 1})}, []float64{2, 5, 5}},
		// A: x+y ≤ 12, x ≤ 7. The limit is above the share.
		{"limit does not bind", []unit.BytesPerSec{12},
			[]Flow{limited(7, Hop{a, 1}), over(Hop{a, 1})}, []float64{6, 6}},
		// A: x ≤ 0, x + y on B ≤ 5. A down link stops its flow and frees B.
		{"link down", []unit.BytesPerSec{0, 5},
			[]Flow{over(Hop{a, 1}, Hop{b, 1}), over(Hop{b, 1})}, []float64{0, 5}},
		// No link: x is its limit.
		{"limit alone", nil, []Flow{limited(3)}, []float64{3}},
		// A: x+x ≤ 6: a path may cross a link twice.
		{"twice over a link", []unit.BytesPerSec{6}, []Flow{over(Hop{a, 1}, Hop{a, 1})}, []float64{3}},
		// A: x/3+y/3+z/3 ≤ 1. Fractions that do not sum exactly: 1 each.
		{"thirds", []unit.BytesPerSec{1},
			[]Flow{over(Hop{a, 1. / 3}), over(Hop{a, 1. / 3}), over(Hop{a, 1. / 3})}, []float64{1, 1, 1}},
		// A: 1e12 x + y/1e6 ≤ 2e12, x ≤ 1. y = 1e18, though its share of the sum of multiplicities is lost in
		// rounding.
		{"unlike multiplicities", []unit.BytesPerSec{2e12},
			[]Flow{limited(1, Hop{a, 1e12}), over(Hop{a, 1e-6})}, []float64{1, 1e18}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			links := make([]Link, len(test.capacity))
			capacity := make([]float64, len(test.capacity))
			for i, c := range test.capacity {
				links[i].Capacity, capacity[i] = c, float64(c)
			}
			f := New(links)
			var ids []FlowID
			for _, w := range test.flows {
				w.Bytes = 1
				ids = append(ids, f.Start(0, w))
			}
			f.Settle(0)
			slow := reference(capacity, test.flows)
			for i, want := range test.want {
				if got := float64(f.Rate(ids[i])); !close(got, want) {
					t.Errorf("flow %d has rate %v, want %v", i, got, want)
				}
				if !close(slow[i], want) {
					t.Errorf("reference: flow %d has rate %v, want %v", i, slow[i], want)
				}
			}
		})
	}
}

// close compares rates to 1e-9 of their size: rounding of a few hundred sums.
func close(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }
