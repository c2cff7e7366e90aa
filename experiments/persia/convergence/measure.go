package convergence

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

type results struct {
	TestRows int           `json:"test_rows"`
	Oracle   judge.Quality `json:"oracle"` // of the longest runs
	Tuning   []tune.Choice `json:"tuning,omitempty"`
	// Refined has the rates of the main arms after longer runs, in their order.
	Refined []tune.Refined `json:"refined,omitempty"`
	Runs    []*run         `json:"runs"` // those at the first kind of rates come first
	Effects []*effect      `json:"effects"`
	Scaling []*effect      `json:"scaling"`
	// Lags are by τ: what plan.lagged has gained in its last τ steps, interpolated along its curve.
	Lags []metric.Interval `json:"lags"`
}

// training is an arm at a length and at rates.
type training struct {
	Arm     arm        `json:"arm"`
	Samples int        `json:"samples"`
	Rates   tune.Rates `json:"rates"`
}

// run holds the results of a training under all seeds.
type run struct {
	training
	judge.Quality     // that of a constant guess if it diverged
	Diverged      int `json:"diverged"` // trainings
	Steps         int `json:"steps"`
	// Curve is the AUC by seed and point, and CurveSamples the samples trained at each point.
	Curve        [][]float64 `json:"curve,omitempty"`
	CurveSamples []int       `json:"curve_samples,omitempty"`
	// OwnMean and OwnMax are of the earlier steps of its own rank that a read missed.
	OwnMean float64 `json:"own_staleness_mean"`
	OwnMax  int     `json:"own_staleness_max"`
	// StepSeconds is the virtual time of a step in the mean; 0 where it is not simulated.
	StepSeconds float64 `json:"step_s,omitempty"`
	HotRows     int     `json:"hot_rows,omitempty"` // under the last seed
}

// effect is the difference of two runs: treated − reference.
type effect struct {
	Name  string `json:"effect"`
	Kind  string `json:"rates"`
	Tau   int    `json:"tau"` // of hybrid
	Ranks int    `json:"ranks"`
	*judge.Comparison
}

func (p *plan) measure(ctx context.Context, l tune.Lab) (*results, error) {
	r := &results{}
	var err error
	if p.TuningSteps > 0 {
		if err = p.tune(ctx, l, r); err != nil {
			return nil, err
		}
	}
	for _, d := range p.differences() {
		p.run(r, d.reference, d.samples, d.kind)
		p.run(r, d.treated, d.samples, d.kind)
	}
	p.run(r, p.logistic(), p.samples(), p.kinds()[0])
	if err := p.train(ctx, l, r); err != nil {
		return nil, err
	}
	for _, d := range p.differences() {
		e := &effect{d.name, d.kind, d.treated.Tau, d.ranks, judge.Pair(p.Data.Name,
			p.side(d.name, d.kind, d.treated), p.side(d.name, d.kind, d.reference), p.Seed,
			p.run(r, d.treated, d.samples, d.kind).Quality, p.run(r, d.reference, d.samples, d.kind).Quality)}
		if isScaling(d.name) {
			r.Scaling = append(r.Scaling, e)
		} else {
			r.Effects = append(r.Effects, e)
		}
	}
	judge.Judge(r.comparisons())
	r.Lags = p.lags(r.run(p.lagged(), p.samples()))
	data := p.Data
	data.Data = data.WithSeed(p.Seed)
	data.Data.Synthetic.TrainRows = p.samples()
	r.Oracle, err = data.Oracle(p.Seed, p.Seeds)
	return r, err
}

// tune chooses the rates of every arm on shorter runs.
func (p *plan) tune(ctx context.Context, l tune.Lab, r *results) (err error) {
	arms := p.tunedArms()
	if r.Tuning, err = tune.Tune(ctx, l, p.atLength(p.TuningSteps, arms), p.Tuning); err != nil ||
		p.RefiningSteps == 0 {
		return err
	}
	arms = p.mainArms() // which are the first of those that are tuned
	r.Refined, err = tune.Refine(ctx, l, p.atLength(p.RefiningSteps, arms), r.Tuning[:len(arms)],
		refiningFactor, refiningSeeds)
	return err
}

// The candidates of refining are a factor apart; each is trained under some seeds.
const (
	refiningFactor = 2
	refiningSeeds  = 1
)

// atLength returns arms for the tuner, on runs of a length.
func (p *plan) atLength(steps int, list []arm) (arms []tune.Arm) {
	for _, a := range list {
		spec := func(seed uint64) trial.Spec { return p.spec(a, steps*p.batch(), p.nominal(), seed) }
		arms = append(arms, tune.Arm{
			Name: a.ofSize(), Nominal: p.nominal(), Simulated: spec(0).Simulated,
			Job: func(seed uint64) job.Job { return spec(seed).Job },
		})
	}
	return arms
}

// rates returns the rates of an arm: those that the longest of its runs have chosen.
func (p *plan) rates(r *results, a arm) tune.Rates {
	if at := slices.Index(p.mainArms(), a); at >= 0 && r.Refined != nil {
		return r.Refined[at].Rates
	}
	if r.Tuning != nil {
		return r.Tuning[slices.Index(p.tunedArms(), a)].Rates
	}
	return p.nominal()
}

// run returns the run of an arm at a kind of rates, which it adds if it is new.
func (p *plan) run(r *results, a arm, samples int, kind string) *run {
	t := training{a, samples, p.rates(r, a)}
	if kind == commonRates {
		t.Rates = p.rates(r, p.mainArms()[0])
	}
	for _, one := range r.Runs {
		if one.training == t {
			return one
		}
	}
	one := &run{training: t}
	r.Runs = append(r.Runs, one)
	return one
}

