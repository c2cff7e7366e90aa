package main

import (
	"math"
	"strconv"
)

// scale is how the throughputs of a table are printed.
type scale struct {
	unit     string
	divisor  float64
	decimals int
}

// newScale returns one that is readable for the largest, and has three digits
// of the smallest.
func newScale(smallest, largest float64) scale {
	s := scale{unit: "samples/s", divisor: 1}
	if largest >= 10_000 {
		s = scale{unit: "1000 samples/s", divisor: 1000}
	}
	s.decimals = max(0, 2-int(math.Floor(math.Log10(smallest/s.divisor))))
	return s
}

// scale returns that of the table of runs.
func (r *result) scale() scale {
	smallest, largest := math.Inf(1), 0.0
	for _, o := range r.predictions {
		smallest, largest = min(smallest, o.answer.Low), max(largest, o.answer.High)
	}
	return newScale(smallest, largest)
}

func (s scale) text(x float64) string { return strconv.FormatFloat(x/s.divisor, 'f', s.decimals, 64) }

// span prints an interval.
func (s scale) span(low, high float64) string { return s.text(low) + " to " + s.text(high) }
