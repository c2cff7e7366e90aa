package datasets

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/order"
)

// splitRows splits b into training rows and test rows, each in the order of b. The number of
// test rows is their share of all rows, rounded. A random draw that leaves a part without rows of one class
// of the first label is replaced by one that draws from each class.
func splitRows(s job.Split, b *batch.Batch) (train, test *batch.Batch, err error) {
	share := s.TestShare()
	testCount := int(math.Round(share * float64(b.Samples)))
	if testCount == 0 || testCount == b.Samples {
		return nil, nil, fmt.Errorf("split.test: %v of %d rows leaves no rows for train or test: change it "+
			"or add rows",
			share, b.Samples)
	}
	if s.How != job.SplitRandom {
		cut := b.Samples - testCount
		return batch.Slice(b, 0, cut), batch.Slice(b, cut, b.Samples), nil
	}
	drawn := order.Permutation(b.Samples, s.Seed, "test split")
	if !mixed(b, drawn[:testCount]) || !mixed(b, drawn[testCount:]) {
		if drawn, err = byClass(b, drawn, share); err != nil {
			return nil, nil, err
		}
	}
	isTest := make([]bool, b.Samples)
	for _, row := range drawn[:testCount] {
		isTest[row] = true
	}
	trainRows := make([]int32, 0, b.Samples-testCount)
	testRows := make([]int32, 0, testCount)
	for row, held := range isTest {
		if held {
			testRows = append(testRows, int32(row))
		} else {
			trainRows = append(trainRows, int32(row))
		}
	}
	gatherer := batch.NewGatherer(b)
	return gatherer.Rows(trainRows), gatherer.Rows(testRows), nil
}

// firstLabel returns the first label of a row.
func firstLabel(b *batch.Batch, row int32) float32 {
	return b.Labels[int(row)*(len(b.Labels)/b.Samples)]
}

// mixed reports whether rows have both classes of the first label.
func mixed(b *batch.Batch, rows []int32) bool {
	return slices.ContainsFunc(rows, func(row int32) bool {
		return firstLabel(b, row) != firstLabel(b, rows[0])
	})
}

// byClass returns rows in another order: a share of the rarer class comes first, one row at least, then the
// other class, then the rest of the rarer one, one row at least. It returns rows of one class as they are.
func byClass(b *batch.Batch, rows []int32, share float64) ([]int32, error) {
	positive, negative := []int32{}, []int32{}
	for _, row := range rows {
		if firstLabel(b, row) == 1 {
			positive = append(positive, row)
		} else {
			negative = append(negative, row)
		}
	}
	rarer, others, name := positive, negative, "positive"
	if len(negative) < len(positive) {
		rarer, others, name = negative, positive, "negative"
	}
	switch len(rarer) {
	case 0:
		return rows, nil
	case 1:
		return nil, fmt.Errorf("split: one of %d rows is %s: training and test need one each: add rows",
			len(rows), name)
	}
	tested := min(max(int(math.Round(share*float64(len(rarer)))), 1), len(rarer)-1)
	return slices.Concat(rarer[:tested], others, rarer[tested:]), nil
}
