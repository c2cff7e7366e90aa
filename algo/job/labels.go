package job

import "fmt"

// LabelValues returns the Table.LabelValues of the data.
func (d Data) LabelValues() string {
	if t := d.Table(); t != nil {
		return t.LabelValues
	}
	return ClassLabels
}

// validateLabels returns an error if the network cannot learn labels of the kind that the data have.
func (j *Job) validateLabels() error {
	for i, head := range j.Model.Heads {
		if w := head.PositiveWeight; w != 0 && w != 1 && j.Data.LabelValues() != ClassLabels {
			return fmt.Errorf("model.heads[%d].positive-weight = %g needs labels 0 and 1, and these are %s: "+
				"leave it out", i, w, j.Data.LabelValues())
		}
	}
	return nil
}
