package job

import (
	"fmt"

	"tandem/algo/numeric/batch"
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
		return fmt.Errorf("slot %s has rows of %d values, and %s needs rows of the %d values of the model: %s, "+
			"or the dim of the slot", slot.Name, slot.Dim, setting, j.Model.Dim(), instead)
	}
	return nil
}
