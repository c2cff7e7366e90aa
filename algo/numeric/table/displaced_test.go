package table

import (
	"math"
	"testing"

	"tandem/algo/rng"
)

// Slots of tables are as far from home as the law of overflow says, at high and at low loads.
func TestDisplaced(t *testing.T) {
	x := newIndex()
	next, random := 0, uint64(1)
	for _, rows := range []int{20_000, 60_000, 100_000, 130_000, 200_000} {
		for ; next < rows; next++ {
			if x.full() {
				if err := x.grow(Heap{}); err != nil {
					t.Fatal(err)
				}
			}
			random = random*6364136223846793005 + 1442695040888963407
			x.insert(rng.Mix(random), next)
		}
		sum := 0.0
		for g := range x.groups {
			for _, slot := range x.at(g) {
				if slot != 0 {
					sum += float64(x.distance(x.home(slot), g))
				}
			}
		}
		got, want := Displaced(rows), sum/float64(rows)
		if math.Abs(got-want) > 0.15*want+0.002 {
			t.Errorf("%d rows in %d groups: %.4f groups behind, the index has %.4f", rows, x.groups, got,
				want)
		}
	}
}
