// Package judge decides what the paired comparisons of a report show.
//
// A Comparison has the differences in AUC and log loss of two ways of training, seed by seed. Judge gives
// each an interval and a verdict:
//
//	equivalent    the interval is inside ±0.001 AUC
//	different     the interval excludes 0 and is not inside ±0.001
//	inconclusive  neither
//
// A report with many comparisons finds some by chance. So verdicts hold for all comparisons of a report
// together: Holm's adjustment keeps the probability of any false "different" at 5 %, and of any false
// "equivalent" at 2.5 %, which is that of one interval of 95 %. An interval is that of its comparison alone.
//
// Seeds of generated data have different test rows, so the spread over seeds includes the luck of the rows.
// On real data all seeds share the test rows; there, RowDeviation adds that luck.
package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"tandem/algo/metric"
)

// FindingLeast is the smallest AUC difference that is a finding if its interval excludes 0.
const FindingLeast = 0.002

// The probabilities of error of the verdicts of one report.
const (
	differentError  = 0.05
	equivalentError = differentError / 2 // of each end of the interval
)

// Comparison is the paired difference of two ways of training on one data set: treated − reference.
type Comparison struct {
	Data      string   `json:"data"`
	Treated   string   `json:"treated"`
	Reference string   `json:"reference"`
	Seeds     []uint64 `json:"seeds"`
	// AUCs and LogLosses (nats) are the differences by seed.
	AUCs      []float64 `json:"auc_differences"`
	LogLosses []float64 `json:"log_loss_differences"`
	// RowDeviation is the standard error of the mean AUC difference by the luck of test rows that all seeds
	// share, as metric.AUCRowDeviation returns it; 0 for generated data.
	RowDeviation float64 `json:"row_deviation,omitempty"`

	// Judge sets the fields below. AUC and LogLoss are means with 95 % intervals.
	AUC metric.Interval `json:"auc"`
	// Simultaneous is wider than AUC, so that all such intervals of a report hold together with 95 %
	// (Bonferroni).
	Simultaneous metric.Interval `json:"auc_simultaneous"`
	LogLoss      metric.Interval `json:"log_loss"`
	// PDifferent and PEquivalent are the p-values of the two claims, adjusted over the report.
	PDifferent  float64        `json:"p_different"`
	PEquivalent float64        `json:"p_equivalent"`
	Verdict     metric.Verdict `json:"verdict"`
	// SeedsNeeded is the number of seeds with which the comparison alone would be conclusive, if more seeds
	// had the same mean and spread; 0 if no number up to seedsMost would do.
	SeedsNeeded int `json:"seeds_needed"`
}

// Quality is the quality of one way of training on the test rows, by seed.
type Quality struct {
	AUC     []float64 `json:"auc"`
	LogLoss []float64 `json:"log_loss"` // nats
}

// Pair returns the comparison of two ways of training under the same seeds, of which the first is given and
// the others follow. It panics if the lengths differ.
func Pair(data, treated, reference string, first uint64, t, r Quality) *Comparison {
	c := &Comparison{Data: data, Treated: treated, Reference: reference}
	n := len(t.AUC)
	if len(r.AUC) != n || len(t.LogLoss) != n || len(r.LogLoss) != n {
		panic(fmt.Sprintf("judge: %s − %s: unequal numbers of seeds", treated, reference))
	}
	for i := range n {
		c.Seeds = append(c.Seeds, first+uint64(i))
		c.AUCs = append(c.AUCs, t.AUC[i]-r.AUC[i])
		c.LogLosses = append(c.LogLosses, t.LogLoss[i]-r.LogLoss[i])
	}
	return c
}

// SameBits reports whether the two ways have the same quality under every seed.
func (c *Comparison) SameBits() bool {
	zero := func(v float64) bool { return v == 0 }
	return all(c.AUCs, zero) && all(c.LogLosses, zero)
}

func all(values []float64, is func(v float64) bool) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return !is(v) })
}

// Text returns the verdict as text for a report.
func (c *Comparison) Text() string {
	if c.SameBits() {
		return "the same bits"
	}
	return c.Verdict.String()
}

// IsFinding reports whether the difference is above FindingLeast and its interval excludes 0.
func (c *Comparison) IsFinding() bool {
	return math.Abs(c.AUC.Estimate) > FindingLeast && (c.AUC.Low > 0 || c.AUC.High < 0)
}

