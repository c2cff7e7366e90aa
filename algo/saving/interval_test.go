package saving

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// Young's interval loses least: at most 2 % more, to pauses and to steps trained again, than any interval of
// a grid.
func TestYoungsIntervalLosesLeast(t *testing.T) {
	const cost, between = 2.0, 1000.0 // seconds
	// lost is the share of the time that is lost with an interval τ: a pause for each, and half an interval
	// for each loss.
	lost := func(τ float64) float64 { return cost/τ + τ/2/between }
	v := Interval{Cost: 2 * unit.Second, Losses: 1000}
	got := v.Next(1000*1000*unit.Second, 0).Seconds()
	for τ := 10.0; τ < 1000; τ *= 1.05 {
		if lost(got) > 1.02*lost(τ) {
			t.Fatalf("an interval of %.0f s loses %.4f, one of %.0f s %.4f", got, lost(got), τ, lost(τ))
		}
	}
	if want := math.Sqrt(2 * cost * between); math.Abs(got-want) > 0.02*want {
		t.Errorf("%.1f s, want %.1f", got, want)
	}
}

func TestIntervalFollowsWhatIsSeen(t *testing.T) {
	for _, c := range []struct {
		what           string
		v              Interval
		after          unit.Tick
		restarts       int
		atLeast, below unit.Tick
	}{
		{"before the first pause", Interval{}, 0, 0, firstMax, firstMax + 1},
		{"nothing lost, a cheap pause", Interval{Cost: 100 * unit.Millisecond}, 100, 0, unit.Minute,
			2 * unit.Minute},
		{"nothing lost, a dear one", Interval{Cost: unit.Minute}, 100, 0, 25 * unit.Minute, 30 * unit.Minute},
		{"a loss every 20 s", Interval{Cost: 100 * unit.Millisecond, Losses: 60}, 1200, 0, intervalMin,
			6 * unit.Second},
		{"a pause is never more than a tenth", Interval{Cost: unit.Minute, Losses: 1000}, 1000, 0,
			10 * unit.Minute, 10*unit.Minute + 1},
		{"three losses since the pause", Interval{}, 60, 3, unit.Second, 2 * unit.Second},
	} {
		if got := c.v.Next(c.after*unit.Second, c.restarts); got < c.atLeast || got >= c.below {
			t.Errorf("%s: %v, want %v to %v", c.what, got, c.atLeast, c.below)
		}
	}
}
