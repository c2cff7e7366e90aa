package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// Places returns an axis with a name at each of 0, 1, 2, ….
func Places(names ...string) Axis {
	a := Axis{Names: names}
	for i := range names {
		a.Ticks = append(a.Ticks, float64(i))
	}
	return a
}

// apply sets scale, ticks and padding of an axis whose range is the range of the data.
func (a Axis) apply(axis *plot.Axis) {
	axis.Padding = vg.Points(6)
	if a.LogPlusOne {
		axis.Scale = logPlusOne{}
	}
	for _, v := range a.Ticks {
		axis.Min, axis.Max = min(axis.Min, v), max(axis.Max, v)
	}
	if axis.Min == axis.Max { // a single value: give it room
		axis.Min, axis.Max = axis.Min-1, axis.Max+1
	}
	ticks := a.Ticks
	if ticks == nil {
		ticks = roundTicks(axis.Min, axis.Max)
	}
	marks := make(plot.ConstantTicks, len(ticks))
	for i, v := range ticks {
		label := tickText(v)
		if a.Names != nil {
			label = a.Names[i]
		}
		marks[i] = plot.Tick{Value: v, Label: label}
	}
	axis.Tick.Marker = marks
}

// tickText returns the label of a tick.
func tickText(v float64) string {
	return Minus(strconv.FormatFloat(v, 'g', 6, 64))
}

// roundTicks returns the multiples of a step in [low, high], low < high. The step is 1, 2 or 5 times a
// power of ten: the smallest that gives at most 9 ticks.
func roundTicks(low, high float64) []float64 {
	const most = 9
	power := math.Pow(10, math.Floor(math.Log10((high-low)/most)))
	for {
		for _, factor := range []float64{1, 2, 5} {
			step := factor * power
			first, last := math.Ceil(low/step), math.Floor(high/step)
			if last-first+1 > most {
				continue
			}
			var ticks []float64
			for i := first; i <= last; i++ {
				ticks = append(ticks, i*step+0) // −0 becomes 0
			}
			return ticks
		}
		power *= 10
	}
}

// logPlusOne is a scale on which 0, 1, 3, 7, … have equal distances.
type logPlusOne struct{}

// Normalize implements plot.Normalizer.
func (logPlusOne) Normalize(low, high, x float64) float64 {
	return (math.Log1p(x) - math.Log1p(low)) / (math.Log1p(high) - math.Log1p(low))
}
