package job

import (
	"cmp"
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// CheckDims returns an error that names the first slot whose rows have another length than those of the
// model, if the job asks for what needs rows of one length.
func (j *Job) CheckDims(slots []batch.Slot) error {
	for _, slot := range slots {
		if slot.Dim == j.Model.Dim() {
			continue
		}
		setting, instead := "", "leave it out"
		switch {
		case j.Rows.Eviction == SecondChance:
			setting = "rows.eviction"
		case j.Rows.Capacity > 0:
			setting = "rows.capacity"
		case j.Rows.Memory > 0:
			setting = "rows.memory"
		case j.HasHotRows():
			setting = "rows.hot"
		case j.Model.Device.CUDA:
			setting, instead = "model.device", "set it to cpu"
		default:
			continue
		}
		return fmt.Errorf("slot %s has rows of %d values, and %s needs rows of the %d values of the model: "+
			"%s, or leave out the dim of the slot", slot.Name, slot.Dim, setting, j.Model.Dim(), instead)
	}
	return nil
}

// SlotDims returns the slots with settings that have rows of another length than the model's, with these
// lengths.
func (j *Job) SlotDims() (slots []batch.Slot) {
	for _, s := range j.Data.Slots {
		if s.Dim != 0 && s.Dim != j.Model.Dim() {
			slots = append(slots, batch.Slot{Name: s.Slot, Dim: s.Dim})
		}
	}
	return slots
}

// validateDims returns an error if the job gives a slot rows of a length that the network or another setting
// does not allow.
func (j *Job) validateDims() error {
	slots := j.SlotDims()
	if len(slots) > 0 && !j.Model.AnyDims() {
		return fmt.Errorf("data.slots: slot %s has rows of %d values, and a %s needs rows of %d values in "+
			"every slot: leave out its dim, or use %s or %s", slots[0].Name, slots[0].Dim, j.Model.Kind,
			j.Model.Dim(), model.FeedForward, model.DCNv2)
	}
	if err := j.CheckDims(slots); err != nil {
		return fmt.Errorf("data.slots: %w", err)
	}
	return j.validateGroupDims()
}

// validateGroupDims returns an error if slots of a group, which share rows, do not have one length of rows.
func (j *Job) validateGroupDims() error {
	first := map[string]batch.Slot{} // by group
	for _, s := range j.Data.Slots {
		own := batch.Slot{Name: s.Slot, Dim: cmp.Or(s.Dim, j.Model.Dim())}
		before, known := first[s.Group]
		switch {
		case s.Group == "":
		case !known:
			first[s.Group] = own
		case before.Dim != own.Dim:
			return fmt.Errorf("data.slots: slots %s and %s of group %s have rows of %d and %d values: give "+
				"them one dim", before.Name, own.Name, s.Group, before.Dim, own.Dim)
		}
	}
	return nil
}
