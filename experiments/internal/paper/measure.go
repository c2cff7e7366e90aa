package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// Results are the predictions of a plan, beside the figures.
type Results struct {
	Inputs      *Inputs          `json:"inputs"`
	Cases       []CaseResult     `json:"cases"`
	Comparisons []Comparison     `json:"comparisons"`
	Totals      []TotalEffects   `json:"total_effects,omitempty"`
	Causes      []CauseResult    `json:"causes,omitempty"`
	jobs        map[string]*done // by the names of cases
}

// done is a case with its prediction.
type done struct {
	job        *predict.Job
	prediction *predict.Prediction
}

// CaseResult is the prediction of a case, in samples a second.
type CaseResult struct {
	Name   string  `json:"name"`
	Middle float64 `json:"middle"`
	// Low and High are the ends of the interval; 0 without an interval.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// SeedsLow and SeedsHigh are the ends of the 95 % interval of the mean over seeds, at the middle.
	SeedsLow   float64 `json:"seeds_low,omitempty"`
	SeedsHigh  float64 `json:"seeds_high,omitempty"`
	Bottleneck string  `json:"bottleneck"`
}

// Comparison is a figure of the paper beside its prediction, in the unit of the claim.
type Comparison struct {
	Name    string           `json:"name,omitempty"` // of the quantity
	What    string           `json:"what"`
	Unit    Unit             `json:"unit"`
	Figure  Figure           `json:"paper"`
	Null    float64          `json:"null,omitempty"`
	Middle  float64          `json:"middle"`
	Low     float64          `json:"low,omitempty"`
	High    float64          `json:"high,omitempty"`
	Verdict Verdict          `json:"verdict"`
	Effects []predict.Effect `json:"effects,omitempty"` // the largest
}

// width returns the width of the interval, or 0 if there is none.
func (c *Comparison) width() float64 {
	if c.Low == 0 {
		return 0
	}
	return c.High / c.Low
}

// quantity returns the prediction as a quantity of the report.
func (c *Comparison) quantity() report.Quantity {
	q := report.Quantity{
		Name: c.Name, What: fmt.Sprintf("%s, %s", c.What, c.Unit), Over: report.OverNothing,
		Interval: metric.Interval{Estimate: c.Middle, Low: c.Middle, High: c.Middle},
	}
	if c.Low > 0 {
		q.Low, q.High, q.Over = c.Low, c.High, report.OverUnknowns
	}
	return q
}

// TotalEffects are the largest total effects on the throughput of a case.
type TotalEffects struct {
	Case    string           `json:"case"`
	Effects []predict.Effect `json:"effects"`
}

// CauseResult is what a search for causes has found, the best first.
type CauseResult struct {
	What   string          `json:"what"`
	Target float64         `json:"target"`
	Now    float64         `json:"now"`
	Causes []predict.Cause `json:"causes"`
}

// The most entries of a list that are kept.
const (
	effectsKept = 4
	totalsKept  = 8
	causesKept  = 12
)

// Job returns the job of a case that was measured.
func (r *Results) Job(name string) *predict.Job { return r.jobs[name].job }

// Prediction returns the prediction of a case, or nil if the case was not measured.
func (r *Results) Prediction(name string) *predict.Prediction {
	if d := r.jobs[name]; d != nil {
		return d.prediction
	}
	return nil
}

