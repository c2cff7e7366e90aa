package datasets

import (
	"fmt"
	"math"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/order"
)

// HoldBack returns the data set whose training and test rows are the training rows of d: Test has a share of
// them, drawn with a seed or, if latest is set, the last ones of the file, and Train has the others. Only
// the first rows are used, up to the number most. Numbers keep their scaling, which is that of all training
// rows.
//
// It returns an error if either part would be empty, or a class of a label would be absent from Test.
func (d *Dataset) HoldBack(share float64, latest bool, seed uint64, most int) (*Dataset, error) {
	var all *batch.Batch
	switch rows := min(d.TrainRows(), most); {
	case d.Rows != nil:
		var err error
		if all, err = d.Rows.Between(0, rows); err != nil {
			return nil, err
		}
	default:
		all = batch.Slice(d.Train, 0, rows)
	}
	count := int(math.Round(share * float64(all.Samples)))
	if count < 1 || count >= all.Samples {
		return nil, fmt.Errorf("datasets: %v of %d training rows leaves no rows to train on or to hold back",
			share, all.Samples)
	}
	part := *d
	part.Rows, part.TestProbability = nil, nil
	if latest {
		cut := all.Samples - count
		part.Train, part.Test = batch.Slice(all, 0, cut), batch.Slice(all, cut, all.Samples)
	} else {
		numbers := order.Permutation(all.Samples, seed, "validation split")
		gatherer := batch.NewGatherer(all)
		part.Test, part.Train = gatherer.Rows(numbers[:count]), gatherer.Rows(numbers[count:])
	}
	for label, name := range d.Schema.Labels {
		of := batch.Column(part.Test.Labels, len(d.Schema.Labels), label)
		if !bothClasses(of) {
			return nil, fmt.Errorf("datasets: the %d rows held back have one value of the label %s: hold "+
				"back more", count, name)
		}
	}
	return &part, nil
}

// bothClasses reports whether there are rows of both classes.
func bothClasses(labels []float32) bool {
	for _, label := range labels {
		if label != labels[0] {
			return true
		}
	}
	return false
}
