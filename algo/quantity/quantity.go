// Package quantity describes numbers that are known within a range: a low and a high end, how the number was
// obtained, its source and the date of the source.
//
// Profiles of hardware and the section cluster of a job file consist of such numbers. A prediction takes each
// of them at one position of its range, from −1 for the worse end to 1 for the better one.
//
// The better end of a quantity follows from its unit (Value.LessIsBetter), so no profile can say it wrongly.
package quantity

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// Kind says how a number was obtained.
type Kind string

const (
	Measured   Kind = "measured"   // measured on the very hardware, and published or probed
	Calibrated Kind = "calibrated" // fitted to the project's own probes, or to measured steps
	Default    Kind = "default"    // from a data sheet, or a common default; not measured
	Guessed    Kind = "guessed"    // not known; the range is meant to contain it
)

// Number is the type of a quantity's value: a type of algo/unit, or a bare number whose unit is in the name
// of the field.
type Number interface{ ~int | ~int64 | ~float64 }

// Burden is a bare number of which less is better, such as cache misses a row.
type Burden float64

// Value is a number with its range and origin. In a file, a quantity without Low and High has the single
// value Mid. The type U decides which end of the range is the better one: see LessIsBetter.
type Value[U Number] struct {
	Low    U      `yaml:"low"`
	Mid    U      `yaml:"mid"`
	High   U      `yaml:"high"`
	Kind   Kind   `yaml:"kind"`
	Source string `yaml:"source"` // where the number is from
	Date   string `yaml:"date"`   // of the source: YYYY, YYYY-MM or YYYY-MM-DD
}

// LessIsBetter reports whether smaller values are better for the user of the hardware, as for times, prices
// and burdens. Larger sizes, rates, shares and counts are better.
func (q Value[U]) LessIsBetter() bool {
	switch any(q.Mid).(type) {
	case unit.Tick, unit.Nanos, unit.Dollars, Burden:
		return true
	}
	return false
}

// At returns the value at a position of the range: the worse end at −1, Mid at 0, the better end at 1, linear
// in between. Values of a whole-number type are rounded to the nearest.
func (q Value[U]) At(position float64) U {
	worse, better := q.Range()
	if q.LessIsBetter() {
		worse, better = better, worse
	}
	end := better
	if position < 0 {
		end = worse
	}
	return whole[U](float64(q.Mid) + math.Abs(position)*(float64(end)-float64(q.Mid)))
}

// Improve makes the quantity and its range better by a factor. Values of a whole-number type are rounded down
// and may stay unchanged.
func (q *Value[U]) Improve(factor float64) {
	if q.LessIsBetter() {
		factor = 1 / factor
	}
	for _, v := range []*U{&q.Low, &q.Mid, &q.High} {
		*v = U(float64(*v) * factor)
	}
}

// Given reports whether the file has the quantity.
func (q Value[U]) Given() bool { return q.Kind != "" }

// Range returns the ends of the range.
func (q Value[U]) Range() (low, high U) {
	if q.Low == 0 && q.High == 0 {
		return q.Mid, q.Mid
	}
	return q.Low, q.High
}

// Validate checks order, sign and origin.
func (q Value[U]) Validate() error {
	low, high := q.Range()
	switch {
	case !(0 <= low && low <= q.Mid && q.Mid <= high) || math.IsInf(float64(high), 1):
		return fmt.Errorf("low, mid, high = %v, %v, %v; want 0 ≤ low ≤ mid ≤ high", low, q.Mid, high)
	case q.Kind == Guessed && low == high:
		return fmt.Errorf("guessed as exactly %v; want a range from low to high", q.Mid)
	}
	return ValidateOrigin(q.Kind, q.Source, q.Date)
}

// ValidateOrigin checks a kind, a source and a date.
func ValidateOrigin(kind Kind, source, date string) error {
	switch kind {
	case Measured, Calibrated, Default, Guessed:
	default:
		return fmt.Errorf("kind = %q; want measured, calibrated, default or guessed", kind)
	}
	if source == "" {
		return fmt.Errorf("no source; write where the number is from")
	}
	if !isDate(date) {
		return fmt.Errorf("date = %q; want YYYY, YYYY-MM or YYYY-MM-DD", date)
	}
	return nil
}

// isDate reports whether text has the form YYYY, YYYY-MM or YYYY-MM-DD.
func isDate(text string) bool {
	const form = "0000-00-00"
	if n := len(text); n != 4 && n != 7 && n != 10 {
		return false
	}
	for i := range len(text) {
		digit := '0' <= text[i] && text[i] <= '9'
		if digit != (form[i] == '0') || !digit && text[i] != '-' {
			return false
		}
	}
	return true
}