// run returns the run of an arm at the first kind of rates.
func (r *results) run(a arm, samples int) *run {
	at := slices.IndexFunc(r.Runs, func(r *run) bool { return r.Arm == a && r.Samples == samples })
	return r.Runs[at]
}

// train trains all runs under all seeds, those on the same rows after each other.
func (p *plan) train(ctx context.Context, l tune.Lab, r *results) error {
	var specs []trial.Spec
	for seed := range p.Seeds {
		for _, one := range r.Runs {
			specs = append(specs, p.spec(one.Arm, one.Samples, one.Rates, p.Seed+uint64(seed)))
		}
	}
	list, err := l.Run(ctx, specs)
	if err != nil {
		return err
	}
	for i := range list {
		r.Runs[i%len(r.Runs)].add(&list[i])
		if list[i].Diverged == "" {
			r.TestRows = list[i].TestRows
		}
	}
	return nil
}

func (r *run) add(one *trial.Result) {
	auc, logLoss := one.Scores()
	r.AUC, r.LogLoss = append(r.AUC, auc), append(r.LogLoss, logLoss)
	if one.Diverged != "" {
		r.Diverged++
		r.Curve = append(r.Curve, nil)
		return
	}
	r.Steps = one.Steps
	r.OwnMean += (one.Staleness.Own.Mean() - r.OwnMean) / float64(len(r.AUC)-r.Diverged)
	r.OwnMax = max(r.OwnMax, one.Staleness.Own.Max())
	if r.Arm.Mode != job.Sequential {
		r.StepSeconds += (one.StepSeconds - r.StepSeconds) / float64(len(r.AUC)-r.Diverged)
		r.HotRows = one.HotRows
	}
	var curve []float64
	r.CurveSamples = r.CurveSamples[:0]
	for _, p := range one.Curve {
		curve, r.CurveSamples = append(curve, p.AUC), append(r.CurveSamples, p.Samples)
	}
	r.Curve = append(r.Curve, curve)
}

// at returns the AUC of a point by seed, and false if a training diverged.
func (r *run) at(point int) (values []float64, ok bool) {
	for _, c := range r.Curve {
		if point >= len(c) {
			return nil, false
		}
		values = append(values, c[point])
	}
	return values, true
}

// lagged returns the arm of sync that differs from hybrid by least.
func (p *plan) lagged() arm {
	if p.Parts {
		return p.sync(job.MergeRank, p.batch())
	}
	return p.sync(job.MergeStep, p.batch())
}

// lags returns, by τ, what a run has gained in its last τ steps.
func (p *plan) lags(r *run) (lags []metric.Interval) {
	for _, tau := range p.Taus {
		var gains []float64
		for i, c := range r.Curve {
			if len(c) > 0 {
				gains = append(gains, r.AUC[i]-interpolated(r.CurveSamples, c, r.Samples-tau*r.Arm.Batch))
			}
		}
		lags = append(lags, metric.MeanInterval(gains))
	}
	return lags
}

// interpolated returns the AUC of a curve at a number of samples, ½ at 0.
func interpolated(samples []int, auc []float64, at int) float64 {
	beforeX, beforeY := 0, 0.5
	for i, x := range samples {
		if x >= at {
			share := float64(max(at, 0)-beforeX) / float64(x-beforeX)
			return beforeY + share*(auc[i]-beforeY)
		}
		beforeX, beforeY = x, auc[i]
	}
	return beforeY
}

// samplesRatio returns the samples after which a run has the best AUC of another ÷ those of the other, over
// seeds. Where its own best is lower, that is the AUC. Seeds under which one diverged are left out.
func samplesRatio(r, other *run) metric.Interval {
	var ratios []float64
	for seed := range r.Curve {
		own, of := r.Curve[seed], other.Curve[seed]
		if len(own) == 0 || len(of) == 0 {
			continue
		}
		target := min(slices.Max(own), slices.Max(of))
		ratios = append(ratios,
			samplesTo(r.CurveSamples, own, target)/samplesTo(other.CurveSamples, of, target))
	}
	return metric.MeanInterval(ratios)
}

// samplesTo returns after how many samples a curve first has an AUC, between its points along a line. It has
// ½ without a sample. The curve must reach the AUC.
func samplesTo(samples []int, auc []float64, target float64) float64 {
	x, y := 0.0, 0.5
	for i, v := range auc {
		at := float64(samples[i])
		if v >= target {
			return x + (at-x)*(target-y)/(v-y)
		}
		x, y = at, v
	}
	panic(fmt.Sprintf("convergence: the curve does not reach an AUC of %v", target))
}

func (r *results) comparisons() (list []*judge.Comparison) {
	for _, e := range append(slices.Clone(r.Effects), r.Scaling...) {
		list = append(list, e.Comparison)
	}
	return list
}

// find returns the effect of a name on an arm at a kind of rates. It panics if there is none.
func (p *plan) find(effects []*effect, name, kind string, treated arm) *effect {
	at := slices.IndexFunc(effects, func(e *effect) bool {
		return e.Name == name && e.Treated == p.side(name, kind, treated)
	})
	return effects[at]
}

// scalingOf returns the effects of a number of ranks on hybrid and on sync; nil: it has the same bits.
func (p *plan) scalingOf(r *results, scale string, ranks int) (hybrid, sync *effect) {
	ofHybrid, ofSync := p.scaled(scale, ranks)
	hybrid = p.find(r.Scaling, scale, p.kinds()[0], ofHybrid)
	if scale == weak {
		sync = p.find(r.Scaling, scale, p.kinds()[0], ofSync)
	}
	return hybrid, sync
}
