package job

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
)

// RowSettings are what a slot can have of its own in the place of section rows.
type RowSettings struct {
	Optimizer      opt.RowSpec
	Init           float64
	Precision      string
	Expiry         int
	AdmissionCount int
}

// RowSettings returns the settings of the rows of every class: see batch.Slot. Class 0 has those of section
// rows, and the others those that slots have of their own, in the order of data.slots.
func (j *Job) RowSettings() []RowSettings {
	classes := []RowSettings{j.rowSettings(&SlotSetting{})}
	for i := range j.Data.Slots {
		if own := j.rowSettings(&j.Data.Slots[i]); own.classIn(classes) < 0 {
			classes = append(classes, own)
		}
	}
	return classes
}

// classIn returns the place of settings with the same effect, or −1. What an optimizer ignores makes no
// class.
func (s RowSettings) classIn(classes []RowSettings) int {
	return slices.IndexFunc(classes, func(other RowSettings) bool {
		return s.Optimizer.Effective() == other.Optimizer.Effective() && s.Init == other.Init &&
			s.Precision == other.Precision && s.Expiry == other.Expiry &&
			max(s.AdmissionCount, 1) == max(other.AdmissionCount, 1)
	})
}

// rowSettings returns the settings of the rows of a slot.
func (j *Job) rowSettings(s *SlotSetting) RowSettings {
	own := RowSettings{j.Rows.Optimizer, j.Rows.Init, cmp.Or(s.Precision, j.Rows.Precision), j.Rows.Expiry,
		j.Rows.AdmissionCount}
	if s.Optimizer != nil {
		own.Optimizer = *s.Optimizer
	}
	if s.Init != nil {
		own.Init = *s.Init
	}
	if s.Expiry != nil {
		own.Expiry = *s.Expiry
	}
	if s.AdmissionCount != nil {
		own.AdmissionCount = *s.AdmissionCount
	}
	return own
}

// CheckDims returns an error that names the first slot whose rows have another length, or another class, than
// those of the model, if the job asks for what needs rows of one kind, or the first that takes a maximum, if
// GPUs pool rows.
func (j *Job) CheckDims(slots []batch.Slot) error {
	for _, slot := range slots {
		if j.SlotOnGPU(slot.Name) {
			switch {
			case slot.Weighted:
				return j.errWeightsOnGPU(slot.Name)
			case slot.Pooling == batch.Max:
				return j.errMaxOnGPU(slot.Name)
			}
		}
		setting, instead := "", "leave it out"
		switch {
		case j.HasHotRows():
			setting = "rows.hot"
		case j.KernelsOnGPU():
			setting, instead = "model.device", "set it to cpu"
		default:
			return nil
		}
		switch {
		case slot.Dim != j.Model.Dim():
			return fmt.Errorf("slot %s has rows of %d values, and %s needs rows of the %d values of the "+
				"model: %s, or leave out the dim of the slot", slot.Name, slot.Dim, setting, j.Model.Dim(),
				instead)
		case slot.Class != 0:
			return fmt.Errorf("slot %s has settings of its own for its rows, and %s needs those of section "+
				"rows: %s, or leave out what the slot has of its own", slot.Name, setting,
				instead)
		}
	}
	return nil
}

// errMaxOnGPU returns the error of a slot that takes a maximum, where GPUs pool rows.
func (j *Job) errMaxOnGPU(slot string) error {
	return fmt.Errorf("slot %s takes a maximum, and %s forms sums alone: set the placement of the slot to "+
		"%s, where EWs form maxima, or its pooling to %s, %s or %s", slot, j.gpuSettingOf(slot), RowsOnPSs,
		PoolSum, PoolMean, PoolSqrt)
}

// errWeightsOnGPU returns the error of a slot whose ids have weights, where GPUs pool rows.
func (j *Job) errWeightsOnGPU(slot string) error {
	return fmt.Errorf("the ids of slot %s have weights, and %s adds rows as they are: set the placement of "+
		"the slot to %s, where EWs multiply them, or leave out the weights", slot, j.gpuSettingOf(slot),
		RowsOnPSs)
}

// SlotRows returns the slots with settings whose rows have another length than the model's, or another class
// than 0, with both.
func (j *Job) SlotRows() (slots []batch.Slot) {
	classes := j.RowSettings()
	for i := range j.Data.Slots {
		s := &j.Data.Slots[i]
		own := batch.Slot{Name: s.Slot, Dim: cmp.Or(s.Dim, j.Model.Dim()),
			Class: j.rowSettings(s).classIn(classes)}
		if own.Dim != j.Model.Dim() || own.Class != 0 {
			slots = append(slots, own)
		}
	}
	return slots
}

