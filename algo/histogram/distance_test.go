package histogram

import (
	"math"
	"testing"
)

func histogramOf(values ...int) *Histogram {
	h := &Histogram{}
	for _, v := range values {
		h.Add(v)
	}
	return h
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b *Histogram
		want float64
	}{
		{histogramOf(3), histogramOf(3, 3), 0},
		{histogramOf(0), histogramOf(5), 5},
		{histogramOf(0, 0), histogramOf(0, 4), 2},         // half of the values move by 4
		{histogramOf(1, 2, 3), histogramOf(2, 3, 4), 1},   // all move by 1
		{histogramOf(1, 1, 1, 5), histogramOf(2, 2), 1.5}, // three by 1, one by 3, of four
		{histogramOf(9000), histogramOf(Limit), 0},        // both in the overflow
	} {
		if got, back := c.a.Distance(c.b), c.b.Distance(c.a); got != c.want || back != c.want {
			t.Errorf("%v and %v: %v, in reverse %v, want %v", c.a.Summary(), c.b.Summary(), got, back, c.want)
		}
	}
	if d := histogramOf().Distance(histogramOf(1)); !math.IsNaN(d) {
		t.Errorf("distance from an empty histogram %v, want NaN", d)
	}
}

func TestAtMost(t *testing.T) {
	h := histogramOf(0, 2, 2, 7)
	for value, want := range map[int]float64{0: 0.25, 1: 0.25, 2: 0.75, 6: 0.75, 7: 1, 100: 1, 5000: 1} {
		if got := h.AtMost(value); got != want {
			t.Errorf("at most %d: %v, want %v", value, got, want)
		}
	}
}