// Measure freezes the inputs, predicts all cases and compares them with the figures. The log, name.csv, has a
// line a case.
func (p *Plan) Measure(ctx context.Context, o report.Options, name string) (r *Results, err error) {
	log, err := o.NewLog(name+".csv", "case", "samples_per_s", "low", "high",
		"bottleneck")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	r = &Results{jobs: map[string]*done{}}
	if r.Inputs, err = p.Freeze(); err != nil {
		return nil, err
	}
	meter := &report.Meter{Total: len(p.Cases) + len(p.Totals) + len(p.Causes), Report: o.Progress}
	for i := range p.Cases {
		c := &p.Cases[i]
		meter.Show(0, 1, c.Name)
		result, err := p.predict(ctx, c, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if err := log.Add(c.Name, report.Number(result.Middle), report.Number(result.Low),
			report.Number(result.High), result.Bottleneck); err != nil {
			return nil, err
		}
		r.Cases = append(r.Cases, *result)
		meter.Done++
	}
	for i := range p.Claims {
		r.Comparisons = append(r.Comparisons, r.compare(&p.Claims[i]))
	}
	for _, name := range p.Totals {
		meter.Show(0, 1, "total effects on "+name)
		effects, err := predict.Effects(ctx, r.Job(name), predict.Options{Seed: p.Seed, Steps: p.Steps})
		if err != nil {
			return nil, fmt.Errorf("total effects on %s: %w", name, err)
		}
		r.Totals = append(r.Totals, TotalEffects{name, effects[:min(totalsKept, len(effects))]})
		meter.Done++
	}
	for _, c := range p.Causes {
		meter.Show(0, 1, c.What)
		found, err := predict.Causes(ctx, r.Job(c.Of), r.Job(c.Over), r.names(&c), c.Target,
			predict.Options{Seed: p.Seed, Steps: p.Steps}, nil)
		if err != nil {
			return nil, fmt.Errorf("causes of %s: %w", c.What, err)
		}
		r.Causes = append(r.Causes, CauseResult{c.What, c.Target, r.middle(c.Of, c.Over),
			found[:min(causesKept, len(found))]})
		meter.Done++
	}
	return r, nil
}

// predict predicts a case.
func (p *Plan) predict(ctx context.Context, c *Case, r *Results) (*CaseResult, error) {
	j, err := c.Choice.Job()
	if err != nil {
		return nil, err
	}
	options := predict.Options{Samples: p.Samples, Seeds: p.Seeds, Seed: p.Seed,
		Steps: cmp.Or(c.Steps, p.Steps)}
	if c.MiddleOnly {
		options.Samples, options.Seeds = 0, 1
	}
	prediction, err := predict.Run(ctx, j, options)
	if err != nil {
		return nil, err
	}
	r.jobs[c.Name] = &done{j, prediction}
	result := &CaseResult{Name: c.Name, Middle: prediction.Mid.Throughput}
	switch mid := &prediction.Mid; {
	case mid.Roles != nil:
		result.Bottleneck = mid.Roles.Bottleneck
	case len(mid.Bottlenecks) > 0:
		result.Bottleneck = mid.Bottlenecks[0].Resource
	}
	if i := prediction.Interval; i != nil {
		result.Low, result.High = i.Low, i.High
	}
	if i := prediction.CI95; i != nil {
		result.SeedsLow, result.SeedsHigh = i.Low, i.High
	}
	return result, nil
}

// names returns the names of the parameters among which a search looks for causes.
func (r *Results) names(c *Cause) []string {
	if len(c.Names) > 0 {
		return c.Names
	}
	var unknown []string
	for _, e := range r.Job(c.Of).Parameters() {
		if !e.Known() {
			unknown = append(unknown, e.Name)
		}
	}
	return unknown
}

// middle returns the throughput of a case, or its ratio to that of another, at the middle.
func (r *Results) middle(of, over string) float64 {
	v := r.Prediction(of).Mid.Throughput
	if over != "" {
		v /= r.Prediction(over).Mid.Throughput
	}
	return v
}

// compare compares a claim with the predictions of its cases.
func (r *Results) compare(c *Claim) Comparison {
	out := Comparison{Name: c.Name, What: c.What, Unit: c.Unit, Figure: c.Figure, Null: c.Null}
	names := c.Spread
	combine := func(values []float64) float64 { return slices.Max(values) / slices.Min(values) }
	switch {
	case names == nil && c.Over == "":
		names = []string{c.Of}
		combine = func(values []float64) float64 { return values[0] }
	case names == nil:
		names = []string{c.Of, c.Over}
		combine = func(values []float64) float64 { return values[0] / values[1] }
	}
	middles, sizes := make([]float64, len(names)), make([]float64, len(names))
	samples := len(r.Prediction(names[0]).Samples)
	for i, name := range names {
		sizes[i] = c.Unit.size()
		if c.PerGPU {
			sizes[i] *= float64(r.Job(name).Roles.Ranks)
		}
		middles[i] = r.Prediction(name).Mid.Throughput / sizes[i]
		if len(r.Prediction(name).Samples) != samples {
			samples = 0
		}
	}
	out.Middle = combine(middles)
	var interval *predict.Interval
	if samples > 0 {
		values := make([]float64, samples)
		at := make([]float64, len(names))
		for k := range values {
			for i, name := range names {
				at[i] = r.Prediction(name).Samples[k] / sizes[i]
			}
			values[k] = combine(at)
		}
		if interval = predict.Percentiles(values); interval != nil {
			out.Low, out.High = interval.Low, interval.High
		}
		if samples >= EffectSamples {
			out.Effects = predict.MainEffects(r.Job(names[0]), values, effectsKept)
		}
	}
	out.Verdict = Judge(&c.Figure, interval)
	if c.Input {
		out.Verdict = IsInput
	}
	return out
}

// short returns a number with three digits.
func short(v float64) string {
	digits := 2
	switch {
	case v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
