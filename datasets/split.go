package datasets

import (
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// splitRows cuts b in two, either part in the order of b. The number of test rows is
// the share of the rows, rounded.
func splitRows(s job.Split, b *batch.Batch) (train, test *batch.Batch, err error) {
	fraction := s.TestShare()
	testCount := int(math.Round(fraction * float64(b.Samples)))
	if testCount == 0 || testCount == b.Samples {
		return nil, nil, fmt.Errorf("split.test: %v of %d rows leaves no rows for train or test: change it or add rows", fraction, b.Samples)
	}
	if s.How != job.SplitRandom {
		cut := b.Samples - testCount
		return batch.Slice(b, 0, cut), batch.Slice(b, cut, b.Samples), nil
	}
	isTest := make([]bool, b.Samples)
	for _, r := range permutation(b.Samples, s.Seed, "test split")[:testCount] {
		isTest[r] = true
	}
	trainRows := make([]int32, 0, b.Samples-testCount)
	testRows := make([]int32, 0, testCount)
	for i, held := range isTest {
		if held {
			testRows = append(testRows, int32(i))
		} else {
			trainRows = append(trainRows, int32(i))
		}
	}
	rows := batch.NewGatherer(b)
	return rows.Rows(trainRows), rows.Rows(testRows), nil
}
