package job

import (
	"errors"
	"fmt"
)

// The values of Data.Complete.
const (
	CompleteRenamed  = "renamed"  // a file is complete when it is there
	CompleteFollowed = "followed" // a file is complete when another with a later name is there
)

// Format returns the format of the files: KindCSV or KindParquet for kind follow, else Kind.
func (d *Data) Format() DataKind {
	switch {
	case d.Kind != KindFollow:
		return d.Kind
	case d.Parquet != nil:
		return KindParquet
	}
	return KindCSV
}

// validateFollow checks the files of kind follow.
func (d *Data) validateFollow() error {
	switch {
	case d.Path == "" || IsURL(d.Path):
		return fmt.Errorf("path: %q: kind %q needs a folder of this machine", d.Path, d.Kind)
	case d.Train != "" || d.Test != "" || d.Split != (Split{}):
		return fmt.Errorf("train, test, split: kind %q has no test rows, because every row is predicted "+
			"before it is trained on: leave them out", d.Kind)
	case d.Stream:
		return fmt.Errorf("stream: not with kind %q, which has the rows of one file in memory", d.Kind)
	case d.Cache != "" && d.Cache != CacheOff:
		return fmt.Errorf("cache: %q: not with kind %q, which reads every file once", d.Cache, d.Kind)
	case d.Complete != "" && d.Complete != CompleteRenamed && d.Complete != CompleteFollowed:
		return fmt.Errorf("complete: %q: must be %q or %q", d.Complete, CompleteRenamed, CompleteFollowed)
	}
	return nil
}

// validateFollow reports settings of a job that need all of its rows, or several passes over them.
func (j *Job) validateFollow() error {
	if j.Data.Kind != KindFollow {
		return nil
	}
	switch t := &j.Training; {
	case t.Epochs != 1:
		return fmt.Errorf("training.epochs = %d: rows that arrive are trained on once: want 1", t.Epochs)
	case t.Shuffle:
		return errors.New("training.shuffle: rows that arrive are trained on in their order: set it to false")
	case t.EvaluateEvery.Time > 0:
		return fmt.Errorf("training.evaluate-every = %v: rows that arrive are predicted block by block: "+
			"give a number of steps, or leave it out for one block a file", t.EvaluateEvery)
	case j.Delayed():
		return errors.New("training.delay: late gradients are no part of a model that is saved on the way: " +
			"leave it out")
	case j.Rows.Hot.Any():
		return errors.New("rows.hot: which rows are hot is not known before all data are there: leave it out")
	}
	return nil
}
