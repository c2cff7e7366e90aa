package theory

import (
	"math"

	"tandem/algo/metric"
	"tandem/experiments/staleness/theory/stability"
)

// evidence is what a plan has measured, beside the predictions.
type evidence struct {
	Thresholds []thresholdCell `json:"thresholds"`
	Growth     []growthCell    `json:"growth"`
	Threads    []threadCell    `json:"threads"`
}

// thresholdCell is the product η·q·h at which weights stop converging.
type thresholdCell struct {
	Ids       int     `json:"ids"`
	Delay     int     `json:"delay"`
	Predicted float64 `json:"predicted"`
	Measured  float64 `json:"measured"` // every batch has the same share of the id
	// Random is the product if samples are drawn, over seeds; MeanSquare is where the mean square of the
	// weight stops converging. Both are nil for one id, which has all samples in any case.
	Random     *metric.Interval `json:"random,omitempty"`
	MeanSquare *float64         `json:"mean_square,omitempty"`
}

// err returns the relative error of the prediction.
func (c *thresholdCell) err() float64 { return c.Measured/c.Predicted - 1 }

// growthCell is the effect of a delay on the excess loss.
type growthCell struct {
	point
	Missed    float64         `json:"missed_updates"` // mean over the gradients of rows
	X         float64         `json:"x"`              // τ·q·η·h
	Growth    metric.Interval `json:"growth"`         // excess loss ÷ without delay − 1, over seeds
	Predicted float64         `json:"predicted"`
	// Bound is the bound of the theorem on the mean squared gradient ÷ the measured one; 0 where the theorem
	// does not hold, because the rate is above its limit.
	Bound float64 `json:"bound_over_measured,omitempty"`
}

// threadCell is the effect of staleness in training on real threads.
type threadCell struct {
	Mode   string          `json:"mode"`
	Tau    int             `json:"tau,omitempty"` // of hybrid
	Missed metric.Interval `json:"missed_updates"`
	X      float64         `json:"x"`      // what the missed updates amount to, in place of τ·q·η·h
	Growth metric.Interval `json:"growth"` // excess loss ÷ that of sync − 1, by seed; 0 for sync
	// Linear is the prediction of first order in x, and Curve is that of many small steps with equal delays.
	Linear float64 `json:"linear"`
	Curve  float64 `json:"curve"`
}

// evidence compares measurements with predictions.
func (p *plan) evidence(m map[probe]outcome) *evidence {
	e := &evidence{}
	for _, delay := range p.Delays {
		for _, ids := range p.Ids {
			e.Thresholds = append(e.Thresholds, p.thresholdCell(m, ids, delay))
		}
	}
	for _, at := range p.Points {
		e.Growth = append(e.Growth, p.growthCell(m, at))
	}
	sync := p.threadCell(m, -1, 0)
	e.Threads = append(e.Threads, sync)
	for _, tau := range p.Taus {
		e.Threads = append(e.Threads, p.threadCell(m, tau, sync.X))
	}
	return e
}

func (p *plan) thresholdCell(m map[probe]outcome, ids, delay int) thresholdCell {
	product := func(random bool, seed uint64) float64 {
		return m[p.threshold(ids, delay, random, seed)].Rate * curvature / float64(ids)
	}
	c := thresholdCell{Ids: ids, Delay: delay, Predicted: stability.Boundary(delay),
		Measured: product(false, p.Seed)}
	if ids == 1 {
		return c
	}
	var random []float64
	for _, seed := range p.seeds() {
		random = append(random, product(true, seed))
	}
	interval := metric.MeanInterval(random)
	one := p.threshold(ids, delay, true, p.Seed)
	meanSquare := stability.MeanSquareBoundary(delay, one.coins().spread())
	c.Random, c.MeanSquare = &interval, &meanSquare
	return c
}

// labelNoise is the largest σᵢ² of the theorem: the mean square of the derivative of a sample's loss by its
// logit, ¼ + (p − ½)² for a fair coin, is at most this.
const labelNoise = 0.5

func (p *plan) growthCell(m map[probe]outcome, at point) growthCell {
	c := growthCell{point: at, X: at.x(),
		Predicted: stability.Variance(at.Delay, at.Product)/stability.Variance(0, at.Product) - 1}
	var growth, missed, gradient []float64
	for _, seed := range p.seeds() {
		late := m[p.excess(at, true, seed)]
		growth = append(growth, late.Excess/m[p.excess(at, false, seed)].Excess-1)
		missed = append(missed, late.Missed)
		gradient = append(gradient, late.Gradient)
	}
	c.Growth, c.Missed = metric.MeanInterval(growth), metric.MeanInterval(missed).Estimate
	if bound, ok := p.bound(at, c.Missed); ok {
		c.Bound = bound / metric.MeanInterval(gradient).Estimate
	}
	return c
}

// bound returns the right-hand side of the theorem for a model of one row per sample, with the measured
// missed updates, and whether the rate is within its limits.
//
// Every row has λ = q·h and c = q·B samples in every batch, and there are 1/q rows.
func (p *plan) bound(at point, missed float64) (bound float64, ok bool) {
	rate, samples, lambda := at.rate(), float64(samplesPerID*at.Ids), at.share()*curvature
	start := 2 * excess(initMost) / (rate * float64(p.Steps))
	noise := rate * lambda * labelNoise / samples
	staleness := 2 * rate * rate * lambda * lambda * labelNoise * missed / samples
	return start + noise + staleness, rate*lambda <= 0.5 && float64(at.Delay)*rate*lambda <= 0.5
}

// threadCell returns the effect of hybrid at τ, or of sync for τ < 0, where syncX is the x of sync.
func (p *plan) threadCell(m map[probe]outcome, tau int, syncX float64) threadCell {
	one := p.threads(tau, p.Seed)
	c := threadCell{Mode: one.Mode, Tau: one.Delay}
	var missed, growth []float64
	for _, seed := range p.seeds() {
		o := m[p.threads(tau, seed)]
		missed = append(missed, o.Missed)
		growth = append(growth, o.Excess/m[p.threads(-1, seed)].Excess-1)
	}
	c.Missed, c.Growth = metric.MeanInterval(missed), metric.MeanInterval(growth)
	// The samples of an id in the part of a rank that has the id.
	part, share := float64(one.Batch)/threadRanks, 1/float64(one.Ids)
	each := part * share / (1 - math.Pow(1-share, part))
	c.X = one.Rate * curvature * each * c.Missed.Estimate / float64(one.Batch)
	c.Linear, c.Curve = c.X-syncX, manySteps(c.X)-manySteps(syncX)
	if tau < 0 {
		c.Linear, c.Curve = 0, 0
	}
	return c
}

// manySteps returns the growth of the excess loss by equal delays of many small steps, which together amount
// to x: stability.Variance for a·d = x and d → ∞, less that without delay.
func manySteps(x float64) float64 { return (1+math.Sin(x))/math.Cos(x) - 1 }
