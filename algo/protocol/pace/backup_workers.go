package pace

import "fmt"

// BackupWorkers is synchronous training that does not wait for the slowest ranks (Chen and others, 2016). A
// step closes with the gradients of the first WaitFor ranks that have computed theirs, and the mean is over
// these. The gradients of the other ranks, for rows and for the dense network, are dropped. A rank that is
// too late skips to the step in progress. Everything else is as in Sync. Which ranks are first depends on
// time, so the values are those of sequential training only if WaitFor is the number of ranks.
type BackupWorkers struct {
	WaitFor int // K ≥ 1
	Overlap SyncOverlap
}

var backupWorkersMode = Mode{
	Name: "backup-workers", Overlaps: []string{"none", "ids"},
	Settings: []Setting{{
		Name: "wait-for", Default: Ranks(-1), Min: Fixed(1), Max: Ranks(0),
		Doc: "ranks whose gradients make a step",
	}},
	New: func(s Settings) Rule { return BackupWorkers{s.Values["wait-for"], SyncOverlap(s.Overlap)} },
}

// FirstRanks reduces the gradients of the first ranks of every step.
const FirstRanks Strategy = "first-ranks"

// Name implements Rule.
func (BackupWorkers) Name() string { return "backup-workers" }

// Validate implements Rule.
func (b BackupWorkers) Validate() error {
	if b.WaitFor < 1 {
		return fmt.Errorf("pace: backup-workers with wait-for = %d; want at least 1", b.WaitFor)
	}
	if b.Overlap != OverlapNone && b.Overlap != OverlapIDs {
		return fmt.Errorf("pace: backup-workers cannot overlap %q; want none or ids", string(b.Overlap))
	}
	return nil
}

// MayIssue implements Rule.
func (b BackupWorkers) MayIssue(outstanding int) bool {
	return Sync{Overlap: b.Overlap}.MayIssue(outstanding)
}

// EveryPS implements Rule.
func (BackupWorkers) EveryPS() bool { return true }

// InStep implements Rule.
func (BackupWorkers) InStep() bool { return true }

// Exact implements Rule.
func (BackupWorkers) Exact() bool { return false }

// Dense implements Rule. A late rank still reads the parameters of its step after other ranks have updated
// theirs, so every rank has its own replica.
func (b BackupWorkers) Dense() DenseSync {
	return DenseSync{Strategy: FirstRanks, OwnReplicas: true, Coordinator: true, Quorum: int32(b.WaitFor)}
}

// OverlapSync implements Rule. Whether gradients count is decided after they are complete, so DS cannot
// overlap BC.
func (BackupWorkers) OverlapSync() bool { return false }

// Lead implements Rule.
func (BackupWorkers) Lead() int { return Unbounded }

// Bounds implements Rule. A read misses no gradient that counts.
func (b BackupWorkers) Bounds(ranks int) Bounds { return Sync{Overlap: b.Overlap}.Bounds(ranks) }
