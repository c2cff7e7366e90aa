package device

import (
	"cmp"
	"math"
	"slices"

	"tandem/algo/quantity"
	"tandem/algo/unit"
)

// spreadMax is the largest spread of a measured curve: a spread is below 1.
const spreadMax = 0.9

// curveOf returns the curve of the shares of a peak that observations reached: see Profile.
func curveOf[U quantity.Number](m *MeasuredAccelerator, observed []observation,
	peak float64) CurveProfile[U] {
	c := CurveProfile[U]{Kind: quantity.Measured, Date: m.Date,
		Source: "medians of repetitions, and the largest deviation of a quartile in any shape; " + m.Source}
	longest := 0.0 // the time of the size before
	for _, x := range merged(observed, m.Launch.Mid) {
		// The time that the size takes alone, which more of it never undercuts.
		longest = max(longest, float64(x.time.Mid)*x.size/x.work)
		share := digits(min(1, x.size/peak/longest*1e9))
		if n := len(c.Points); n > 0 { // rounding must not let the share rise faster than the size
			before := c.Points[n-1]
			for before.Share*x.size < share*float64(before.Size) {
				share = digits(share * (1 - 1e-3))
			}
		}
		c.Points = append(c.Points, CurvePoint[U]{U(x.size), share})
		c.Spread = max(c.Spread, float64(x.time.Mid/x.time.Low)-1, 1-float64(x.time.Mid/x.time.High))
	}
	c.Spread = min(spreadMax, math.Ceil(c.Spread*1000)/1000)
	return c
}

// merged returns observations by ascending size, one for each, with the times of the work alone. Those that
// are mostly launch are left out.
func merged(observed []observation, launch unit.Nanos) (all []observation) {
	sorted := slices.SortedStableFunc(slices.Values(observed), func(a, b observation) int {
		return cmp.Compare(a.size, b.size)
	})
	for len(sorted) > 0 {
		size, count := sorted[0].size, 0
		sum := observation{size: size, time: MeasuredTime{Low: unit.Nanos(math.Inf(1))}}
		for ; count < len(sorted) && sorted[count].size == size; count++ {
			x := sorted[count]
			t := work(x.time, launch)
			sum.work += x.work
			sum.time.Low = min(sum.time.Low, t.Low)
			sum.time.Mid += t.Mid
			sum.time.High = max(sum.time.High, t.High)
		}
		sum.work /= float64(count)
		sum.time.Mid /= unit.Nanos(count)
		sorted = sorted[count:]
		if sum.time.Mid >= launch/2 || len(sorted) == 0 && len(all) == 0 {
			all = append(all, sum)
		}
	}
	return all
}
