package pace

import "fmt"

// Sync is fully synchronous training: the lookups of step k+1 see every put of step k on every PS. The values
// have the same bits as those of sequential training, for every Overlap.
type Sync struct {
	Overlap SyncOverlap
}

// SyncOverlap is the work that sync overlaps. It does not change any value.
type SyncOverlap string

// The values of SyncOverlap.
const (
	OverlapNone  SyncOverlap = "none"   // GE, FC, BC, DS, PEG one after the other
	OverlapIDs   SyncOverlap = "ids"    // the ids of the next step travel early and wait at the PSs
	OverlapIDsDS SyncOverlap = "ids+ds" // also, buckets of dense gradients are reduced during BC
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

// MayIssue implements Rule. If ids overlap, one earlier batch may be outstanding, because the PSs hold the
// lookup back.
func (s Sync) MayIssue(outstanding int) bool { return outstanding <= s.ahead() }

func (s Sync) ahead() int {
	if s.Overlap == OverlapNone {
		return 0
	}
	return 1
}

// EveryPS implements Rule. A PS closes a step when it has a put from every rank, so ranks without rows on the
// PS send empty puts.
func (Sync) EveryPS() bool { return true }

// InStep implements Rule.
func (Sync) InStep() bool { return true }

// Exact implements Rule.
func (Sync) Exact() bool { return true }

// Dense implements Rule.
func (Sync) Dense() DenseSync { return DenseSync{Strategy: Reduced} }

// Lead implements Rule. The all-reduce keeps ranks in lock step without clocks.
func (Sync) Lead() int { return Unbounded }

// OverlapSync implements Rule.
func (s Sync) OverlapSync() bool { return s.Overlap == OverlapIDsDS }

// Bounds implements Rule. Reads miss no update.
func (s Sync) Bounds(ranks int) Bounds {
	return Bounds{Own: 0, Cross: 0, Inflight: ranks*(s.ahead()+1) - 1}
}
