package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tandem/algo/numeric/table"
	"tandem/algo/protocol/delay"
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
	} {
		if !slices.Contains(f.known, f.value) {
			return fmt.Errorf("%s = %s", f.path, Unknown(f.value, f.known))
		}
	}
	if j.Model.Precision == TF32 && !j.Model.Device.CUDA {
		return fmt.Errorf("model.precision = %s needs a GPU: set model.device to cuda, or precision to %s "+
			"or %s", TF32, FP32, BF16)
	}
	if sums := cmp.Or(j.Wire.AllReduce, HostSums); sums != HostSums && !j.Model.Device.CUDA {
		return fmt.Errorf("wire.all-reduce = %s needs GPUs: set model.device to cuda, or leave it out", sums)
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
	if !j.Roles.Placement.Named() {
		if _, err := j.Processes(); err != nil {
			return err
		}
	}
	if err := j.Faults.Validate(); err != nil {
		return fmt.Errorf("faults.%w", err)
	}
	if j.Wire.Retry < 0 || j.Wire.Retry > unit.Minute {
		return fmt.Errorf("wire.retry = %v; want 0 to %v", j.Wire.Retry, unit.Minute)
	}
	if err := j.Model.Spec.Validate(); err != nil {
		return fmt.Errorf("model.%w", err)
	}
	if err := j.Model.Optimizer.Validate(); err != nil {
		return fmt.Errorf("model.optimizer.%w", err)
	}
	if err := j.Rows.Optimizer.Validate(); err != nil {
		return fmt.Errorf("rows.optimizer.%w", err)
	}
	return nil
}
