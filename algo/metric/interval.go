package metric

import "math"

// Interval is an estimate with the limits of its confidence interval.
type Interval struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// MeanInterval returns the mean of values measured under different seeds and
// its 95 % confidence interval by Student's t:
//
//	mean ± t(0.975, n−1)·s/√n
//
// With one value the limits are infinite, without values all fields are NaN.
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

// studentQuantile returns the t with P(T ≤ t) = p, p in (½, 1), for a whole
// number of degrees of freedom, by bisection. Cost: 100 sums of degrees/2 terms.
func studentQuantile(p float64, degrees int) float64 {
	lo, hi := 0.0, 1.0
	for studentCentral(hi, degrees) < 2*p-1 {
		hi *= 2
	}
	for range 100 {
		middle := (lo + hi) / 2
		if studentCentral(middle, degrees) < 2*p-1 {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi
}

// studentCentral returns P(|T| ≤ t) for Student's t, as the finite sums of
// Abramowitz and Stegun 26.7.3 (odd degrees) and 26.7.4 (even degrees) with
// θ = atan(t/√degrees):
//
//	odd:  2/π·(θ + sin θ·(cos θ + 2/3·cos³θ + … + (2·4…(ν−3))/(3·5…(ν−2))·cos^(ν−2)θ))
//	even: sin θ·(1 + 1/2·cos²θ + … + (1·3…(ν−3))/(2·4…(ν−2))·cos^(ν−2)θ)
func studentCentral(t float64, degrees int) float64 {
	theta := math.Atan(t / math.Sqrt(float64(degrees)))
	sin, cos := math.Sincos(theta)
	odd := degrees%2 == 1
	term, power := 1.0, 2 // the term before cos^power, over sin θ
	if odd {
		term, power = cos, 3
	}
	sum := 0.0
	if degrees > 1 {
		sum = term
	}
	for ; power <= degrees-2; power += 2 {
		term *= float64(power-1) / float64(power) * cos * cos
		sum += term
	}
	if odd {
		return 2 / math.Pi * (theta + float64(sin*sum))
	}
	return sin * sum
}
