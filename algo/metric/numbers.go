package metric

import "math"

// RMSE returns the root of the mean squared error of predictions of numbers:
//
//	√(Σ w·(p − y)² / Σ w)
//
// Weights w are at least 0; nil: each is 1. It is NaN if they add up to 0 or a prediction is NaN. It panics
// if the lengths differ.
func RMSE(predicted, labels, weights []float32) float64 {
	mustMatch("labels", len(labels), len(predicted))
	sum, all := 0.0, 0.0
	for i, p := range predicted {
		w, off := weightOf(weights, i), float64(p)-float64(labels[i])
		sum += float64(w * float64(off*off))
		all += w
	}
	return math.Sqrt(sum / all)
}

// RSquared returns the share of the variance of labels that predictions explain, below 0 if they are worse
// than the mean label:
//
//	1 − Σ w·(p − y)² / Σ w·(ȳ − y)²,  ȳ = Σ w·y / Σ w
//
// Weights are as in RMSE. It is NaN or −Inf if all labels are equal. It panics if the lengths differ.
func RSquared(predicted, labels, weights []float32) float64 {
	return 1 - math.Pow(RMSE(predicted, labels, weights)/Deviation(labels, weights), 2)
}

// Deviation returns the standard deviation of numbers, √(Σ w·(x − x̄)² / Σ w) with x̄ = Σ w·x / Σ w. Weights
// are as in RMSE.
func Deviation(values, weights []float32) float64 {
	mean, sum, all := WeightedMean(values, weights), 0.0, 0.0
	for i, x := range values {
		w, off := weightOf(weights, i), float64(x)-mean
		sum += float64(w * float64(off*off))
		all += w
	}
	return math.Sqrt(sum / all)
}
