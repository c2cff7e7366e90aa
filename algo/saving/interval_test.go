package saving

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// Young's interval loses least: at most 2 % more, to pauses, to steps trained again and to inputs handled
// again, than any interval of a grid.
func TestYoungsIntervalLosesLeast(t *testing.T) {
	const cost, length = 2.0, 1e6 // seconds
	for _, c := range []struct {
		losses, replays int
		share           float64 // of the time since the checkpoint, that a replay takes
	}{{1000, 0, 0}, {0, 1000, 0.36}, {300, 5000, 0.2}, {50, 2000, 1.5}} {
		// lost is the share of the time that is lost with an interval τ: a pause for each, half an interval
		// for each loss, and for each replay the time to handle the inputs of half an interval.
		lost := func(τ float64) float64 {
			return cost/τ + (float64(c.losses)*τ/2+float64(c.replays)*c.share*τ/2)/length
		}
		v := Interval{Cost: 2 * unit.Second, Losses: c.losses, Replayed: float64(c.replays) * c.share}
		got := v.Next(length*unit.Second, 0).Seconds()
		for τ := 20.0; τ < 1000; τ *= 1.05 {
			if lost(got) > 1.02*lost(τ) {
				t.Fatalf("%+v: an interval of %.0f s loses %.4f, one of %.0f s %.4f", c, got, lost(got), τ,
					lost(τ))
			}
		}
		between := length / (float64(c.losses) + float64(c.replays)*c.share)
		if want := math.Sqrt(2 * cost * between); math.Abs(got-want) > 0.02*want {
			t.Errorf("%+v: %.1f s, want %.1f", c, got, want)
		}
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
		{"a loss every 20 s", Interval{Cost: 100 * unit.Millisecond, Losses: 60}, 1200, 0, 2 * unit.Second,
			2100 * unit.Millisecond},
		{"the first loss, after 20 s", Interval{Cost: 100 * unit.Millisecond, Losses: 1}, 20, 0,
			2 * unit.Second, 2100 * unit.Millisecond},
		{"a replay of a third, after 20 s", Interval{Cost: 100 * unit.Millisecond, Replayed: 1.0 / 3}, 20, 0,
			3400 * unit.Millisecond, 3500 * unit.Millisecond},
		{"a replay of nearly nothing", Interval{Cost: 100 * unit.Millisecond, Replayed: 1e-6}, 100, 0,
			unit.Minute, 2 * unit.Minute},
		{"never more often than each second", Interval{Cost: unit.Millisecond, Losses: 1000}, 1000, 0,
			intervalMin, intervalMin + 1},
		{"nothing lost for days", Interval{Cost: 100 * unit.Millisecond}, 3 * 24 * 3600, 0, 225 * unit.Second,
			240 * unit.Second},
		{"a pause is never more than a tenth", Interval{Cost: unit.Minute, Losses: 1000}, 1000, 0,
			10 * unit.Minute, 10*unit.Minute + 1},
		{"three losses since the pause", Interval{}, 60, 3, unit.Second, 2 * unit.Second},
	} {
		if got := c.v.Next(c.after*unit.Second, c.restarts); got < c.atLeast || got >= c.below {
			t.Errorf("%s: %v, want %v to %v", c.what, got, c.atLeast, c.below)
		}
	}
}
