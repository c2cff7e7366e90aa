package quantity

import (
	"encoding"
	"fmt"
	"math"
	"strconv"

	"tandem/algo/unit"
)

// Parameter is a Value of any type as a plain number in the type's base unit: what a vector of parameters
// holds. Pointers to Values implement it.
type Parameter interface {
	// Given reports whether the quantity is known at all.
	Given() bool
	// Span returns the ends of the range, low first, and the middle.
	Span() (low, mid, high float64)
	// LessIsBetter reports which end is the better one.
	LessIsBetter() bool
	// Fix gives the quantity one value without a range. Whole-number types round it to the nearest.
	Fix(value float64)
	// Improve makes the quantity and its range better by a factor.
	Improve(factor float64)
	// Text returns a value with its unit, to read. Parse reads a value with its unit.
	Text(value float64) string
	Parse(text string) (float64, error)
	// Origin returns where the quantity is from.
	Origin() (kind Kind, source, date string)
	// Validate checks order, sign and origin.
	Validate() error
	// Replace gives the quantity one value of another origin.
	Replace(value float64, kind Kind, source string)
}

// Span implements Parameter.
func (q *Value[U]) Span() (low, mid, high float64) {
	l, h := q.Range()
	return float64(l), float64(q.Mid), float64(h)
}

// Fix implements Parameter.
func (q *Value[U]) Fix(value float64) {
	q.Low, q.Mid, q.High = 0, whole[U](value), 0
}

// whole converts a number to U, rounded to the nearest if U has no fractions.
func whole[U Number](value float64) U {
	if half := 0.5; U(half) == 0 {
		value = math.Round(value)
	}
	return U(value)
}

// Text implements Parameter.
func (q *Value[U]) Text(value float64) string {
	u := whole[U](value)
	// in one unit, so that the ends of a range are easy to compare
	if rate, ok := any(u).(unit.BytesPerSec); ok {
		return strconv.FormatFloat(float64(rate)/1e9, 'g', 4, 64) + "GB/s"
	}
	if text, ok := any(u).(fmt.Stringer); ok {
		return text.String()
	}
	return strconv.FormatFloat(float64(u), 'g', 4, 64)
}

// Parse implements Parameter.
func (q *Value[U]) Parse(text string) (float64, error) {
	var u U
	if reader, ok := any(&u).(encoding.TextUnmarshaler); ok {
		err := reader.UnmarshalText([]byte(text))
		return float64(u), err
	}
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsInf(value, 0) || math.IsNaN(value):
		return 0, fmt.Errorf("%q is not a number", text)
	case float64(whole[U](value)) != value:
		return 0, fmt.Errorf("%s is not a whole number", text)
	}
	return value, nil
}

// Origin implements Parameter.
func (q *Value[U]) Origin() (kind Kind, source, date string) { return q.Kind, q.Source, q.Date }

// Replace implements Parameter.
func (q *Value[U]) Replace(value float64, kind Kind, source string) {
	q.Fix(value)
	q.Kind, q.Source = kind, source
}

// Narrow gives the quantity a range of another origin. Whole-number types round its ends and its middle to
// the nearest.
func (q *Value[U]) Narrow(low, mid, high float64, kind Kind, source, date string) {
	*q = Value[U]{Low: whole[U](low), Mid: whole[U](mid), High: whole[U](high), Kind: kind, Source: source,
		Date: date}
}
