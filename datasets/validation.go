package datasets

import (
	"fmt"
	"math"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/order"
)

// HoldBack returns the data set whose training and test rows are training rows of d: Test has a share of
// them, and Train has others. At most some number of rows are used. If latest is set, these are the first
// ones of the file, and Test has their last ones. Else both are drawn with a seed from all training rows,
// since a file may be sorted by a column or its label. A row that is in Test for one number is in Train for
// none. Of rows that stay in their file, those are drawn from the first ones alone. Numbers keep their
// scaling, which is that of all training rows; the columns of job.Data.Means are those of the rows of Train.
//
// It returns an error if either part would be empty, or a class of a label would be absent from Test.
//
// Memory: a copy of the rows and, where they are drawn, 4 bytes for each row that they are drawn from.
func (d *Dataset) HoldBack(share float64, latest bool, seed uint64, most int) (*Dataset, error) {
	rows := min(d.TrainRows(), most)
	count := int(math.Round(share * float64(rows)))
	if count < 1 || count >= rows {
		return nil, fmt.Errorf("datasets: %v of %d training rows leaves no rows to train on or to hold back",
			share, rows)
	}
	all := d.Train
	if d.Rows != nil {
		var err error
		if all, err = d.Rows.Between(0, rows); err != nil {
			return nil, err
		}
	}
	part := *d
	part.Rows, part.TestProbability = nil, nil
	if latest {
		cut := rows - count
		part.Train, part.Test = batch.Slice(all, 0, cut), batch.Slice(all, cut, rows)
	} else {
		numbers := order.Permutation(all.Samples, seed, "validation split")
		held := int(math.Round(share * float64(all.Samples))) // of any number of rows
		gatherer := batch.NewGatherer(all)
		part.Test = gatherer.Rows(numbers[:count])
		part.Train = gatherer.Rows(numbers[held:min(held+rows-count, all.Samples)])
	}
	part.measureMeans()
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
