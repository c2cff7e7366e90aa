package job

import (
	"errors"
	"fmt"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// faultRetry is how long a role waits by default before it asks again, if messages may be lost. It is some
// ten times what an answer takes on one machine, and a fiftieth of the 5 s that a step may take.
const faultRetry = 100 * unit.Millisecond

// RoleConfig returns what the roles of a job agree on, for a network of some layout and a number of steps, of
// which first is the number of the first in the training. The credit window of a PS holds all that a rank may
// have outstanding. Retry is 0, no message may be lost, unless the job sets it or injects faults.
//
// The errors are those of the mode's rule, and a fault or slowness of a role that the mode does not have.
func (j *Job) RoleConfig(layout *model.Layout, first, steps int) (*role.Config, error) {
	rule, err := j.Rule()
	if err != nil {
		return nil, err
	}
	cfg := &role.Config{
		Ranks: int32(j.Roles.Ranks), EmbeddingWorkers: int32(j.Roles.EmbeddingWorkers),
		EmbeddingPSs: int32(j.Roles.EmbeddingPSs),
		Steps:        int32(steps), Rule: rule, Prefetch: int32(j.Window()), EdgeWindow: int32(j.Window()),
		Retry: j.Wire.Retry,
	}
	if !rule.InStep() {
		cfg.WarmUp, cfg.FirstStep = int32(j.Training.StalenessWarmUp), int32(first)
	}
	if cfg.Retry == 0 && j.Faults.Any() {
		cfg.Retry = faultRetry
	}
	if j.Roles.RankRecovery || j.Faults.CrashesRanks() && cfg.RanksAreEqual() {
		cfg.RankRecovery = true
		cfg.Prefetch++ // for the batch that is done and held
	}
	const valueBytes = 4 // dense gradients and parameters travel in fp32
	// Batch-norm statistics travel with the last bucket, and to and from the first dense PS.
	running, groups := valueBytes*unit.Bytes(layout.Running),
		valueBytes*unit.Bytes(j.GroupsPerRank()*layout.Stats)
	for _, b := range layout.Buckets {
		cfg.Buckets = append(cfg.Buckets, valueBytes*unit.Bytes(b.Hi-b.Lo))
	}
	if last := &cfg.Buckets[len(cfg.Buckets)-1]; rule.Dense().Every > 0 {
		*last += running
	} else {
		*last += groups
	}
	if hot := j.HotValues(); hot > 0 {
		cfg.Buckets = append(cfg.Buckets, valueBytes*unit.Bytes(hot))
	}
	if j.SharesRowsOnGPUs() {
		cfg.Buckets = append(cfg.Buckets, 0) // their gradients travel between GPUs, as many as a batch has
	}
	for _, s := range j.DenseShards(layout) {
		shard := valueBytes * unit.Bytes(s.Hi-s.Lo)
		cfg.DensePSs, cfg.Pushes = append(cfg.DensePSs, shard), append(cfg.Pushes, shard)
	}
	if len(cfg.DensePSs) > 0 {
		cfg.DensePSs[0] += running
		cfg.Pushes[0] += groups
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := j.Faults.ValidateRoles(cfg); err != nil {
		return nil, fmt.Errorf("faults.%w", err)
	}
	if err := j.Slow.ValidateRoles(cfg); err != nil {
		return nil, err
	}
	return cfg, nil
}

// CheckProcesses reports what a run in processes does not have.
func (j *Job) CheckProcesses() error {
	if j.Faults.CrashesRanks() {
		return errors.New("faults: a crash of nn-worker works only where all ranks share a process; in " +
			"processes, kill one")
	}
	if j.HasTiers() {
		return fmt.Errorf("%s with rows.hot: hot rows are on GPUs only where all roles are in one process",
			j.GPUSetting())
	}
	if j.SharesRowsOnGPUs() {
		return fmt.Errorf("%s: %d ranks exchange their rows only where all are in one process; in several, "+
			"set roles.ranks to 1", j.GPUSetting(), j.Roles.Ranks)
	}
	return nil
}

// Processes returns the roles of every process, where a run of the job has processes; none for
// sequential training, which has no roles. The error is that of Placement.
func (j *Job) Processes() ([]Process, error) {
	rule, err := j.Rule()
	if err != nil {
		return nil, nil
	}
	cfg := &role.Config{
		Ranks: int32(j.Roles.Ranks), EmbeddingWorkers: int32(j.Roles.EmbeddingWorkers),
		EmbeddingPSs: int32(j.Roles.EmbeddingPSs), Rule: rule,
	}
	if rule.Dense().DensePSs {
		cfg.DensePSs = make([]unit.Bytes, j.Roles.DensePSs)
	}
	all, err := j.Roles.Placement.Processes(cfg)
	if err != nil {
		return nil, fmt.Errorf("roles.placement: %w", err)
	}
	return all, nil
}

// CheckLength reports settings for which steps global batches are too few to learn anything.
func (j *Job) CheckLength(steps int) error {
	rule, err := j.Rule()
	if err != nil {
		return err
	}
	if batches, all := int64(rule.Dense().Batches), int64(steps)*int64(j.Roles.Ranks); batches > all {
		return fmt.Errorf("training.mode-settings: batches = %d, and the run has %d local batches: choose "+
			"fewer, or train longer", batches, all)
	}
	return nil
}
