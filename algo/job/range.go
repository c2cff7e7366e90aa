package job

import (
	"fmt"
	"math"

	"tandem/algo/protocol/role"
)

// The largest values of settings. Memory, time or 32-bit numbers grow with what they limit.
const (
	GlobalBatchMax = 1 << 30           // samples
	EpochsMax      = 1_000_000         // passes
	GroupsMax      = 1 << 16           // groups
	RolesMax       = role.InstancesMax // ranks, embedding workers, embedding PSs, dense PSs: of each
	PrefetchMax    = 1 << 16           // batches; of staleness: one less
	RowsMax        = math.MaxInt32     // row-capacity, shuffle-window
	RowMemoryMax   = int64(1) << 50    // bytes: 1 PiB
	RowInitMax     = 1e6               // bound of initial values
)

// validateRanges reports the first number that is out of range, with key, value and range.
func (t *Training) validateRanges() error {
	staleness := 0
	if t.Staleness != nil {
		staleness = *t.Staleness
	}
	for _, f := range []struct {
		path           string
		v, least, most int64
		note           string
	}{
		{"global-batch", int64(t.GlobalBatch), 1, GlobalBatchMax, ""},
		{"epochs", int64(t.Epochs), 1, EpochsMax, ""},
		{"groups", int64(t.Groups), 1, GroupsMax, ""},
		{"ranks", int64(t.Ranks), 1, RolesMax, ""},
		{"embedding-workers", int64(t.EmbeddingWorkers), 1, RolesMax, ""},
		{"parameter-servers", int64(t.ParameterServers), 1, RolesMax, ""},
		{"dense-servers", int64(t.DenseServers), 1, RolesMax, ""},
		{"staleness", int64(staleness), 0, PrefetchMax - 1, ", or null"},
		{"prefetch", int64(t.Prefetch), 0, PrefetchMax, "; 0 is one more than staleness"},
		{"shuffle-window", int64(t.ShuffleWindow), 0, RowsMax, "; 0 is all rows"},
		{"row-capacity", int64(t.RowCapacity), 0, RowsMax, "; 0 is no limit"},
		{"row-memory", int64(t.RowMemory), 0, RowMemoryMax, " bytes; 0 is no limit"},
	} {
		if f.v < f.least || f.v > f.most {
			return fmt.Errorf("%s = %d; want %d to %d%s", f.path, f.v, f.least, f.most, f.note)
		}
	}
	switch {
	case !(t.RowInit >= 0 && t.RowInit <= RowInitMax):
		return fmt.Errorf("row-init = %g; want 0 to %g", t.RowInit, RowInitMax)
	case !(t.RowAdmission >= 0 && t.RowAdmission <= 1):
		return fmt.Errorf("row-admission = %g; want above 0 and at most 1, or 0 for 1", t.RowAdmission)
	}
	return nil
}
