package pace_test

import (
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/pace"
)

// Su and others, NeurIPS 2022: local batch i, in the order of the data loader, has token ⌊i/M⌋, the global
// step to which it would belong in synchronous training.
func TestGBATokenIsTheGlobalStepOfSynchronousTraining(t *testing.T) {
	for _, c := range []struct {
		batches    int
		ranks      int32
		rank, step int32
		want       int64
	}{
		{4, 4, 3, 7, 7}, {4, 4, 0, 8, 8}, // M = N: the step
		{2, 4, 1, 0, 0}, {2, 4, 2, 0, 1}, {2, 4, 3, 5, 11},
		{8, 4, 3, 1, 0}, {8, 4, 0, 2, 1},
		{3, 2, 0, 1, 0}, {3, 2, 1, 1, 1},
	} {
		if got := (pace.GBA{Batches: c.batches}).Token(c.ranks, c.rank, c.step); got != c.want {
			t.Errorf("M = %d, rank %d of %d, step %d: token %d, want %d", c.batches, c.rank, c.ranks, c.step,
				got, c.want)
		}
	}
}

// A gradient whose token is more than ι behind the global step does not count; every other gradient counts.
func TestGBADropsGradientsBeyondTheTolerance(t *testing.T) {
	rule := pace.GBA{Batches: 1, Tolerance: 3}
	for behind := range int64(8) {
		if got := rule.Counts(10, 10+behind); got != (behind <= 3) {
			t.Errorf("token %d behind: Counts() = %t, want %t", behind, got, behind <= 3)
		}
	}
	if !rule.Counts(10, 4) {
		t.Error("a gradient with a token ahead of the global step does not count, want it to count")
	}
}

// In every order of events of 2 ranks, reads miss at most τ + M − 1 batches of their own rank, and some read
// misses that number. Every push is applied or dropped.
func TestGBAOwnStalenessReachesItsBound(t *testing.T) {
	for _, batches := range []int{1, 2, 3} {
		rule := pace.GBA{AsyncPS: pace.AsyncPS{Overlap: pace.PullAfterPush}, Batches: batches, Tolerance: 1}
		set := searched(rule, 2, 3)
		set.Eager = true
		seen, b := explore(t, set), rule.Bounds(2)
		if b.Own != batches-1 || b.Cross != pace.Unbounded {
			t.Errorf("M = %d: bounds %+v, want own %d and no bound on cross", batches, b, batches-1)
		}
		if seen.Own != min(b.Own, 2) || seen.Inflight != b.Inflight || seen.Cross != 2 {
			t.Errorf("M = %d: largest staleness %+v, want the bounds %+v", batches, seen, b)
		}
	}
}

func TestGBAStaysWithinBoundsWithFaults(t *testing.T) {
	walk(t, func(t *rapid.T, ranks int) pace.Rule {
		return pace.GBA{
			AsyncPS: pace.AsyncPS{
				Staleness: rapid.IntRange(0, 3).Draw(t, "τ"),
				Overlap:   drawOverlap(t, pace.PullAfterPush, pace.PullEarly),
			},
			Batches: rapid.IntRange(1, 2*ranks).Draw(t, "M"), Tolerance: rapid.IntRange(0, 2).Draw(t, "ι"),
		}
	})
}