// validateAges returns an error if rows are to go, or to be counted before they come, beside a setting that
// does not allow it.
func (j *Job) validateAges() error {
	for _, s := range j.RowSettings() {
		setting := ""
		switch {
		case s.Expiry > 0:
			setting = fmt.Sprintf("expiry = %d", s.Expiry)
		case s.AdmissionCount > 1:
			setting = fmt.Sprintf("admission-count = %d", s.AdmissionCount)
		default:
			continue
		}
		switch {
		case s.Expiry > 0 && j.Rows.Eviction == SecondChance:
			return fmt.Errorf("rows: %s does not go with eviction: %s, as rows have one mark for both: "+
				"choose one", setting, SecondChance)
		case s.AdmissionCount > 1 && j.Rows.Admission > 0 && j.Rows.Admission < 1:
			return fmt.Errorf("rows: admission-count = %d does not go with admission = %g, a probability: "+
				"choose one", s.AdmissionCount, j.Rows.Admission)
		case j.Rows.Hot.Any():
			return fmt.Errorf("rows: %s does not go with hot rows, which come before the run and stay: "+
				"leave out rows.hot", setting)
		case j.HasRowsOnGPU():
			return fmt.Errorf("rows: %s does not go with %s, which forgets no row and admits every "+
				"id: leave one out", setting, j.GPUSetting())
		}
	}
	return nil
}

// validateDims returns an error if the job gives a slot rows of a length, or settings of rows, that the
// network or another setting does not allow.
func (j *Job) validateDims() error {
	for i := range j.Data.Slots {
		if s := &j.Data.Slots[i]; s.Pooling == PoolMax && j.SlotOnGPU(s.Slot) {
			return fmt.Errorf("data.slots: %w", j.errMaxOnGPU(s.Slot))
		}
	}
	for _, weighted := range j.Data.WeightedSlots() {
		if j.SlotOnGPU(weighted) {
			return fmt.Errorf("data: %w", j.errWeightsOnGPU(weighted))
		}
	}
	slots := j.SlotRows()
	for _, s := range slots {
		if s.Dim != j.Model.Dim() && !j.Model.AnyDims() {
			return fmt.Errorf("data.slots: slot %s has rows of %d values, and a %s needs rows of %d values "+
				"in every slot: leave out its dim, or use %s or %s", s.Name, s.Dim, j.Model.Kind,
				j.Model.Dim(), model.FeedForward, model.DCNv2)
		}
	}
	if err := j.CheckDims(slots); err != nil {
		return fmt.Errorf("data.slots: %w", err)
	}
	return j.validateSharedRows()
}

// validateSharedRows returns an error if slots of a group, which share rows, do not have one length of rows
// and one class.
func (j *Job) validateSharedRows() error {
	first := map[string]*SlotSetting{} // by group
	for i := range j.Data.Slots {
		own := &j.Data.Slots[i]
		before := first[own.Group]
		if own.Group == "" {
			continue
		}
		if before == nil {
			first[own.Group] = own
			continue
		}
		one, other := j.rowSettings(before), j.rowSettings(own)
		differ := func(what string, a, b any) error {
			return fmt.Errorf("data.slots: slots %s and %s of group %s share rows, and have %s %v and %v: "+
				"give them one", before.Slot, own.Slot, own.Group, what, a, b)
		}
		switch a, b := cmp.Or(before.Dim, j.Model.Dim()), cmp.Or(own.Dim, j.Model.Dim()); {
		case a != b:
			return fmt.Errorf("data.slots: slots %s and %s of group %s have rows of %d and %d values: give "+
				"them one dim", before.Slot, own.Slot, own.Group, a, b)
		case one.Optimizer.Kind != other.Optimizer.Kind:
			return differ("optimizer.kind", one.Optimizer.Kind, other.Optimizer.Kind)
		case one.Optimizer.Rate != other.Optimizer.Rate:
			return differ("optimizer.rate", one.Optimizer.Rate, other.Optimizer.Rate)
		case one.Optimizer.Effective() != other.Optimizer.Effective():
			return fmt.Errorf("data.slots: slots %s and %s of group %s share rows, and have optimizers with "+
				"other settings: give them one", before.Slot, own.Slot, own.Group)
		case one.Init != other.Init:
			return differ("init", one.Init, other.Init)
		case one.Precision != other.Precision:
			return differ("precision", one.Precision, other.Precision)
		case one.Expiry != other.Expiry:
			return differ("expiry", one.Expiry, other.Expiry)
		case one.AdmissionCount != other.AdmissionCount:
			return differ("admission-count", one.AdmissionCount, other.AdmissionCount)
		case j.placementOf(before) != j.placementOf(own):
			return differ("placement", j.placementOf(before), j.placementOf(own))
		}
	}
	return nil
}
