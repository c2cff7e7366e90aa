package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tandem/algo/numeric/table"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// Validate reports the first setting that is out of range, by its field path, and a
// mode setting that the job's mode does not have.
func (j *Job) Validate() error {
	if err := j.ValidateShared(); err != nil {
		return err
	}
	return j.ValidateModeSettings([]string{j.Training.Mode})
}

// ValidateTimed is Validate for a job of which only the time is simulated. It has no bits, so any number of
// ranks suits every mode.
func (j *Job) ValidateTimed() error {
	var ranks *RanksError
	if err := j.ValidateShared(); err != nil && !errors.As(err, &ranks) {
		return err
	}
	return j.ValidateModeSettings([]string{j.Training.Mode})
}

// ValidateShared is Validate for a job that InMode may put into other modes: a mode
// setting that its own mode does not have must be in the range of some other mode.
// ValidateModeSettings checks the rest when the modes are known.
func (j *Job) ValidateShared() error {
	if err := j.validateChoices(); err != nil {
		return err
	}
	if err := j.validateRanges(); err != nil {
		return err
	}
	if err := j.validateElsewhere(); err != nil {
		return err
	}
	switch {
	case j.Training.Groups&(j.Training.Groups-1) != 0:
		return fmt.Errorf("training.groups = %d; want a power of two", j.Training.Groups)
	case j.Training.GlobalBatch < j.Roles.Ranks:
		return fmt.Errorf("training.global-batch = %d leaves some of %d ranks without a sample",
			j.Training.GlobalBatch, j.Roles.Ranks)
	case j.Training.ShuffleWindow > 0 && !j.Training.Shuffle:
		return fmt.Errorf("training.shuffle-window = %d needs shuffle: true", j.Training.ShuffleWindow)
	case j.Rows.Eviction == SecondChance && j.Rows.Capacity == 0 && j.Rows.Memory == 0:
		return fmt.Errorf("rows.eviction = %s needs a limit: set rows.memory or rows.capacity",
			j.Rows.Eviction)
	}
	if err := j.validateAges(); err != nil {
		return err
	}
	if err := j.validateFollow(); err != nil {
		return err
	}
	if err := j.validateDepth(); err != nil {
		return err
	}
	if err := j.validateParts(); err != nil {
		return err
	}
	return j.validateGroups()
}

func (j *Job) validateChoices() error {
	for _, f := range []struct {
		path, value string
		known       []string
	}{
		{"training.mode", j.Training.Mode, Modes()},
		// empty is a default
		{"training.merge", cmp.Or(j.Training.Merge, MergeStep), []string{MergeStep, MergeRank}},
		{"training.scale", j.Training.Scale, []string{ScaleGlobal, ScaleRank}},
		{"wire.precision", string(j.Wire.Precision), WirePrecisions()},
		{"model.precision", j.Model.Precision, DensePrecisions()},
		{"wire.all-reduce", cmp.Or(j.Wire.AllReduce, HostSums), AllReduces()},
		{"wire.local", cmp.Or(j.Wire.Local, SharedMemory), []string{SharedMemory, TCP}},
		{"wire.index", j.Wire.Index, []string{IndexRaw, IndexCompressed}},
		{"rows.eviction", j.Rows.Eviction, []string{RefuseRows, SecondChance}},
		{"rows.precision", j.Rows.Precision, table.Precisions()},
		{"rows.placement", cmp.Or(j.Rows.Placement, RowsOnPSs), RowPlacements()},
	} {
		if !slices.Contains(f.known, f.value) {
			return fmt.Errorf("%s = %s", f.path, Unknown(f.value, f.known))
		}
	}
	if j.Model.Precision == TF32 && !j.Model.Device.CUDA {
		return fmt.Errorf("model.precision = %s needs a GPU: set model.device to cuda, or precision to %s "+
			"or %s", TF32, FP32, BF16)
	}
	switch sums := cmp.Or(j.Wire.AllReduce, HostSums); {
	case sums != HostSums && !j.Model.Device.CUDA:
		return fmt.Errorf("wire.all-reduce = %s needs GPUs: set model.device to cuda, or leave it out", sums)
	case sums != HostSums && !j.KernelsOnGPU():
		return fmt.Errorf("wire.all-reduce = %s: the gradients of a module of PyTorch come to the host, "+
			"which sums them: leave it out", sums)
	case sums != HostSums && j.Roles.RankRecovery:
		return fmt.Errorf("roles.rank-recovery needs wire.all-reduce = %s: the sums of %s end with the "+
			"first rank that dies", HostSums, sums)
	}
	if j.Training.Merge == MergeStep && !j.inStep() {
		return fmt.Errorf("training.merge = step needs mode sync or sequential: %s never waits for other "+
			"ranks' gradients", j.Training.Mode)
	}
	return nil
}

