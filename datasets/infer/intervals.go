package infer

import (
	"math"
	"slices"
	"strconv"
)

// intervalsWanted is about the number of intervals that a column of numbers is divided into. Of 16 and 64,
// census income gained with 64, and other tables that the rules were chosen on were alike.
const intervalsWanted = 64

// edges returns edges between intervals of numbers, which it sorts. A value that as many rows have as an
// interval's share has an interval of its own; the other intervals have about equal shares of the other rows.
// Rows between two values of that kind have an interval at least, so there may be up to twice as many
// intervals as are wanted. An edge is a short decimal number between two values.
func edges(numbers []float64) (all []float64) {
	slices.Sort(numbers)
	type value struct {
		number float64
		rows   int
		alone  bool
	}
	var values []value
	for _, x := range numbers {
		if n := len(values); n > 0 && values[n-1].number == x {
			values[n-1].rows++
		} else {
			values = append(values, value{x, 1, false})
		}
	}
	rows, left := len(numbers), intervalsWanted // without those of their own
	for again := true; again; {
		again = false
		for i := range values {
			if v := &values[i]; !v.alone && left > 1 && v.rows*left >= rows {
				v.alone, again = true, true
				rows, left = rows-v.rows, left-1
			}
		}
	}
	since := 0
	for i := 0; i+1 < len(values); i++ {
		if since += values[i].rows; values[i].alone || values[i+1].alone || since*left >= rows {
			all = append(all, between(values[i].number, values[i+1].number))
			since = 0
		}
	}
	return all
}

// between returns the shortest decimal number in the middle half between low and high, or, if no float64 is
// there, the one above low. Edges keep away from the values because these were standardised in float32, and
// may be a little more or less than in the file.
func between(low, high float64) float64 {
	middle, quarter := low+(high-low)/2, (high-low)/4
	for digits := 1; digits <= 17; digits++ {
		short, _ := strconv.ParseFloat(strconv.FormatFloat(middle, 'g', digits, 64), 64) // it is a number
		if short >= low+quarter && short <= high-quarter && short > low {
			return short
		}
	}
	return math.Nextafter(low, high)
}
