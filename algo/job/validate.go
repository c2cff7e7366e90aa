package job

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/algo/numeric/table"
	"tandem/algo/protocol/delay"
	"tandem/algo/unit"
)

// Validate reports the first setting that is out of range, by its field path, and a
// mode setting that the training's mode does not have.
func (t *Job) Validate() error {
	if err := t.ValidateShared(); err != nil {
		return err
	}
	return t.ValidateModeSettings([]string{t.Training.Mode})
}

// ValidateShared is Validate for a training that InMode may put into other modes: a mode
// setting that its own mode does not have must be in the range of some other mode.
// ValidateModeSettings checks the rest when the modes are known.
func (t *Job) ValidateShared() error {
	if err := t.validateChoices(); err != nil {
		return err
	}
	if err := t.validateRanges(); err != nil {
		return err
	}
	if err := t.validateElsewhere(); err != nil {
		return err
	}
	switch {
	case t.Training.Groups&(t.Training.Groups-1) != 0:
		return fmt.Errorf("training.groups = %d; want a power of two", t.Training.Groups)
	case t.Training.GlobalBatch < t.Roles.Ranks:
		return fmt.Errorf("training.global-batch = %d leaves some of %d ranks without a sample", t.Training.GlobalBatch, t.Roles.Ranks)
	case t.Training.ShuffleWindow > 0 && !t.Training.Shuffle:
		return fmt.Errorf("training.shuffle-window = %d needs shuffle: true", t.Training.ShuffleWindow)
	case t.Rows.Eviction == SecondChance && t.Rows.Capacity == 0 && t.Rows.Memory == 0:
		return fmt.Errorf("rows.eviction = %s needs a limit: set rows.memory or rows.capacity", t.Rows.Eviction)
	}
	if err := t.validateGroups(); err != nil {
		return err
	}
	if err := t.validateDepth(); err != nil {
		return err
	}
	return t.validateParts()
}

func (t *Job) validateChoices() error {
	for _, f := range []struct {
		path, value string
		known       []string
	}{
		{"training.mode", t.Training.Mode, Modes()},
		{"training.merge", cmp.Or(t.Training.Merge, MergeStep), []string{MergeStep, MergeRank}}, // empty is a default
		{"training.scale", t.Training.Scale, []string{ScaleGlobal, ScaleRank}},
		{"wire.precision", string(t.Wire.Precision), WirePrecisions()},
		{"model.precision", t.Model.Precision, DensePrecisions()},
		{"wire.index", t.Wire.Index, []string{IndexRaw, IndexCompressed}},
		{"rows.eviction", t.Rows.Eviction, []string{RefuseRows, SecondChance}},
		{"rows.precision", t.Rows.Precision, table.Precisions()},
	} {
		if !slices.Contains(f.known, f.value) {
			return fmt.Errorf("%s = %s", f.path, Unknown(f.value, f.known))
		}
	}
	if t.Training.Merge == MergeStep && !t.inStep() {
		return fmt.Errorf("training.merge = step needs mode sync or sequential: %s never waits for other ranks' gradients", t.Training.Mode)
	}
	return nil
}

func (t *Job) validateParts() error {
	for _, f := range []struct {
		path string
		spec delay.Spec
	}{{"training.delay", t.Training.Delay}, {"training.delay-dense", t.Training.DelayDense}} {
		if err := f.spec.Validate(); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if t.Training.Mode != Sequential && !f.spec.IsZero() {
			return fmt.Errorf("%s = %s needs mode sequential: the staleness of %s is what its run brings about", f.path, f.spec, t.Training.Mode)
		}
	}
	if t.Training.Mode != Sequential {
		if _, err := t.Rule(); err != nil {
			return fmt.Errorf("training.overlap: %w", err)
		}
	}
	if !t.Roles.Placement.Named() {
		if _, err := t.Processes(); err != nil {
			return err
		}
	}
	if err := t.Faults.Validate(); err != nil {
		return fmt.Errorf("faults.%w", err)
	}
	if t.Wire.Retry < 0 || t.Wire.Retry > unit.Minute {
		return fmt.Errorf("wire.retry = %v; want 0 to %v", t.Wire.Retry, unit.Minute)
	}
	if err := t.Model.Spec.Validate(); err != nil {
		return fmt.Errorf("model.%w", err)
	}
	if err := t.Model.Optimizer.Validate(); err != nil {
		return fmt.Errorf("model.optimizer.%w", err)
	}
	if err := t.Rows.Optimizer.Validate(); err != nil {
		return fmt.Errorf("rows.optimizer.%w", err)
	}
	return nil
}
