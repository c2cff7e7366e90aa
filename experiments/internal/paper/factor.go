package paper

import (
	"fmt"

	"tandem/algo/metric"
	"tandem/sim/predict"
)

// EffectSamples is the number of points from which on effects are estimated: with fewer, inputs without any
// effect agree with the quantity by chance.
const EffectSamples = 128

// Spread returns a quantity at the middle of the box with its percentiles over the points; without points,
// the ends are the middle.
func Spread(middle float64, points []float64) metric.Interval {
	if i := predict.Percentiles(points); i != nil {
		return metric.Interval{Estimate: middle, Low: i.Low, High: i.High}
	}
	return metric.Interval{Estimate: middle, Low: middle, High: middle}
}

// LargestEffect returns the name of the input of a job that explains most of a quantity's values at the
// points of the box, or "" with too few points.
func LargestEffect(j *predict.Job, values []float64) string {
	if len(values) < EffectSamples {
		return ""
	}
	if e := predict.MainEffects(j, values, 1); len(e) > 0 {
		return e[0].Name
	}
	return ""
}

// GPUCount returns a number of GPUs in words.
func GPUCount(gpus int) string {
	if gpus == 1 {
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", gpus)
}
