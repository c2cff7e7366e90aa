package job

import (
	"fmt"
	"strconv"
	"strings"
)

// How Split chooses the test rows.
const (
	SplitLast   = "last"   // the last rows of the file: later in time, if the file is in time order
	SplitRandom = "random" // rows drawn with a seed, of each class if few rows have one
	SplitTime   = "time"   // the rows with the highest values in a column of numbers or times; kind csv alone
)

// Split chooses the test rows of a single file.
type Split struct {
	// Test is the share of test rows, in (0, 1); 0 means 0.2.
	Test float64 `yaml:"test,omitempty"`
	// How is SplitLast, the default, SplitRandom or SplitTime.
	How string `yaml:"how,omitempty"`
	// Seed draws the rows of SplitRandom; with SplitLast it must be 0.
	Seed uint64 `yaml:"seed,omitempty"`
	// Column is the column of SplitTime: numbers, or times as 2026-11-23, 2026-11-23 14:05:00, RFC 3339,
	// 2026/11/23 or 23.11.2026.
	Column string `yaml:"column,omitempty"`
}

// defaultTestShare is the 80/20 split of Persia's evaluation.
const defaultTestShare = 0.2

// TestShare returns Test, or its default.
func (s Split) TestShare() float64 {
	if s.Test == 0 {
		return defaultTestShare
	}
	return s.Test
}

// Validate checks every field and names the first invalid one.
func (s Split) Validate() error {
	switch {
	case !(s.Test >= 0 && s.Test < 1):
		return fmt.Errorf("test: %v: must lie in (0, 1)", s.Test)
	case s.How != "" && s.How != SplitLast && s.How != SplitRandom && s.How != SplitTime:
		return fmt.Errorf("how: %q: must be %q, %q or %q", s.How, SplitLast, SplitRandom, SplitTime)
	case (s.How == SplitTime) != (s.Column != ""):
		return fmt.Errorf("how, column: %q, %q: how: %s needs a column, and nothing else does", s.How,
			s.Column, SplitTime)
	case s.Seed != 0 && s.How != SplitRandom:
		return fmt.Errorf("seed: %d: only used with how: %q", s.Seed, SplitRandom)
	}
	return nil
}

// OnBadRow is what a reader does with rows that it cannot decode. The zero value fails at
// the first one. Its text form is "fail" or, for example, "skip:100".
type OnBadRow struct {
	// Skip is the number of bad rows to skip and count, over all files of the data set
	// together; the next bad row is an error. 0: the first one is an error.
	Skip int
}

// MarshalText returns "fail" or "skip:<n>". The error is always nil.
func (p OnBadRow) MarshalText() ([]byte, error) {
	if p.Skip == 0 {
		return []byte("fail"), nil
	}
	return []byte("skip:" + strconv.Itoa(p.Skip)), nil
}

// UnmarshalText reads the text that MarshalText returns.
func (p *OnBadRow) UnmarshalText(text []byte) error {
	if string(text) == "fail" {
		p.Skip = 0
		return nil
	}
	count, isSkip := strings.CutPrefix(string(text), "skip:")
	n, err := strconv.Atoi(count)
	if !isSkip || err != nil || n < 1 {
		return fmt.Errorf(`on-bad-row: %q: write "fail", or "skip:100" to drop up to 100 rows`, text)
	}
	p.Skip = n
	return nil
}

// The distributions from which NegativeSampling draws items.
const (
	NegativesUniform    = "uniform"    // every item of the training rows with the same probability
	NegativesPopularity = "popularity" // in proportion to the training rows of an item
)

// defaultPerPositive is the number of negatives per positive of He et al., Neural
// Collaborative Filtering, WWW 2017.
const defaultPerPositive = 4

// NegativeSampling draws rows of label 0 for data that record only what users did. Every
// positive row is followed by its negatives: the same user with items of the training rows
// that the user has in no training row and, for test rows, in no test row either. Items are
// drawn independently, so a user can get the same item twice.
type NegativeSampling struct {
	// PerPositive is the number of negatives per positive; 0 means 4.
	PerPositive int `yaml:"per-positive,omitempty"`
	// By is NegativesUniform, the default, or NegativesPopularity.
	By string `yaml:"by,omitempty"`
	// Seed draws the items.
	Seed uint64 `yaml:"seed,omitempty"`
}

// Count returns PerPositive, or its default.
func (n NegativeSampling) Count() int {
	if n.PerPositive == 0 {
		return defaultPerPositive
	}
	return n.PerPositive
}

// Validate names the first invalid field.
func (n NegativeSampling) Validate() error {
	const perPositiveMax = 1000
	switch {
	case n.PerPositive < 0 || n.PerPositive > perPositiveMax:
		return fmt.Errorf("per-positive: %d: must be 1 to %d, or left out for %d", n.PerPositive,
			perPositiveMax,
			defaultPerPositive)
	case n.By != "" && n.By != NegativesUniform && n.By != NegativesPopularity:
		return fmt.Errorf("by: %q: must be %q or %q", n.By, NegativesUniform, NegativesPopularity)
	}
	return nil
}
