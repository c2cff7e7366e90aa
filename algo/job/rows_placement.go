package job

import (
	"errors"
	"fmt"

	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/pace"
)

// Where embedding rows are.
const (
	RowsOnPSs = "ps"  // on embedding PSs, in the memory of hosts; the default
	RowsOnGPU = "gpu" // in the memory of the GPUs of the ranks
)

// RowPlacements lists the places of embedding rows.
func RowPlacements() []string { return []string{RowsOnPSs, RowsOnGPU} }

// HasRowsOnGPU reports whether the ranks hold all rows on their GPUs. Sequential training has no ranks.
func (j *Job) HasRowsOnGPU() bool {
	return j.Rows.Placement == RowsOnGPU && j.Training.Mode != Sequential
}

// SharesRowsOnGPUs reports whether several ranks hold the rows together, each on its GPU.
func (j *Job) SharesRowsOnGPUs() bool { return j.HasRowsOnGPU() && j.Roles.Ranks > 1 }

// RowsConfig describes the rows that each rank has on its GPU, without the slots of the data.
func (j *Job) RowsConfig() *model.RowsConfig {
	return &model.RowsConfig{Dim: j.Model.Dim(), Optimizer: j.Rows.Optimizer, Seed: j.Training.Seed,
		InitBound: float32(j.Rows.Init), Capacity: j.Rows.Capacity, Memory: j.Rows.Memory}
}

// validateRowsOnGPU returns an error if a setting does not suit rows on a GPU, where they are there.
func (j *Job) validateRowsOnGPU() error {
	if !j.HasRowsOnGPU() {
		return nil
	}
	rule, err := j.Rule()
	if err != nil {
		return err
	}
	const gpu = "rows.placement = " + RowsOnGPU
	switch rows := &j.Rows; {
	case rule.Dense().Strategy != pace.Reduced:
		return fmt.Errorf(gpu+" needs a mode whose rank updates rows and network in every step: use sync or "+
			"hybrid instead of %s", j.Training.Mode)
	case !j.Model.Device.CUDA:
		return errors.New(gpu + " needs a GPU that trains: set model.device to cuda")
	case j.Roles.RankRecovery:
		return errors.New(gpu + " loses rows with a rank: leave out roles.rank-recovery, and save the " +
			"model on the way")
	case j.Faults.CrashesRanks():
		return errors.New(gpu + " loses rows with a rank: leave nn-worker out of faults.crashes")
	case rows.Capacity == 0 && rows.Memory == 0:
		return errors.New(gpu + " takes its memory before training: set rows.capacity to the number of " +
			"rows, or rows.memory")
	case rows.Precision != table.FP32.String():
		return fmt.Errorf(gpu+" keeps rows in fp32: set rows.precision = %s to fp32", rows.Precision)
	case rows.Admission != 0 && rows.Admission != 1:
		return fmt.Errorf(gpu+" admits every id: leave out rows.admission = %v", rows.Admission)
	case rows.Eviction != RefuseRows:
		return fmt.Errorf(gpu+" evicts no row: set rows.eviction = %s to %s", rows.Eviction, RefuseRows)
	case rows.Optimizer.Kind == opt.FTRL:
		return fmt.Errorf(gpu+" has no optimizer %s: choose %s, %s, %s or %s", opt.FTRL, opt.SGD,
			opt.Adagrad, opt.RowwiseAdagrad, opt.Adam)
	case rows.Hot.Any():
		return errors.New(gpu + " keeps every row on the rank, as hot rows are: leave out rows.hot")
	}
	return nil
}
