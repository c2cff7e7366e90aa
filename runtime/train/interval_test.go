package train

import (
	"math"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/unit"
)

// Young's interval loses least: at most 2 % more, to pauses and to steps trained again, than any interval of
// a grid.
func TestYoungsIntervalLosesLeast(t *testing.T) {
	const cost, between = 2.0, 1000.0 // seconds
	// lost is the share of the time that is lost with an interval τ: a pause for each, and half an interval
	// for each loss.
	lost := func(τ float64) float64 { return cost/τ + τ/2/between }
	v := interval{begun: time.Unix(0, 0), cost: 2 * time.Second, losses: 1000}
	got := v.next(time.Unix(1000*1000, 0), 0).Seconds()
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
	begun := time.Unix(0, 0)
	at := func(v interval, seconds int64, restarts int) time.Duration {
		v.begun = begun
		return v.next(time.Unix(seconds, 0), restarts).Round(time.Second)
	}
	for _, c := range []struct {
		what           string
		v              interval
		after          int64
		restarts       int
		atLeast, below time.Duration
	}{
		{"before the first pause", interval{}, 0, 0, firstMax, firstMax + 1},
		{"nothing lost, a cheap pause", interval{cost: 100 * time.Millisecond}, 100, 0, time.Minute,
			2 * time.Minute},
		{"nothing lost, a dear one", interval{cost: time.Minute}, 100, 0, 25 * time.Minute, 30 * time.Minute},
		{"a loss every 20 s", interval{cost: 100 * time.Millisecond, losses: 60}, 1200, 0, intervalMin,
			6 * time.Second},
		{"a pause is never more than a tenth", interval{cost: time.Minute, losses: 1000}, 1000, 0,
			10 * time.Minute, 10*time.Minute + 1},
		{"three losses since the pause", interval{}, 60, 3, time.Second, 2 * time.Second},
	} {
		if got := at(c.v, c.after, c.restarts); got < c.atLeast || got >= c.below {
			t.Errorf("%s: %v, want %v to %v", c.what, got, c.atLeast, c.below)
		}
	}
}

func TestSavingText(t *testing.T) {
	for text, want := range map[string]Saving{
		"auto": {Auto: true}, "never": {}, "500 steps": {Every: job.Every{Steps: 500}},
		"30s": {Every: job.Every{Time: 30 * unit.Second}},
	} {
		var s Saving
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text ||
			s.Any() != (text != "never") {
			t.Errorf("%q: %+v, %v, as text %q", text, s, err, s)
		}
	}
	var s Saving
	if err := s.UnmarshalText([]byte("7")); err != nil || s.Every.Steps != 7 {
		t.Errorf("a number alone: %+v, %v", s, err)
	}
	if err := s.UnmarshalText([]byte("often")); err == nil ||
		err.Error() != `"often" is no interval; write it as 500 steps, 30s or never, or auto` {
		t.Errorf("often: %v", err)
	}
}
