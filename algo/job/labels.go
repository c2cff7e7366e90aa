package job

import (
	"fmt"

	"tandem/algo/numeric/model"
)

// LabelValues returns what the labels are: Table.LabelValues, or shares if they count clicks.
func (d Data) LabelValues() string {
	switch t := d.Table(); {
	case t == nil:
		return ClassLabels
	case t.Impressions != "":
		return ShareLabels
	default:
		return t.LabelValues
	}
}

// validateLabels returns an error if the network cannot learn the labels of the data.
func (j *Job) validateLabels() error {
	for i, head := range j.Model.Heads {
		if w := head.PositiveWeight; w != 0 && w != 1 && j.Data.LabelValues() != ClassLabels {
			return fmt.Errorf("model.heads[%d].positive-weight = %g needs labels 0 and 1, and these are %s: "+
				"leave it out", i, w, j.Data.LabelValues())
		}
	}
	squared := j.Model.Loss == model.SquaredLoss
	if j.Data.LabelValues() == NumberLabels && !squared {
		return fmt.Errorf("model.loss = %q is for labels from 0 to 1, and these are numbers: set it to %s",
			j.Model.Loss, model.SquaredLoss)
	}
	if squared && j.KernelsOnGPU() {
		return fmt.Errorf("model.device = %v has no squared loss (model.loss): set it to cpu", j.Model.Device)
	}
	if t := j.Data.Table(); t != nil && t.WeightName() != "" && j.KernelsOnGPU() {
		return fmt.Errorf("model.device = %v has no weights of rows (%s): set it to cpu", j.Model.Device,
			t.WeightName())
	}
	return nil
}
