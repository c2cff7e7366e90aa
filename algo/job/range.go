package job

import (
	"fmt"
	"math"
	"strconv"

	"tandem/algo/numeric/table"
	"tandem/algo/protocol/role"
)

// The largest values of settings. Memory, time or 32-bit numbers grow with what they limit.
const (
	GlobalBatchMax = 1 << 30           // samples
	EpochsMax      = 1_000_000         // passes
	GroupsMax      = 1 << 16           // groups
	RolesMax       = role.InstancesMax // ranks, embedding workers, embedding PSs, dense PSs: of each
	PrefetchMax    = 1 << 16           // batches; of staleness: one less
	RowsMax        = math.MaxInt32     // rows.capacity, shuffle-window
	RowMemoryMax   = int64(1) << 50    // bytes: 1 PiB
	RowInitMax     = 1e6               // bound of initial values
	fp16Most       = 65504             // largest number of half precision
	StepsMax       = 1 << 30           // steps of staleness-warm-up and rows.hot.every
)

// validateRanges reports the first number that is out of range, with key, value and range.
func (j *Job) validateRanges() error {
	staleness := 0
	if j.Training.Staleness != nil {
		staleness = *j.Training.Staleness
	}
	for _, f := range []struct {
		path           string
		v, least, most int64
		note           string
	}{
		{"training.global-batch", int64(j.Training.GlobalBatch), 1, GlobalBatchMax, ""},
		{"training.epochs", int64(j.Training.Epochs), 1, EpochsMax, ""},
		{"training.groups", int64(j.Training.Groups), 1, GroupsMax, ""},
		{"roles.ranks", int64(j.Roles.Ranks), 1, RolesMax, ""},
		{"roles.embedding-workers", int64(j.Roles.EmbeddingWorkers), 1, RolesMax, ""},
		{"roles.embedding-ps", int64(j.Roles.EmbeddingPSs), 1, RolesMax, ""},
		{"roles.dense-ps", int64(j.Roles.DensePSs), 1, RolesMax, ""},
		{"training.staleness", int64(staleness), 0, PrefetchMax - 1, ", or null"},
		{"training.staleness-warm-up", int64(j.Training.StalenessWarmUp), 0, StepsMax,
			" steps; 0 is none"},
		{"training.prefetch", int64(j.Training.Prefetch), 0, PrefetchMax, "; 0 is one more than staleness"},
		{"training.shuffle-window", int64(j.Training.ShuffleWindow), 0, RowsMax, "; 0 is all rows"},
		{"rows.capacity", int64(j.Rows.Capacity), 0, RowsMax, "; 0 is no limit"},
		{"rows.expiry", int64(j.Rows.Expiry), 0, RowsMax, " steps; 0 is never"},
		{"rows.admission-count", int64(j.Rows.AdmissionCount), 0, table.AdmissionCountMax,
			" steps; 0 and 1 are at once"},
		{"rows.admission-candidates", int64(j.Rows.AdmissionCandidates), 0, RowsMax,
			"; 0 is " + strconv.Itoa(table.CandidatesDefault)},
		{"rows.hot.most", int64(j.Rows.Hot.Most), 0, RowsMax, "; 0 is no limit"},
		{"rows.hot.samples", int64(j.Rows.Hot.Samples), 0, RowsMax, "; 0 is a million"},
		{"rows.hot.every", int64(j.Rows.Hot.Every), 0, StepsMax, " steps; 0 is never"},
		{"rows.memory", int64(j.Rows.Memory), 0, RowMemoryMax, " bytes; 0 is no limit"},
	} {
		if f.v < f.least || f.v > f.most {
			return fmt.Errorf("%s = %d; want %d to %d%s", f.path, f.v, f.least, f.most, f.note)
		}
	}
	switch {
	case !(j.Rows.Init >= 0 && j.Rows.Init <= RowInitMax):
		return fmt.Errorf("rows.init = %g; want 0 to %g", j.Rows.Init, RowInitMax)
	case !(j.Rows.Admission >= 0 && j.Rows.Admission <= 1):
		return fmt.Errorf("rows.admission = %g; want above 0 and at most 1, or 0 for 1", j.Rows.Admission)
	}
	for _, rows := range j.RowSettings() {
		if rows.Precision == table.FP16.String() && rows.Init > fp16Most {
			return fmt.Errorf("init = %g of rows in fp16, whose largest number is %d: lower rows.init or "+
				"the init of the slot, or choose precision bf16 or fp32", rows.Init, fp16Most)
		}
	}
	return nil
}
