package datasets

import (
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/order"
)

// splitRows splits b into training rows and test rows, each in the order of b. The number of
// test rows is their share of all rows, rounded.
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
	isTest := make([]bool, b.Samples)
	for _, row := range order.Permutation(b.Samples, s.Seed, "test split")[:testCount] {
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