func (j *Job) validateParts() error {
	for _, f := range []struct {
		path string
		spec delay.Spec
	}{{"training.delay", j.Training.Delay}, {"training.delay-dense", j.Training.DelayDense}} {
		if err := f.spec.Validate(); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if j.Training.Mode != Sequential && !f.spec.IsZero() {
			return fmt.Errorf("%s = %s needs mode sequential: the staleness of %s is what its run brings "+
				"about", f.path, f.spec, j.Training.Mode)
		}
	}
	if hot := j.Training.HotRows; hot != nil {
		switch {
		case !(*hot >= 0):
			return fmt.Errorf("training.hot-rows = %v; want a share of the samples, 0 or more", *hot)
		case j.Training.Delay.IsZero():
			return fmt.Errorf("training.hot-rows = %v exempts rows from training.delay, which is none: "+
				"set delay or leave hot-rows out", *hot)
		}
	}
	if j.Training.Mode != Sequential {
		if _, err := j.Rule(); err != nil {
			return fmt.Errorf("training.overlap: %w", err)
		}
	}
	if err := j.validateHotRows(); err != nil {
		return err
	}
	if err := j.validateRowsOnGPU(); err != nil {
		return err
	}
	if !j.Roles.Placement.Named() {
		if _, err := j.Processes(); err != nil {
			return err
		}
	}
	if err := j.Faults.Validate(); err != nil {
		return fmt.Errorf("faults.%w", err)
	}
	if err := j.Slow.Validate(); err != nil {
		return err
	}
	if j.Wire.Retry < 0 || j.Wire.Retry > unit.Minute {
		return fmt.Errorf("wire.retry = %v; want 0 to %v", j.Wire.Retry, unit.Minute)
	}
	if err := j.Model.Spec.Validate(); err != nil {
		return fmt.Errorf("model.%w", err)
	}
	if err := j.validateLabels(); err != nil {
		return err
	}
	if err := j.Model.Optimizer.Validate(); err != nil {
		return fmt.Errorf("model.optimizer.%w", err)
	}
	if err := j.Rows.Optimizer.Validate(); err != nil {
		return fmt.Errorf("rows.optimizer.%w", err)
	}
	return j.validateDims()
}

// HotRowsError is the error of a job with hot rows in a mode that cannot hold them.
type HotRowsError struct{ Mode string }

// Error implements error.
func (e *HotRowsError) Error() string {
	return fmt.Sprintf("rows.hot needs a mode whose ranks reduce dense gradients in every step, because "+
		"those of hot rows join them: use sync or hybrid instead of %s", e.Mode)
}

// validateHotRows returns an error unless the mode can hold hot rows, if there are any.
func (j *Job) validateHotRows() error {
	switch hot := j.Rows.Hot; {
	case !(hot.Share >= 0 && hot.Share <= 1):
		return fmt.Errorf("rows.hot.share = %g; want above 0 and at most 1, or 0 for no hot rows", hot.Share)
	case hot.Auto && hot.Share > 0:
		return fmt.Errorf("rows.hot.auto chooses the share: leave out rows.hot.share = %g, or auto",
			hot.Share)
	case hot.Most > 0 && hot.Share == 0 && !hot.Auto:
		return fmt.Errorf("rows.hot.most = %d needs a share, the least share of the samples that contain a "+
			"hot row: set rows.hot.share or auto", hot.Most)
	case hot.Every > 0 && !hot.Any():
		return fmt.Errorf("rows.hot.every = %d chooses hot rows again, and no row is hot: set "+
			"rows.hot.share, auto or slots", hot.Every)
	case hot.Samples > 0 && !hot.Any():
		return fmt.Errorf("rows.hot.samples = %d counts hot rows, and no row is hot: set rows.hot.share, "+
			"auto or slots, or leave it out", hot.Samples)
	case len(slices.Compact(slices.Sorted(slices.Values(hot.Slots)))) < len(hot.Slots):
		return fmt.Errorf("rows.hot.slots = %q: a name comes twice; leave one of them out", hot.Slots)
	case !j.HasHotRows():
		return nil
	}
	rule, err := j.Rule()
	if err != nil {
		return err
	}
	if rule.Dense().Strategy != pace.Reduced {
		return &HotRowsError{j.Training.Mode}
	}
	if rule.InStep() && !j.MergeByStep() {
		return errors.New("rows.hot needs training.merge = step: an all-reduce sums the gradients of all " +
			"ranks before the optimizer sees them")
	}
	return nil
}
