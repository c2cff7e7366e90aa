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
	for _, x := range merged(observed, m.Launch.Mid) {
		share := min(1, x.work/peak/float64(x.time.Mid)*1e9)
		valid := always
		if n := len(c.Points); n > 0 { // it must not rise faster than the size, not even by rounding
			before := c.Points[n-1]
			share = min(share, before.Share*x.size/float64(before.Size))
			valid = func(share float64) bool { return share*float64(before.Size) <= before.Share*x.size }
		}
		share = digits(share, valid)
		c.Points = append(c.Points, CurvePoint[U]{U(x.size), share})
		c.Spread = max(c.Spread, float64(x.time.Mid/x.time.Low)-1, 1-float64(x.time.Mid/x.time.High))
	}
	c.Spread = min(spreadMax, math.Ceil(c.Spread*1000)/1000)
	return c
}

// alone returns observations with the times of the work alone, without those that are mostly launch; if all
// are, the longest of them.
func alone(observed []observation, launch unit.Nanos) (all []observation) {
	longest := observation{}
	for _, x := range observed {
		if x.time = work(x.time, launch); x.time.Mid >= launch/2 {
			all = append(all, x)
		}
		if x.time.Mid > longest.time.Mid {
			longest = x
		}
	}
	if len(all) == 0 {
		return []observation{longest}
	}
	return all
}

// merged returns observations by ascending size, one for each, with the times of the work alone.
func merged(observed []observation, launch unit.Nanos) (all []observation) {
	sorted := slices.SortedStableFunc(slices.Values(alone(observed, launch)), func(a, b observation) int {
		return cmp.Compare(a.size, b.size)
	})
	for len(sorted) > 0 {
		count := 0
		sum := observation{size: sorted[0].size, time: sorted[0].time}
		sum.time.Mid = 0
		for ; count < len(sorted) && sorted[count].size == sum.size; count++ {
			x := sorted[count]
			sum.work += x.work
			sum.time.Low = min(sum.time.Low, x.time.Low)
			sum.time.Mid += x.time.Mid
			sum.time.High = max(sum.time.High, x.time.High)
		}
		sum.work /= float64(count)
		sum.time.Mid /= unit.Nanos(count)
		all = append(all, sum)
		sorted = sorted[count:]
	}
	return all
}
