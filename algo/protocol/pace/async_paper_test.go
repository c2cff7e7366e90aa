package pace_test

import (
	"testing"

	"tandem/algo/protocol/pace"
)

// XDL and PaddlePaddle train both parts asynchronously: no rank waits for another, so the staleness across
// ranks has no bound.
func TestAsyncPSHasNoBoundAcrossRanks(t *testing.T) {
	for _, overlap := range []pace.PullOverlap{pace.PullAfterPush, pace.PullEarly} {
		b := pace.AsyncPS{Staleness: 3, Overlap: overlap}.Bounds(4)
		want := pace.Bounds{Own: 3, Cross: pace.Unbounded, Inflight: 15, Dense: pace.Unbounded}
		if b != want {
			t.Errorf("%s: %+v, want %+v", overlap, b, want)
		}
	}
	alone := pace.AsyncPS{Overlap: pace.PullAfterPush}.Bounds(1)
	if alone != (pace.Bounds{}) {
		t.Errorf("bounds of one rank that waits for its own push: %+v, want 0", alone)
	}
}

// Ho and others, NIPS 2013: a worker may be at most s clocks ahead of the slowest worker, and s = 0 is bulk
// synchronous.
func TestSSPBoundsTheLeadOfTheFastest(t *testing.T) {
	for _, c := range []struct {
		staleness, slack, ranks int
		want                    pace.Bounds
	}{
		{0, 0, 2, pace.Bounds{Own: 0, Cross: 2, Inflight: 1, Dense: 1}},
		{0, 1, 2, pace.Bounds{Own: 0, Cross: 3, Inflight: 1, Dense: 3}},
		{9, 3, 4, pace.Bounds{Own: 9, Cross: 23, Inflight: 39, Dense: 21}},
	} {
		rule := pace.SSP{AsyncPS: pace.AsyncPS{Staleness: c.staleness, Overlap: pace.PullAfterPush},
			Slack: c.slack}
		if rule.Lead() != c.slack || rule.Bounds(c.ranks) != c.want {
			t.Errorf("%+v: lead %d, %+v, want %+v", rule, rule.Lead(), rule.Bounds(c.ranks), c.want)
		}
	}
}

// Validate of the asynchronous rules returns an error for every setting out of range.
func TestAsynchronousRulesValidate(t *testing.T) {
	async := pace.AsyncPS{Overlap: pace.PullEarly}
	for _, rule := range []pace.Rule{
		pace.AsyncPS{Overlap: "ds"}, pace.AsyncPS{Staleness: -1, Overlap: pace.PullEarly},
		pace.SSP{AsyncPS: async, Slack: -1}, pace.SSP{Slack: 1},
		pace.AsyncAverage{}, pace.AsyncAverage{Every: 1, Staleness: -1},
	} {
		if rule.Validate() == nil {
			t.Errorf("%s %+v: Validate() = nil, want an error", rule.Name(), rule)
		}
	}
	for _, rule := range []pace.Rule{async, pace.SSP{AsyncPS: async}, pace.AsyncAverage{Every: 1}} {
		if err := rule.Validate(); err != nil {
			t.Errorf("%s %+v: %v", rule.Name(), rule, err)
		}
	}
}
