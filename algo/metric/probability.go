package metric

import (
	"fmt"
	"math"
)

// ClipProbability is the smallest distance from 0 and 1 of a probability in LogLoss. It is about the
// resolution of float32 below 1. With it, a single row that is certain and wrong costs 16.1 instead of
// infinity.
const ClipProbability = 1e-7

// LogLoss returns the mean negative log likelihood of the labels, in nats:
//
//	−mean(y·ln p + (1−y)·ln(1−p)),  p clipped to [ClipProbability, 1−ClipProbability]
//
// Labels are in [0, 1]. It is NaN without rows or if a probability is NaN. It panics if the lengths differ.
func LogLoss(probabilities, labels []float32) float64 {
	return WeightedLogLoss(probabilities, labels, nil)
}

// Calibration returns the mean predicted probability divided by the observed share of positive rows: 1 is
// calibrated, above 1 is too high. It is NaN without positive rows. It panics if the lengths differ.
//
// Source: He et al., ADKDD 2014, section 2 (average estimated over empirical click rate).
func Calibration(probabilities, labels []float32) float64 {
	mustMatch("labels", len(labels), len(probabilities))
	predicted, observed := 0.0, 0
	for i, p := range probabilities {
		predicted += float64(p)
		if positive(labels[i]) {
			observed++
		}
	}
	if observed == 0 {
		return math.NaN()
	}
	return predicted / float64(observed)
}

// ExpectedCalibrationError returns the mean distance between predicted and observed probability over equal
// bins of [0, 1], weighted by the rows in a bin:
//
//	Σ_b (n_b/n)·|mean_b(p) − mean_b(y)|
//
// bins is at least 1, usually 10 to 20. Probabilities outside [0, 1] count in the nearest bin. The error is
// NaN without rows or if a probability is NaN. It panics if the lengths differ.
//
// Source: Naeini, Cooper, Hauskrecht, AAAI 2015; here for the probability of the positive class.
func ExpectedCalibrationError(probabilities, labels []float32, bins int) float64 {
	mustMatch("labels", len(labels), len(probabilities))
	if bins < 1 {
		panic(fmt.Sprintf("metric: bins = %d, want at least 1", bins))
	}
	surplus := make([]float64, bins) // sums of p − y
	for i, probability := range probabilities {
		p := float64(probability)
		if p != p {
			return math.NaN()
		}
		bin := int(min(max(p*float64(bins), 0), float64(bins-1)))
		if positive(labels[i]) {
			p--
		}
		surplus[bin] += p
	}
	sum := 0.0
	for _, s := range surplus {
		sum += math.Abs(s)
	}
	return sum / float64(len(probabilities))
}
