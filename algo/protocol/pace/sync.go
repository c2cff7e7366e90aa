package pace

import "fmt"

// Sync is fully synchronous training: the lookups of step k+1 see every put of
// step k, on every PS. Whatever it overlaps, the values are those of
// sequential training, bit for bit.
type Sync struct {
	Overlap SyncOverlap
}

// SyncOverlap says what sync training may do early. None of it changes a value.
type SyncOverlap string

// What sync may overlap.
const (
	OverlapNone  SyncOverlap = "none"   // GE, FC, BC, DS, PEG one after the other
	OverlapIDs   SyncOverlap = "ids"    // ids of the next step travel early and wait at the PSs
	OverlapIDsDS SyncOverlap = "ids+ds" // and buckets of dense gradients are reduced during BC
)

var syncMode = Mode{
	Name: "sync", Overlaps: []string{"none", "ids", "ids+ds"},
	New: func(s Settings) Rule { return Sync{SyncOverlap(s.Overlap)} },
}

// Name implements Rule.
func (Sync) Name() string { return "sync" }

// Validate implements Rule.
func (s Sync) Validate() error {
	switch s.Overlap {
	case OverlapNone, OverlapIDs, OverlapIDsDS:
		return nil
	}
	return fmt.Errorf("pace: sync cannot overlap %q; want none, ids or ids+ds", string(s.Overlap))
}

// MayIssue implements Rule: with ids overlapped one earlier batch may be
// outstanding, because the PSs hold the lookup back anyway.
func (s Sync) MayIssue(outstanding int) bool { return outstanding <= s.ahead() }

func (s Sync) ahead() int {
	if s.Overlap == OverlapNone {
		return 0
	}
	return 1
}

// EveryPS implements Rule: a PS can only know that a step is complete if
// every rank tells it, with an empty put if need be.
func (Sync) EveryPS() bool { return true }

// InStep implements Rule.
func (Sync) InStep() bool { return true }

// Exact implements Rule.
func (Sync) Exact() bool { return true }

// Dense implements Rule.
func (Sync) Dense() DenseSync { return DenseSync{Strategy: Reduced} }

// Lead implements Rule: the all-reduce keeps ranks in lock step.
func (Sync) Lead() int { return Unbounded }

// OverlapSync implements Rule.
func (s Sync) OverlapSync() bool { return s.Overlap == OverlapIDsDS }

// Bounds implements Rule: nothing is missed.
func (s Sync) Bounds(ranks int) Bounds {
	return Bounds{Own: 0, Cross: 0, Inflight: ranks*(s.ahead()+1) - 1}
}
