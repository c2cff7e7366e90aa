package source

import (
	"fmt"
	"math"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
)

// ratio is a ratio of two means, with its 95 % confidence set by Fieller's theorem: all r for which the mean
// of x − r·y is not distinguishable from 0.
type ratio struct {
	Estimate float64 `json:"estimate"`
	// Low and High are the ends of the set; null: the set has no end there. Where y may be 0, the set has at
	// most one end.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// newRatio returns the ratio of the means of x and y, which are paired.
//
//	(x̄ − r·ȳ)² = t²·(s_xx − 2r·s_xy + r²·s_yy)/n
//
// has the ends as its roots. If y differs from 0, the set lies between them. Otherwise it lies outside them,
// and only the end above 0 is kept: a ratio of losses is at least High, or the loss y is not one. If there
// are no roots, every ratio is possible.
func newRatio(x, y []float64) ratio {
	sums, differences := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		sums[i], differences[i] = x[i]+y[i], x[i]-y[i]
	}
	of := func(values []float64) (mean, squareOfHalf float64) {
		v := metric.MeanInterval(values)
		return v.Estimate, (v.High - v.Low) * (v.High - v.Low) / 4
	}
	meanX, xx := of(x)
	meanY, yy := of(y)
	_, sum := of(sums)
	_, difference := of(differences)
	xy := (sum - difference) / 4
	// a·r² − 2b·r + c ≤ 0
	a, b, c := meanY*meanY-yy, meanX*meanY-xy, meanX*meanX-xx
	r := ratio{Estimate: meanX / meanY}
	if math.IsNaN(r.Estimate) || math.IsInf(r.Estimate, 0) {
		return ratio{}
	}
	inside := b*b - a*c
	if a == 0 || inside < 0 || math.IsNaN(inside) || math.IsInf(inside, 0) {
		return r
	}
	root := math.Sqrt(inside)
	low, high := min((b-root)/a, (b+root)/a), max((b-root)/a, (b+root)/a)
	switch {
	case a > 0:
		r.Low, r.High = &low, &high
	case low <= 0 && high > 0 && r.Estimate > 0:
		r.Low = &high
	}
	return r
}

// String returns the ratio for people.
func (r ratio) String() string {
	switch {
	case r.Low == nil:
		return "any"
	case r.High == nil:
		return "≥ " + report.Digits(*r.Low, 2)
	}
	return fmt.Sprintf("%s (%s to %s)", report.Digits(r.Estimate, 2), report.Digits(*r.Low, 2),
		report.Digits(*r.High, 2))
}
