package metric

import (
	"math"
	"testing"
)

// A claim of equivalence needs a million test rows; a difference needs none.
func TestExplain(t *testing.T) {
	const few = "no difference found; 999999 test rows are too few to claim equivalence"
	for _, c := range []struct {
		low, high  float64
		many, less string // with a million rows, and with one row less
	}{
		{-0.0004, 0.0006, "equivalent", few},
		{0, 0, "equivalent", few},
		{0.0002, 0.0006, "equivalent", "different, by less than 0.001"},
		{-0.0006, -0.0002, "equivalent", "different, by less than 0.001"},
		{0.0002, 0.0016, "different", "different"},
		{-0.004, -0.002, "different", "different"},
		{-0.0002, 0.0016, "inconclusive", few},
		{math.Inf(-1), math.Inf(1), "inconclusive", few},
		{math.NaN(), math.NaN(), "inconclusive", "inconclusive"},
	} {
		difference := Interval{Low: c.low, High: c.high}
		if got := Explain(difference, EquivalenceMargin, EquivalenceRows); got != c.many {
			t.Errorf("[%v, %v] with a million rows: %q, want %q", c.low, c.high, got, c.many)
		}
		if got := Explain(difference, EquivalenceMargin, EquivalenceRows-1); got != c.less {
			t.Errorf("[%v, %v] with one row less: %q, want %q", c.low, c.high, got, c.less)
		}
	}
}
