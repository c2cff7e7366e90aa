package system

import (
	"fmt"

	"tandem/algo/quantity"
)

// Accuracy is how far off predictions of step times with a profile were, in settings that its prices were not
// fitted to. Errors are logarithms of predicted ÷ measured, taken as normal. A prediction adds them to its
// interval.
type Accuracy struct {
	// Common is the standard deviation of the part that all predictions with the profile share, so that it
	// cancels in ratios of two of them.
	Common float64 `yaml:"common"`
	// Single is the standard deviation of the part that is of one setting alone.
	Single float64 `yaml:"single"`
	// Steps is the number of measured steps that were predicted, and Median the median of the factors
	// between predicted and measured, less 1.
	Steps  int     `yaml:"steps"`
	Median float64 `yaml:"median"`
	Source string  `yaml:"source"` // what was predicted, from what
	Date   string  `yaml:"date"`
}

// errorMost bounds the standard deviations: e³ is a factor of 20.
const errorMost = 3

// validate reports the first fault. Nil has none.
func (a *Accuracy) validate() error {
	switch {
	case a == nil:
		return nil
	case !(a.Common >= 0 && a.Common <= errorMost):
		return fmt.Errorf("common = %v; want 0 to %d", a.Common, errorMost)
	case !(a.Single >= 0 && a.Single <= errorMost):
		return fmt.Errorf("single = %v; want 0 to %d", a.Single, errorMost)
	case a.Steps < 1:
		return fmt.Errorf("steps = %d; want at least 1", a.Steps)
	case !(a.Median >= 0):
		return fmt.Errorf("median = %v; want at least 0", a.Median)
	}
	if err := quantity.ValidateOrigin(quantity.Calibrated, a.Source, a.Date); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return nil
}

// Text returns the accuracy as a section of a profile.
func (a *Accuracy) Text() string {
	return fmt.Sprintf("accuracy:\n  common: %v\n  single: %v\n  steps: %d\n  median: %v\n  source: %q\n"+
		"  date: %s\n", a.Common, a.Single, a.Steps, a.Median, a.Source, a.Date)
}
