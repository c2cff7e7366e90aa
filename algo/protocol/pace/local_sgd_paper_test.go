package pace_test

import (
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/pace"
)

// Between two averages ranks do not wait for each other, and no rank passes an average without the others. In
// every order of events a read misses at most 2τ + H + 1 batches of another rank, and some read misses that
// number.
func TestLocalSGDCrossStalenessReachesItsBound(t *testing.T) {
	for _, c := range []struct {
		rule  pace.LocalSGD
		steps int32
	}{{pace.LocalSGD{Every: 1}, 4}, {pace.LocalSGD{Every: 2}, 5}, {pace.LocalSGD{Every: 3}, 7},
		{pace.LocalSGD{Staleness: 1, Every: 1}, 4}} {
		rule, steps := c.rule, int(c.steps)
		set := searched(rule, 2, c.steps)
		set.Eager = true
		seen, b := explore(t, set), rule.Bounds(2)
		if b.Cross != 2*rule.Staleness+rule.Every+1 || b.Own != rule.Staleness || b.Dense != 0 {
			t.Errorf("%+v: bounds %+v, want cross 2τ + H + 1, own τ and dense 0", rule, b)
		}
		if seen.Own != b.Own || seen.Cross != min(b.Cross, steps-1) || seen.Inflight != b.Inflight {
			t.Errorf("%+v: largest staleness %+v, want the bounds %+v", rule, seen, b)
		}
	}
}

// Staleness is within the bounds on random walks with faults.
func TestLocalSGDStaysWithinBoundsWithFaults(t *testing.T) {
	walk(t, func(t *rapid.T, _ int) pace.Rule {
		return pace.LocalSGD{Staleness: rapid.IntRange(0, 3).Draw(t, "τ"),
			Every: rapid.IntRange(1, 5).Draw(t, "H")}
	})
}

// The invariants hold in every order of events with one fault.
func TestLocalSGDInvariantsHoldWithOneFault(t *testing.T) {
	if !*long {
		t.Skip("needs -long: searches every order of events with a fault")
	}
	set := searched(pace.LocalSGD{Every: 1}, 1, 2)
	set.Config.Retry, set.Faults = 1, 1
	explore(t, set)
}