// Judge sets intervals and verdicts of all comparisons of a report. Each needs at least two seeds.
func Judge(comparisons []*Comparison) {
	different, equivalent := make([]float64, len(comparisons)), make([]float64, len(comparisons))
	for i, c := range comparisons {
		e := estimateOf(c.AUCs, c.RowDeviation)
		c.AUC, c.LogLoss = e.interval(differentError), metric.MeanInterval(c.LogLosses)
		c.Simultaneous = e.interval(differentError / float64(len(comparisons)))
		different[i], equivalent[i] = e.pDifferent(), e.pEquivalent(metric.EquivalenceMargin)
		c.SeedsNeeded = seedsNeeded(c.AUCs, c.RowDeviation)
	}
	different, equivalent = holm(different), holm(equivalent)
	for i, c := range comparisons {
		c.PDifferent, c.PEquivalent = different[i], equivalent[i]
		switch {
		case c.PEquivalent <= equivalentError:
			c.Verdict = metric.Equivalent
		case c.PDifferent <= differentError:
			c.Verdict = metric.Different
		default:
			c.Verdict = metric.Inconclusive
		}
	}
}

// holm returns p-values adjusted by Holm's procedure: of m values in ascending order, the k-th is multiplied
// by m − k + 1, but is at least as large as those before it and at most 1.
//
// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted, least := make([]float64, len(p)), 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(p)-k)*p[i]))
		adjusted[i] = least
	}
	return adjusted
}

// estimate is a mean whose error has Student's distribution.
type estimate struct{ mean, deviation, freedom float64 }

// estimateOf returns the mean of values, one per seed. The variance of its error is that of the seeds, s²/n
// with n − 1 degrees of freedom, and that of the rows, r², which is known:
//
//	deviation² = s²/n + r²,  freedom = (n − 1)·(deviation²)² / (s²/n)²
//
// Source: Welch, Biometrika 34 (1947); Satterthwaite, Biometrics Bulletin 2 (1946).
func estimateOf(values []float64, r float64) estimate {
	n := float64(len(values))
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	return of(mean, squares/(n-1), r, n)
}

// of returns the estimate of n seeds with a variance between seeds.
func of(mean, variance, r, n float64) estimate {
	seeds := variance / n
	total := seeds + float64(r*r)
	e := estimate{mean, math.Sqrt(total), n - 1}
	if r > 0 {
		e.freedom = min((n-1)*(total/seeds)*(total/seeds), 1e6) // beyond, Student's distribution is normal
	}
	return e
}

// half returns half the width of the interval that misses the truth with a probability.
func (e estimate) half(miss float64) float64 {
	if e.deviation == 0 {
		return 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: e.freedom}
	return e.deviation * t.Quantile(1-miss/2)
}

func (e estimate) interval(miss float64) metric.Interval {
	half := e.half(miss)
	return metric.Interval{Estimate: e.mean, Low: e.mean - half, High: e.mean + half}
}

// above returns the probability of a mean at least as large as this one if the true one is at a value.
func (e estimate) above(value float64) float64 {
	switch {
	case e.deviation > 0:
		return distuv.StudentsT{Sigma: 1, Nu: e.freedom}.Survival((e.mean - value) / e.deviation)
	case e.mean > value:
		return 0
	}
	return 1
}

// pDifferent returns the p-value of a difference from 0, to both sides.
func (e estimate) pDifferent() float64 {
	other := estimate{-e.mean, e.deviation, e.freedom}
	return min(1, 2*min(e.above(0), other.above(0)))
}

// pEquivalent returns the p-value of a value inside ±margin: the larger one of two tests, each against an
// end.
//
// Source: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987).
func (e estimate) pEquivalent(margin float64) float64 {
	other := estimate{-e.mean, e.deviation, e.freedom}
	return max(e.above(-margin), other.above(-margin))
}

// seedsMost is the largest number of seeds that is proposed.
const seedsMost = 1000

// seedsNeeded returns the smallest number of seeds for which the interval at this mean and spread excludes 0
// or is inside the margin, or 0.
func seedsNeeded(values []float64, r float64) int {
	now := estimateOf(values, 0)
	variance := float64(now.deviation*now.deviation) * float64(len(values))
	size := math.Abs(now.mean)
	for n := 2; n <= seedsMost; n++ {
		half := of(now.mean, variance, r, float64(n)).half(differentError)
		if half < max(size, metric.EquivalenceMargin-size) {
			return n
		}
	}
	return 0
}
