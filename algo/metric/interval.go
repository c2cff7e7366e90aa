package metric

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Interval is an estimate with the limits of its confidence interval.
type Interval struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// MeanInterval returns the mean of values that were measured under different seeds, with its 95 % confidence
// interval by Student's t:
//
//	mean ± t(0.975, n−1)·s/√n
//
// With one value, the limits are infinite; without values, all fields are NaN.
func MeanInterval(values []float64) Interval {
	n := float64(len(values))
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / n
	if len(values) == 0 {
		return Interval{mean, mean, mean}
	}
	if len(values) == 1 {
		return Interval{mean, math.Inf(-1), math.Inf(1)}
	}
	squares := 0.0
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	half := studentQuantile(0.975, len(values)-1) * math.Sqrt(squares/(n-1)/n)
	return Interval{mean, mean - half, mean + half}
}

// studentQuantile returns the t with P(T ≤ t) = p, p in (½, 1), of Student's distribution with ν degrees of
// freedom:
//
//	P(|T| > t) = I_x(ν/2, ½),  x = ν/(t² + ν)
//
// I is the regularized incomplete beta function.
func studentQuantile(p float64, degrees int) float64 {
	nu := float64(degrees)
	x := mathext.InvRegIncBeta(nu/2, 0.5, 2*(1-p))
	return math.Sqrt(nu * (1 - x) / x)
}

// Times returns the product of the estimates, with the least and the largest product that values of the two
// intervals have: it is wider than the 95 % interval of the product of independent estimates.
func (v Interval) Times(by Interval) Interval {
	products := []float64{v.Low * by.Low, v.Low * by.High, v.High * by.Low, v.High * by.High}
	return Interval{Estimate: v.Estimate * by.Estimate, Low: slices.Min(products), High: slices.Max(products)}
}
