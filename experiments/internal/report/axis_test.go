package report

import (
	"math"
	"testing"

	"gonum.org/v1/plot/plotter"
	"pgregory.net/rapid"
)

// Each of 0, 1, 3, 7 doubles 1 + v, so their distances are equal: a third of the axis.
func TestLogPlusOne(t *testing.T) {
	for i, v := range []float64{0, 1, 3, 7} {
		if got, want := (logPlusOne{}).Normalize(0, 7, v), float64(i)/3; math.Abs(got-want) > 1e-12 {
			t.Errorf("%v lies at %v, want %v", v, got, want)
		}
	}
}

// Round ticks are inside the range, evenly spaced, and 3 to 9 in number.
func TestRoundTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1000, 1000).Draw(t, "low")
		span := math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, "log10 span"))
		ticks := roundTicks(low, low+span)
		// A step is at most 2.5 times the next smaller one, which would give 10 ticks or more.
		if len(ticks) < 3 || len(ticks) > 9 {
			t.Fatalf("%d ticks: %v", len(ticks), ticks)
		}
		step := ticks[1] - ticks[0]
		for i, v := range ticks {
			if v == 0 && math.Signbit(v) {
				t.Fatal("a tick at −0")
			}
			slack := 1e-9*span + math.Abs(v)*0x1p-50 // a multiple of the step is rounded
			if v < low-slack || v > low+span+slack {
				t.Fatalf("tick %v outside", v)
			}
			if i > 0 && math.Abs(v-ticks[i-1]-step) > 1e-6*step {
				t.Fatalf("uneven ticks %v", ticks)
			}
		}
	})
}

// A figure of a single value can be drawn.
func TestAxisOfOneValue(t *testing.T) {
	f := Figure{Name: "one", Lines: []Line{{Name: "x", Points: []Point{Exact(2, 5)}}}}
	if _, err := f.SVG(); err != nil {
		t.Error(err)
	}
	if got := values(f.Lines[0].Points); got[0] != (plotter.XY{X: 2, Y: 5}) {
		t.Errorf("values %v", got)
	}
}
