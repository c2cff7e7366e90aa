package paper

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// Results are the predictions of a plan, beside the figures of the paper.
type Results struct {
	Inputs      *Inputs        `json:"inputs"`
	Cases       []CaseResult   `json:"cases"`
	Comparisons []Comparison   `json:"comparisons"`
	Totals      []TotalEffects `json:"total_effects,omitempty"`
	Causes      []CauseResult  `json:"causes,omitempty"`
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

// Comparison is a claim beside its prediction, in the unit of the claim.
type Comparison struct {
	Claim
	Middle  float64          `json:"middle"`
	Low     float64          `json:"low,omitempty"` // 0: there is no interval
	High    float64          `json:"high,omitempty"`
	Verdict Verdict          `json:"verdict"`
	Effects []predict.Effect `json:"effects,omitempty"` // the largest
}

// Width returns the width of the interval, or 0 if there is none.
func (c *Comparison) Width() float64 {
	if c.Low == 0 {
		return 0
	}
	return c.High / c.Low
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

// EffectSamples is the number of points from which on effects are estimated: with fewer, inputs without any
// effect agree with the quantity by chance.
const EffectSamples = 128

// Case returns the result of a case, or nil if the plan did not have it.
func (r *Results) Case(name string) *CaseResult {
	i := slices.IndexFunc(r.Cases, func(c CaseResult) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Cases[i]
}

// Comparison returns the comparison under the name of a quantity, or an empty one.
func (r *Results) Comparison(name string) (c Comparison) {
	if i := slices.IndexFunc(r.Comparisons, func(c Comparison) bool { return c.Name == name }); i >= 0 {
		c = r.Comparisons[i]
	}
	return c
}

// Predictions are results with all that was predicted, of which experiments compute more.
type Predictions struct {
	Results
	Jobs map[string]*predict.Job        // by case
	Of   map[string]*predict.Prediction // by case
}

// Box is a number at the middle of the box of unknown inputs and at its points: NaN where a job does not fit.
// A case of which only the middle is predicted has no points.
type Box struct {
	Middle float64
	Points []float64
}

// Throughput returns that of a case, in samples a second.
func (r *Predictions) Throughput(name string) Box {
	return Box{r.Of[name].Mid.Throughput, r.Of[name].Samples}
}

// Ratio returns the throughput of a case ÷ that of another.
func (r *Predictions) Ratio(of, over string) Box { return r.Throughput(of).Over(r.Throughput(over)) }

// Over returns b ÷ c, point by point, so that what the two share cancels.
func (b Box) Over(c Box) Box { return b.with(c, func(x, y float64) float64 { return x / y }) }

// with combines two numbers.
func (b Box) with(c Box, combine func(x, y float64) float64) Box {
	out := Box{Middle: combine(b.Middle, c.Middle)}
	if len(b.Points) == len(c.Points) {
		for k, x := range b.Points {
			out.Points = append(out.Points, combine(x, c.Points[k]))
		}
	}
	return out
}

// Interval returns the number at the middle with its percentiles over the points; without points, the ends
// are the middle.
func (b Box) Interval() metric.Interval { return Spread(b.Middle, b.Points) }

// Spread returns Box.Interval of a number.
func Spread(middle float64, points []float64) metric.Interval {
	if i := predict.Percentiles(points); i != nil {
		return metric.Interval{Estimate: middle, Low: i.Low, High: i.High}
	}
	return metric.Interval{Estimate: middle, Low: middle, High: middle}
}

// Effects ranks the inputs of a case by how much each explains of a number at the points, and returns the
// most important ones; none with too few points.
func (r *Predictions) Effects(name string, b Box, most int) []predict.Effect {
	if len(b.Points) < EffectSamples {
		return nil
	}
	return predict.MainEffects(r.Jobs[name], b.Points, most)
}

// LargestEffect returns the name of the input that explains most, or "" with too few points.
func (r *Predictions) LargestEffect(name string, b Box) string {
	if e := r.Effects(name, b, 1); len(e) > 0 {
		return e[0].Name
	}
	return ""
}

// Measure freezes the inputs, predicts all cases and compares them with the figures.
func (p *Plan) Measure(ctx context.Context, o report.Options) (r *Predictions, err error) {
	r = &Predictions{Jobs: map[string]*predict.Job{}, Of: map[string]*predict.Prediction{}}
	if r.Inputs, err = p.Freeze(); err != nil {
		return nil, err
	}
	meter := &report.Meter{Total: len(p.Cases) + len(p.Totals) + len(p.Causes), Unit: "predictions",
		Report: o.Progress}
	for i := range p.Cases {
		c := &p.Cases[i]
		meter.Show(0, 1, c.Name)
		if err := p.predict(ctx, c, r); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		meter.Done++
	}
	for i := range p.Claims {
		r.Comparisons = append(r.Comparisons, r.compare(&p.Claims[i]))
	}
	options := predict.Options{Seed: p.Seed, Steps: p.Steps}
	for _, name := range p.Totals {
		meter.Show(0, 1, "total effects on "+name)
		effects, err := predict.Effects(ctx, r.Jobs[name], options)
		if err != nil {
			return nil, fmt.Errorf("total effects on %s: %w", name, err)
		}
		r.Totals = append(r.Totals, TotalEffects{name, effects[:min(totalsKept, len(effects))]})
		meter.Done++
	}
	for _, c := range p.Causes {
		meter.Show(0, 1, c.What)
		found, err := predict.Causes(ctx, r.Jobs[c.Of], r.Jobs[c.Over], c.names(r.Jobs[c.Of]), c.Target,
			options, nil)
		if err != nil {
			return nil, fmt.Errorf("causes of %s: %w", c.What, err)
		}
		r.Causes = append(r.Causes, CauseResult{c.What, c.Target, r.Ratio(c.Of, c.Over).Middle,
			found[:min(causesKept, len(found))]})
		meter.Done++
	}
	return r, nil
}

// predict predicts a case.
func (p *Plan) predict(ctx context.Context, c *Case, r *Predictions) error {
	j, err := c.Choice.Job()
	if err != nil {
		return err
	}
	options := predict.Options{Samples: p.Samples, Seeds: p.Seeds, Seed: p.Seed,
		Steps: cmp.Or(c.Steps, p.Steps)}
	if c.MiddleOnly {
		options.Samples, options.Seeds = 0, 1
	}
	prediction, err := predict.Run(ctx, j, options)
	if err != nil {
		return err
	}
	r.Jobs[c.Name], r.Of[c.Name] = j, prediction
	result := CaseResult{Name: c.Name, Middle: prediction.Mid.Throughput}
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
	r.Cases = append(r.Cases, result)
	return nil
}

// compare compares a claim with the predictions of its cases.
func (r *Predictions) compare(c *Claim) Comparison {
	inUnit := func(name string) Box {
		size := c.Unit.size()
		if c.PerGPU {
			size *= float64(r.Jobs[name].Roles.Ranks)
		}
		b := r.Throughput(name)
		return b.with(b, func(x, _ float64) float64 { return x / size })
	}
	first := c.Of
	var whole Box
	switch {
	case c.Spread != nil:
		first = c.Spread[0]
		least, most := inUnit(first), inUnit(first)
		for _, name := range c.Spread[1:] {
			least, most = least.with(inUnit(name), math.Min), most.with(inUnit(name), math.Max)
		}
		whole = most.Over(least)
	case c.Over != "":
		whole = inUnit(c.Of).Over(inUnit(c.Over))
	default:
		whole = inUnit(c.Of)
	}
	out := Comparison{Claim: *c, Middle: whole.Middle, Effects: r.Effects(first, whole, effectsKept)}
	if i := predict.Percentiles(whole.Points); i != nil {
		out.Low, out.High = i.Low, i.High
	}
	if out.Verdict = Judge(c.Figure, out.Low, out.High); c.Input {
		out.Verdict = IsInput
	}
	return out
}
