package datasets

import (
	"fmt"
	"math"

	"tandem/algo/numeric/batch"
)

// The ways to choose test rows.
const (
	SplitLast   = "last"   // the last rows of the file: later in time, if the file is in time order
	SplitRandom = "random" // rows drawn with a seed
)

// defaultTestFraction is the 80/20 split of Persia's evaluation.
const defaultTestFraction = 0.2

// Split says which rows of a single file are for testing.
type Split struct {
	// Test is the share of rows for testing, in (0, 1); 0 means 0.2.
	Test float64 `yaml:"test,omitempty"`
	// How is SplitLast, the default, or SplitRandom.
	How string `yaml:"how,omitempty"`
	// Seed draws the rows of SplitRandom; otherwise it must be 0.
	Seed uint64 `yaml:"seed,omitempty"`
}

// Validate checks every field and names the one at fault.
func (s Split) Validate() error {
	switch {
	case !(s.Test >= 0 && s.Test < 1):
		return fmt.Errorf("test: %v: must lie in (0, 1)", s.Test)
	case s.How != "" && s.How != SplitLast && s.How != SplitRandom:
		return fmt.Errorf("how: %q: must be %q or %q", s.How, SplitLast, SplitRandom)
	case s.Seed != 0 && s.How != SplitRandom:
		return fmt.Errorf("seed: %d: only used with how: %q", s.Seed, SplitRandom)
	}
	return nil
}

// apply cuts b in two, either part in the order of b. The number of test rows is
// the share of the rows, rounded.
func (s Split) apply(b *batch.Batch) (train, test *batch.Batch, err error) {
	fraction := s.Test
	if fraction == 0 {
		fraction = defaultTestFraction
	}
	testCount := int(math.Round(fraction * float64(b.Samples)))
	if testCount == 0 || testCount == b.Samples {
		return nil, nil, fmt.Errorf("split.test: %v of %d rows leaves no rows for train or test: change it or add rows", fraction, b.Samples)
	}
	if s.How != SplitRandom {
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
