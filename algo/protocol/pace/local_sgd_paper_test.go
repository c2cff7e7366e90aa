package pace_test

import (
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/pace"
)

// Between two averages a rank waits for nobody, and no rank goes beyond an average without the others: what a
// read misses of another rank is at most 2τ + H + 1 batches, in every order of events, and reaches that.
func TestLocalSGDBoundsWhatReadsMissByItsPeriod(t *testing.T) {
	for _, c := range []struct {
		rule  pace.LocalSGD
		steps int32
	}{{pace.LocalSGD{Every: 1}, 4}, {pace.LocalSGD{Every: 2}, 5}, {pace.LocalSGD{Every: 3}, 7}, {pace.LocalSGD{Staleness: 1, Every: 1}, 4}} {
		rule, steps := c.rule, int(c.steps)
		set := searched(rule, 2, c.steps)
		set.Eager = true
		seen, b := explore(t, set), rule.Bounds(2)
		if b.Cross != 2*rule.Staleness+rule.Every+1 || b.Own != rule.Staleness || b.Dense != 0 {
			t.Errorf("%+v promises %+v", rule, b)
		}
		if seen.Own != b.Own || seen.Cross != min(b.Cross, steps-1) || seen.Inflight != b.Inflight {
			t.Errorf("%+v: saw %+v, promised %+v", rule, seen, b)
		}
	}
}

// Every order of events, as far as random walks with faults find them, keeps the bounds.
func TestLocalSGDKeepsItsBoundsWithFaults(t *testing.T) {
	walk(t, func(t *rapid.T, _ int) pace.Rule {
		return pace.LocalSGD{Staleness: rapid.IntRange(0, 3).Draw(t, "τ"), Every: rapid.IntRange(1, 5).Draw(t, "H")}
	})
}

// A message that is lost delays an average, but changes nothing else.
func TestLocalSGDSurvivesAnyOneFault(t *testing.T) {
	if !*long {
		t.Skip("it tries every order of events and faults; random walks are above")
	}
	set := searched(pace.LocalSGD{Every: 1}, 1, 2)
	set.Config.Retry, set.Faults = 1, 1
	explore(t, set)
}
