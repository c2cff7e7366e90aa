package pace_test

import (
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/pace"
)

// Chen and others, 2016: training with backup workers is synchronous. In every order of events no read misses
// a gradient that counts, and every step closes, independent of the ranks that are late.
func TestBackupWorkersMissNothingThatCounts(t *testing.T) {
	for _, c := range []struct {
		ranks, steps int32
		waitFor      int
		long         bool
	}{{2, 2, 1, false}, {2, 2, 2, false}, {3, 1, 1, false}, {3, 1, 2, false}, {2, 3, 1, true}} {
		if c.long && !*long {
			continue
		}
		rule := pace.BackupWorkers{WaitFor: c.waitFor, Overlap: pace.OverlapIDs}
		set := searched(rule, c.ranks, c.steps)
		set.Eager = true
		seen, b := explore(t, set), rule.Bounds(int(c.ranks))
		if seen.Own != 0 || seen.Cross != 0 || seen.Inflight > b.Inflight {
			t.Errorf("%d ranks, wait for %d: largest staleness %+v, bounds %+v", c.ranks, c.waitFor, seen, b)
		}
	}
}

func TestBackupWorkersStayWithinBoundsWithFaults(t *testing.T) {
	walk(t, func(t *rapid.T, ranks int) pace.Rule {
		return pace.BackupWorkers{
			WaitFor: rapid.IntRange(1, ranks).Draw(t, "K"),
			Overlap: drawOverlap(t, pace.OverlapNone, pace.OverlapIDs),
		}
	})
}
