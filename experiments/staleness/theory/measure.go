package theory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/experiments/staleness/theory/stability"
	"tandem/internal/parallel"
)

// measurement is a line of measurements.jsonl.
type measurement struct {
	Probe   probe   `json:"probe"`
	Outcome outcome `json:"outcome"`
}

// measure compares the outcomes of all probes with predictions. It measures those that the folder does not
// have: deterministic ones side by side, then those on real threads one by one.
func (p *plan) measure(ctx context.Context, o report.Options) (e *evidence, err error) {
	journal, err := report.OpenJournal[measurement](o, "measurements.jsonl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	outcomes := map[probe]outcome{}
	for _, one := range journal.Kept {
		outcomes[one.Probe] = one.Outcome
	}
	var deterministic, threads []probe
	p.evidence(func(one probe) (none outcome) { // which probes does it ask for?
		switch _, known := outcomes[one]; {
		case known || slices.Contains(deterministic, one) || slices.Contains(threads, one):
		case one.Kind == "threads":
			threads = append(threads, one)
		default:
			deterministic = append(deterministic, one)
		}
		return none
	})
	meter := &report.Meter{Total: len(deterministic) + len(threads), Unit: "measurements", Report: o.Progress}
	meter.Start()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // of journal, outcomes and meter
	run := func(one probe) {
		if ctx.Err() != nil {
			return
		}
		result, err := one.run(ctx, o.Backend)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = journal.Add(measurement{one, result})
		}
		if err != nil {
			cancel(fmt.Errorf("theory: %v, after %d of %d measurements: %w", one, meter.Done, meter.Total,
				err))
			return
		}
		outcomes[one] = result
		meter.Done++
		meter.Show(0, 1, one.String())
	}
	parallel.ForEach(parallel.Cores(), len(deterministic), func(i int) { run(deterministic[i]) })
	for _, one := range threads {
		run(one)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return p.evidence(func(one probe) outcome { return outcomes[one] }), nil
}

// evidence is what a plan has measured, beside the predictions.
type evidence struct {
	Thresholds []thresholdCell `json:"thresholds"`
	Growth     []growthCell    `json:"growth"`
	Threads    []threadCell    `json:"threads"` // the first is sync
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

// evidence compares the outcomes of all probes with predictions.
func (p *plan) evidence(of func(one probe) outcome) *evidence {
	e := &evidence{}
	for _, delay := range p.Delays {
		for _, ids := range p.Ids {
			product := func(random bool, seed uint64) float64 {
				return of(p.threshold(ids, delay, random, seed)).Rate * curvature / float64(ids)
			}
			c := thresholdCell{Ids: ids, Delay: delay, Predicted: stability.Boundary(delay),
				Measured: product(false, p.Seed)}
			if ids > 1 {
				drawn := p.bySeed(func(seed uint64) float64 { return product(true, seed) })
				bound := stability.MeanSquareBoundary(delay, p.threshold(ids, delay, true, p.Seed).spread())
				c.Random, c.MeanSquare = &drawn, &bound
			}
			e.Thresholds = append(e.Thresholds, c)
		}
	}
	for _, at := range p.Points {
		c := growthCell{point: at, X: float64(at.Delay) * at.Product,
			Predicted: stability.Variance(at.Delay, at.Product)/stability.Variance(0, at.Product) - 1}
		late := func(seed uint64) outcome { return of(p.excess(at, true, seed)) }
		c.Growth = p.bySeed(func(seed uint64) float64 {
			return late(seed).Excess/of(p.excess(at, false, seed)).Excess - 1
		})
		c.Missed = p.bySeed(func(seed uint64) float64 { return late(seed).Missed }).Estimate
		if bound, ok := p.bound(at, c.Missed); ok {
			c.Bound = bound / p.bySeed(func(seed uint64) float64 { return late(seed).Gradient }).Estimate
		}
		e.Growth = append(e.Growth, c)
	}
	for _, tau := range append([]int{-1}, p.Taus...) {
		c := p.threadCell(of, tau)
		if tau >= 0 {
			sync := e.Threads[0].X
			c.Linear, c.Curve = c.X-sync, manySteps(c.X)-manySteps(sync)
		}
		e.Threads = append(e.Threads, c)
	}
	return e
}

// labelNoise is the largest σᵢ² of the theorem: the mean square of the derivative of a sample's loss by its
// logit, ¼ + (p − ½)² for a fair coin, is at most this.
const labelNoise = 0.5

// bound returns the right-hand side of the theorem for a model of one row per sample, with the measured
// missed updates, and whether the rate is within its limits.
//
// Every row has λ = q·h and c = q·B samples in every batch, and there are 1/q rows.
func (p *plan) bound(at point, missed float64) (bound float64, ok bool) {
	rate, samples, lambda := at.rate(), float64(samplesPerID*at.Ids), curvature/float64(at.Ids)
	start := 2 * excess(initMost) / (rate * float64(p.Steps))
	noise := rate * lambda * labelNoise / samples
	staleness := 2 * rate * rate * lambda * lambda * labelNoise * missed / samples
	return start + noise + staleness, rate*lambda <= 0.5 && float64(at.Delay)*rate*lambda <= 0.5
}

// threadCell returns what hybrid has at τ, or sync for τ < 0, without predictions.
func (p *plan) threadCell(of func(one probe) outcome, tau int) threadCell {
	one := p.threads(tau, p.Seed)
	c := threadCell{Mode: one.Mode, Tau: one.Delay}
	c.Missed = p.bySeed(func(seed uint64) float64 { return of(p.threads(tau, seed)).Missed })
	c.Growth = p.bySeed(func(seed uint64) float64 {
		return of(p.threads(tau, seed)).Excess/of(p.threads(-1, seed)).Excess - 1
	})
	// The samples of an id in the part of a rank that has the id.
	part := float64(one.Batch) / threadRanks
	each := part * one.share() / (1 - math.Pow(1-one.share(), part))
	c.X = one.Rate * curvature * each * c.Missed.Estimate / float64(one.Batch)
	return c
}

// manySteps returns the growth of the excess loss by equal delays of many small steps, which together amount
// to x: stability.Variance for a·d = x and d → ∞, less that without delay.
func manySteps(x float64) float64 { return (1+math.Sin(x))/math.Cos(x) - 1 }
