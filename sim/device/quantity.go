// Package device prices work: what a kernel costs on an accelerator, a row
// lookup on a host, a collective over links; and how long it takes when jobs
// share the cores of a host or queue for an accelerator.
//
// The numbers come from profiles of hardware, one file each. Every number says
// where it is from and how sure it is; an unknown one is a range, fixed before
// any comparison, and a resolved device is one point of those ranges.
package device

import (
	"errors"
	"fmt"
	"math"

	"tandem/algo/unit"
)

// Kind says how a number was come by.
type Kind string

const (
	Measured   Kind = "measured"   // published or made measurement of the very hardware
	Calibrated Kind = "calibrated" // fitted by this project's probes
	Default    Kind = "default"    // data sheet or common default, not measured
	Guessed    Kind = "guessed"    // not known; the range is meant to hold it
)

// ErrInvalid is wrapped by every error about a profile's content.
var ErrInvalid = errors.New("invalid profile")

// Number is what a quantity may count: a type of algo/unit, or a bare number
// whose unit is in the field's name.
type Number interface{ ~int | ~int64 | ~float64 }

// Dollars is a price.
type Dollars float64

// Quantity is a number with its range and origin. Without Low and High, in a
// file, the range is the single value Mid. Its type says which end of the range is
// the better one: see LessIsBetter.
type Quantity[U Number] struct {
	Low    U      `yaml:"low"`
	Mid    U      `yaml:"mid"`
	High   U      `yaml:"high"`
	Kind   Kind   `yaml:"kind"`
	Source string `yaml:"source"` // where the number is from
	Date   string `yaml:"date"`   // of the source: YYYY, YYYY-MM or YYYY-MM-DD
}

// LessIsBetter reports whether a smaller value is better for whoever uses the
// hardware: times and prices. Of sizes, rates, shares and counts more is better.
func (q Quantity[U]) LessIsBetter() bool {
	switch any(q.Mid).(type) {
	case unit.Tick, Dollars:
		return true
	}
	return false
}

// At returns the value at a position of the range: the worse end at −1, Mid at 0, the
// better end at 1, linear in between. A whole-number unit is rounded to the nearest.
func (q Quantity[U]) At(position float64) U {
	worse, better := q.Range()
	if q.LessIsBetter() {
		worse, better = better, worse
	}
	end := better
	if position < 0 {
		end = worse
	}
	value := float64(q.Mid) + math.Abs(position)*(float64(end)-float64(q.Mid))
	if half := 0.5; U(half) == 0 { // U has no fractions
		value = math.Round(value)
	}
	return U(value)
}

// Improve makes the quantity, with its range, better by a factor. A whole-number
// unit is rounded down and may stay unchanged.
func (q *Quantity[U]) Improve(factor float64) {
	if q.LessIsBetter() {
		factor = 1 / factor
	}
	for _, v := range []*U{&q.Low, &q.Mid, &q.High} {
		*v = U(float64(*v) * factor)
	}
}

// Given reports whether the quantity is present in its profile.
func (q Quantity[U]) Given() bool { return q.Kind != "" }

// Range returns the ends of the range.
func (q Quantity[U]) Range() (low, high U) {
	if q.Low == 0 && q.High == 0 {
		return q.Mid, q.Mid
	}
	return q.Low, q.High
}

// Validate checks order, sign and origin.
func (q Quantity[U]) Validate() error {
	low, high := q.Range()
	switch {
	case !(0 <= low && low <= q.Mid && q.Mid <= high) || math.IsInf(float64(high), 1):
		return fmt.Errorf("%w: low, mid, high = %v, %v, %v, want 0 ≤ low ≤ mid ≤ high", ErrInvalid, low, q.Mid, high)
	case q.Kind == Guessed && low == high:
		return fmt.Errorf("%w: guessed as exactly %v, want a range from low to high", ErrInvalid, q.Mid)
	}
	return checkOrigin(q.Kind, q.Source, q.Date)
}

// checkOrigin checks a kind, a source and a date.
func checkOrigin(kind Kind, source, date string) error {
	switch kind {
	case Measured, Calibrated, Default, Guessed:
	default:
		return fmt.Errorf("%w: kind %q, want measured, calibrated, default or guessed", ErrInvalid, kind)
	}
	if source == "" {
		return fmt.Errorf("%w: source is missing", ErrInvalid)
	}
	if !isDate(date) {
		return fmt.Errorf("%w: date %q, want YYYY, YYYY-MM or YYYY-MM-DD", ErrInvalid, date)
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
