package pace_test

import (
	"testing"

	"tandem/algo/protocol/pace"
)

func syncs() []pace.Sync {
	return []pace.Sync{{Overlap: pace.OverlapNone}, {Overlap: pace.OverlapIDs}, {Overlap: pace.OverlapIDsDS}}
}

// With every overlap, every PS takes part in every step and works step by step.
func TestSyncPSsWorkInStep(t *testing.T) {
	for _, rule := range syncs() {
		if !rule.InStep() || !rule.EveryPS() {
			t.Errorf("%+v: in step %t, every PS %t; want true, true", rule, rule.InStep(), rule.EveryPS())
		}
	}
}

// Without overlap a rank requests a batch when the one before is done. If ids overlap, the ids of a batch
// travel one step early, but not two.
func TestSyncIDsTravelOneStepEarly(t *testing.T) {
	for _, c := range []struct {
		overlap          pace.SyncOverlap
		one, two, syncDS bool
	}{
		{pace.OverlapNone, false, false, false},
		{pace.OverlapIDs, true, false, false},
		{pace.OverlapIDsDS, true, false, true},
	} {
		rule := pace.Sync{Overlap: c.overlap}
		if !rule.MayIssue(0) || rule.MayIssue(1) != c.one || rule.MayIssue(2) != c.two {
			t.Errorf("%s: may issue with 0, 1, 2 outstanding: %t, %t, %t; want true, %t, %t",
				c.overlap, rule.MayIssue(0), rule.MayIssue(1), rule.MayIssue(2), c.one, c.two)
		}
		if rule.OverlapSync() != c.syncDS {
			t.Errorf("%s: DS overlaps BC = %t, want %t", c.overlap, !c.syncDS, c.syncDS)
		}
	}
}

// A read of step k comes after the close of step k−1, which applies the puts of all ranks, so it misses
// nothing. Apart from the reader's batch, one batch of each other rank is outstanding, and if ids overlap one
// more of every rank.
func TestSyncBounds(t *testing.T) {
	for _, c := range []struct {
		overlap  pace.SyncOverlap
		ranks    int
		inflight int
	}{
		{pace.OverlapNone, 1, 0},
		{pace.OverlapNone, 8, 7},
		{pace.OverlapIDs, 1, 1},
		{pace.OverlapIDs, 8, 15},
		{pace.OverlapIDsDS, 8, 15},
	} {
		got := pace.Sync{Overlap: c.overlap}.Bounds(c.ranks)
		if want := (pace.Bounds{Inflight: c.inflight}); got != want {
			t.Errorf("%s, %d ranks: %+v, want %+v", c.overlap, c.ranks, got, want)
		}
	}
}

func TestSyncValidate(t *testing.T) {
	for _, rule := range syncs() {
		checkError(t, rule, rule.Validate(), "")
	}
	for _, overlap := range []pace.SyncOverlap{"", "ds", "all"} {
		rule := pace.Sync{Overlap: overlap}
		checkError(t, rule, rule.Validate(), "want none, ids or ids+ds")
	}
}

func TestNames(t *testing.T) {
	for want, rule := range map[string]pace.Rule{"sync": pace.Sync{}, "hybrid": pace.Hybrid{}} {
		if rule.Name() != want {
			t.Errorf("name %q, want %q", rule.Name(), want)
		}
	}
}
