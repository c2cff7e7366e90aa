package pace_test

import (
	"math"
	"testing"

	"tandem/algo/histogram"
	"tandem/algo/protocol/pace"
)

// Staleness at its bound is no error. One more is an error with the mode, the quantity, the value and the
// bound.
func TestCheckBounds(t *testing.T) {
	// By the comments of SSP: own τ = 2, cross 2τ+s+2 = 7, in flight N(τ+1)−1 = 8,
	// dense (N−1)(2s+1) = 6.
	rule := pace.SSP{AsyncPS: pace.AsyncPS{Staleness: 2, Overlap: pace.PullAfterPush}, Slack: 1}
	const (
		ranks = 3
		fault = ": a fault of the mode's rule or of Tandem"
	)
	for i, c := range []struct {
		bound int
		want  string
	}{
		{2, "own staleness reached 3, and ssp with ranks = 3 promises at most 2"},
		{7, "cross staleness reached 8, and ssp with ranks = 3 promises at most 7"},
		{8, "inflight staleness reached 9, and ssp with ranks = 3 promises at most 8"},
		{6, "dense staleness reached 7, and ssp with ranks = 3 promises at most 6"},
	} {
		var s pace.Staleness
		h := []*histogram.Histogram{&s.Own, &s.Cross, &s.Inflight, &s.Dense}[i]
		h.Add(c.bound)
		if err := pace.CheckBounds(rule, ranks, &s); err != nil {
			t.Errorf("staleness at the bound: %v", err)
		}
		h.Add(c.bound + 1)
		if err := pace.CheckBounds(rule, ranks, &s); err == nil || err.Error() != c.want+fault {
			t.Errorf("error %v, want %s", err, c.want+fault)
		}
	}
}

// The bounds of rules with very large settings are above any staleness of a run.
func TestBoundsDoNotOverflow(t *testing.T) {
	var s pace.Staleness
	for _, h := range []*histogram.Histogram{&s.Own, &s.Cross, &s.Inflight} {
		h.Add(1000)
	}
	const large = 1<<31 - 1
	for _, rule := range []pace.Rule{
		pace.Hybrid{Staleness: large}, pace.AsyncAverage{Staleness: large, Every: 1},
		pace.LocalSGD{Staleness: 1000, Every: large}, pace.LocalSGD{Staleness: large, Every: large},
		pace.GBA{AsyncPS: pace.AsyncPS{Staleness: large}, Batches: large},
		pace.SSP{AsyncPS: pace.AsyncPS{Staleness: large}, Slack: large},
		pace.SSP{AsyncPS: pace.AsyncPS{Staleness: 1000}, Slack: math.MaxInt},
		pace.SSP{AsyncPS: pace.AsyncPS{Staleness: 1000, Overlap: pace.PullEarly}, Slack: large},
	} {
		served := s
		if rule.Dense().DensePSs {
			served.Dense.Add(1000)
		}
		for _, ranks := range []int{2, 1 << 20} {
			if err := pace.CheckBounds(rule, ranks, &served); err != nil {
				t.Errorf("%+v: %v", rule, err)
			}
		}
	}
}
