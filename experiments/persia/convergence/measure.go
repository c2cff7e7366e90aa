package convergence

import (
	"context"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// results holds everything that was measured.
type results struct {
	TestRows int           `json:"test_rows"`
	Oracle   judge.Quality `json:"oracle"` // of the longest runs
	Tuning   []tune.Choice `json:"tuning,omitempty"`
	Runs     []*run        `json:"runs"`
	Effects  []effect      `json:"effects"`
	Scaling  []effect      `json:"scaling"`
	// Lags are by τ: what sync merge:rank has gained in its last τ steps, interpolated along its curve.
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
	points   int
	AUC      []float64 `json:"auc"`      // by seed; a constant guess's if it diverged
	LogLoss  []float64 `json:"log_loss"` // by seed, nats
	Diverged int       `json:"diverged"` // trainings
	Steps    int       `json:"steps"`
	// Curve is the AUC by seed and point, and CurveSamples the samples trained at each point.
	Curve        [][]float64 `json:"curve,omitempty"`
	CurveSamples []int       `json:"curve_samples,omitempty"`
	// OwnMean and OwnMax are of the earlier steps of its own rank that a read missed.
	OwnMean float64 `json:"own_staleness_mean"`
	OwnMax  int     `json:"own_staleness_max"`
}

// Names of the effects.
const (
	merging   = "merging"
	staleness = "staleness"
	total     = "hybrid − sync"
)

// effect is the difference of two runs: treated − reference.
type effect struct {
	Name  string `json:"effect"`
	Kind  string `json:"rates"`
	Tau   int    `json:"tau"`
	Ranks int    `json:"ranks"`
	*judge.Comparison

	treated, reference *run
}

// Kinds of rates.
const (
	ownRates    = "own"    // each arm at its own tuned rates
	commonRates = "common" // all arms at the rates of sync merge:step
)

// kinds returns the kinds of rates: common ones alone, unless rates are tuned.
func (p *plan) kinds() []string {
	if p.TuningSteps == 0 {
		return []string{commonRates}
	}
	return []string{ownRates, commonRates}
}

// measurement is a measurement in progress.
type measurement struct {
	*plan
	*results
}

// measure tunes, trains and compares all arms.
func (p *plan) measure(ctx context.Context, l tune.Lab) (*results, error) {
	m := measurement{p, &results{}}
	if err := m.tune(ctx, l); err != nil {
		return nil, err
	}
	m.addEffects()
	m.addScaling()
	m.run(p.logistic(), p.Steps*p.batch(), m.rates(p.logistic(), p.kinds()[0])).points = p.Points
	if err := m.train(ctx, l); err != nil {
		return nil, err
	}
	var all []*judge.Comparison
	for _, list := range [][]effect{m.Effects, m.Scaling} {
		for i := range list {
			e := &list[i]
			e.Comparison = judge.Pair(
				p.Data.Name, p.sideName(e, e.treated), p.sideName(e, e.reference), p.Seed,
				judge.Quality{AUC: e.treated.AUC, LogLoss: e.treated.LogLoss},
				judge.Quality{AUC: e.reference.AUC, LogLoss: e.reference.LogLoss},
			)
			all = append(all, e.Comparison)
		}
	}
	judge.Judge(all)
	m.addLags()
	data := p.Data
	data.Data = data.WithSeed(p.Seed)
	data.Data.Synthetic.TrainRows = p.Steps * p.batch()
	var err error
	m.Oracle, err = data.Oracle(p.Seed, p.Seeds)
	return m.results, err
}

// tune chooses the rates of every arm on shorter runs.
func (m *measurement) tune(ctx context.Context, l tune.Lab) (err error) {
	if m.TuningSteps == 0 {
		return nil
	}
	var arms []tune.Arm
	samples := m.TuningSteps * m.batch()
	for _, a := range m.tunedArms() {
		nominal := m.nominal()
		arms = append(arms, tune.Arm{
			Name: a.ofSize(), Nominal: nominal, Simulated: m.spec(a, samples, 1, nominal, 0).Simulated,
			Job: func(seed uint64) job.Job { return m.spec(a, samples, 1, nominal, seed).Job },
		})
	}
	m.results.Tuning, err = tune.Tune(ctx, l, arms, m.plan.Tuning)
	return err
}

// rates returns the rates of an arm.
func (m *measurement) rates(a arm, kind string) tune.Rates {
	if m.TuningSteps == 0 {
		return m.nominal()
	}
	arms := m.tunedArms()
	if kind == commonRates {
		a = arms[0]
	}
	return m.results.Tuning[slices.Index(arms, a)].Rates
}

// run returns the run of a training, which it adds if it is new.
func (m *measurement) run(a arm, samples int, r tune.Rates) *run {
	t := training{a, samples, r}
	for _, one := range m.Runs {
		if one.training == t {
			return one
		}
	}
	one := &run{training: t}
	m.Runs = append(m.Runs, one)
	return one
}

// addEffects adds the effects of merging and staleness on the long runs, and their sum.
func (m *measurement) addEffects() {
	arms := m.mainArms()
	for _, kind := range m.kinds() {
		var runs []*run
		for _, a := range arms {
			one := m.run(a, m.Steps*m.batch(), m.rates(a, kind))
			one.points = m.Points
			runs = append(runs, one)
		}
		ranks := m.Job.Roles.Ranks
		m.Effects = append(m.Effects,
			effect{Name: merging, Kind: kind, Ranks: ranks, treated: runs[1], reference: runs[0]})
		for i, tau := range m.Taus {
			m.Effects = append(m.Effects,
				effect{Name: staleness, Kind: kind, Tau: tau, Ranks: ranks, treated: runs[2+i],
					reference: runs[1]},
				effect{Name: total, Kind: kind, Tau: tau, Ranks: ranks, treated: runs[2+i],
					reference: runs[0]})
		}
	}
}

// addScaling adds the effects of more ranks: on hybrid, and, where the batch grows, on sync.
func (m *measurement) addScaling() {
	kind := m.kinds()[0]
	run := func(a arm) *run { return m.run(a, m.ScalingSamples, m.rates(a, kind)) }
	for _, s := range []scale{weak, strong} {
		firstHybrid, firstSync := m.scaled(s, m.ScalingRanks[0])
		for _, ranks := range m.ScalingRanks[1:] {
			hybrid, sync := m.scaled(s, ranks)
			m.Scaling = append(m.Scaling, effect{Name: string(s), Kind: kind, Tau: hybrid.Tau, Ranks: ranks,
				treated: run(hybrid), reference: run(firstHybrid)})
			if s == weak {
				m.Scaling = append(m.Scaling, effect{Name: string(s), Kind: kind, Ranks: ranks,
					treated: run(sync), reference: run(firstSync)})
			}
		}
	}
}

// sideName names a side of an effect in comparisons.
func (p *plan) sideName(e *effect, side *run) string {
	switch {
	case e.Name == string(weak) || e.Name == string(strong):
		return side.Arm.ofSize()
	case e.Kind == commonRates && len(p.kinds()) > 1:
		return side.Arm.String() + ", common rates"
	}
	return side.Arm.String()
}

// train trains all runs under all seeds, those on the same rows after each other.
func (m *measurement) train(ctx context.Context, l tune.Lab) error {
	var specs []trial.Spec
	for seed := range m.Seeds {
		for _, r := range m.Runs {
			specs = append(specs, m.spec(r.Arm, r.Samples, r.points, r.Rates, m.Seed+uint64(seed)))
		}
	}
	list, err := l.Run(ctx, specs)
	if err != nil {
		return err
	}
	for i := range list {
		m.Runs[i%len(m.Runs)].add(&list[i])
		if list[i].Diverged == "" {
			m.TestRows = list[i].TestRows
		}
	}
	return nil
}

// add adds a result.
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

// addLags adds what sync merge:rank has gained in its last τ steps.
func (m *measurement) addLags() {
	r := m.Effects[0].treated
	for _, tau := range m.Taus {
		var gains []float64
		for i, c := range r.Curve {
			if len(c) > 0 {
				gains = append(gains, r.AUC[i]-interpolated(r.CurveSamples, c, r.Samples-tau*r.Arm.Batch))
			}
		}
		m.Lags = append(m.Lags, metric.MeanInterval(gains))
	}
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

// comparisons returns the differences of all effects.
func (r *results) comparisons() (list []*judge.Comparison) {
	for _, e := range append(slices.Clone(r.Effects), r.Scaling...) {
		list = append(list, e.Comparison)
	}
	return list
}

// find returns an effect at a kind of rates, or nil.
func find(effects []effect, name, kind string, tau, ranks int) *effect {
	for i, e := range effects {
		if e.Name == name && e.Kind == kind && e.Tau == tau && e.Ranks == ranks {
			return &effects[i]
		}
	}
	return nil
}
