package timetoauc

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/sim/cost"
	"tandem/sim/device"
)

type results struct {
	// Oracle has the AUC of the probabilities that labels were drawn with, by seed, and Target the AUC that
	// is to be reached.
	Oracle   []float64        `json:"oracle_auc"`
	Target   []float64        `json:"target_auc"`
	Networks []*networkResult `json:"networks"`
}

type networkResult struct {
	Network string          `json:"network"`
	Tuning  []tune.Choice   `json:"tuning"`
	Options []*optionResult `json:"options"`
}

type optionResult struct {
	Cluster string     `json:"cluster"`
	GPUs    int        `json:"gpus"`
	Mode    string     `json:"mode"`
	Rates   tune.Rates `json:"rates"`
	Runs    []run      `json:"runs"`
	// Reached is the number of runs that reach the target.
	Reached int `json:"reached"`
	// Seconds and Dollars are what the target takes; nil unless all runs reach it.
	Seconds *metric.Interval `json:"seconds_to_target"`
	Dollars *metric.Interval `json:"dollars_to_target"`
	Hourly  metric.Interval  `json:"dollars_per_hour"`
	// Null is the time to the target by the null model: the steps of sync times its mean step; 0 if sync does
	// not reach the target.
	Null float64 `json:"null_model_s"`
	// Curve is the mean AUC over runs, at the geometric mean of their seconds.
	Curve []evaluation.Point `json:"curve"`
}

// run is a training under one seed at one point of what is unknown.
type run struct {
	Seed     uint64  `json:"seed"`
	AUC      float64 `json:"auc"` // after training
	Diverged string  `json:"diverged,omitempty"`
	// Seconds are simulated, and StepSeconds those of a step in the middle of training.
	Seconds     float64 `json:"seconds"`
	StepSeconds float64 `json:"step_s"`
	Hourly      float64 `json:"dollars_per_hour"`
	// To is the first evaluation that reaches the target; nil if none does. Dollars are until then.
	To      *evaluation.Point `json:"to_target"`
	Dollars float64           `json:"dollars_to_target,omitempty"`
}

func (p *plan) measure(ctx context.Context, lab *trial.Lab) (*results, error) {
	oracle, err := p.Data.Oracle(p.Seed, p.Seeds)
	if err != nil {
		return nil, err
	}
	lab.Expect(p.trainings())
	trained, err := lab.Run(ctx, p.reference())
	if err != nil {
		return nil, err
	}
	r := &results{Oracle: oracle.AUC}
	for i := range trained {
		auc, _ := trained[i].Scores()
		r.Target = append(r.Target, auc)
	}
	for _, n := range p.Networks {
		one, err := p.measureNetwork(ctx, lab, n, r.Target)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", n.Name, err)
		}
		r.Networks = append(r.Networks, one)
	}
	return r, nil
}

// measureNetwork tunes every mode on every number of GPUs of the first cluster, and trains all options at
// these rates.
func (p *plan) measureNetwork(ctx context.Context, lab *trial.Lab, n network, targets []float64) (
	*networkResult, error) {
	options := p.options(n)
	var arms []tune.Arm
	for _, o := range options[:len(p.GPUs)*len(p.Modes)] {
		arms = append(arms, p.arm(o))
	}
	choices, err := tune.Tune(ctx, lab, arms, p.Tuning)
	if err != nil {
		return nil, err
	}
	var specs []trial.Spec
	for i := range options {
		for number := range p.Seeds {
			specs = append(specs, p.spec(&options[i], choices[i%len(choices)].Rates, number))
		}
	}
	trained, err := lab.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	r := &networkResult{Network: n.Name, Tuning: choices}
	for i, o := range options {
		one := &optionResult{Cluster: o.cluster.Name, GPUs: o.gpus, Mode: o.mode,
			Rates: choices[i%len(choices)].Rates}
		ofOption := trained[i*p.Seeds:][:p.Seeds]
		for number := range ofOption {
			hourly, err := p.hourly(&o, number)
			if err != nil {
				return nil, err
			}
			one.Runs = append(one.Runs,
				newRun(p.Seed+uint64(number), &ofOption[number], targets[number], hourly))
		}
		one.summarise()
		one.Curve = meanCurve(ofOption)
		r.Options = append(r.Options, one)
	}
	for _, o := range r.Options {
		o.Null = null(r.find(o.Cluster, o.GPUs, job.Sync))
	}
	return r, nil
}

// summarise sets what follows from the runs of an option.
func (r *optionResult) summarise() {
	r.Hourly = nextValue(r.values(func(r *run) float64 { return r.Hourly }))
	for i := range r.Runs {
		if r.Runs[i].To != nil {
			r.Reached++
		}
	}
	if r.Reached == len(r.Runs) {
		seconds, dollars := nextValue(r.values(inTime().of)), nextValue(r.values(inCents().of))
		r.Seconds, r.Dollars = &seconds, &dollars
	}
}

// find returns an option; nil if there is none.
func (r *networkResult) find(cluster string, gpus int, mode string) *optionResult {
	for _, o := range r.Options {
		if o.Cluster == cluster && o.GPUs == gpus && o.Mode == mode {
			return o
		}
	}
	return nil
}

// null returns the time to the target by the null model: the mean number of steps of sync times its mean
// step.
func null(sync *optionResult) float64 {
	steps, step := 0.0, 0.0
	for i := range sync.Runs {
		if sync.Runs[i].To == nil {
			return 0
		}
		steps += float64(sync.Runs[i].To.Step) / float64(len(sync.Runs))
		step += sync.Runs[i].StepSeconds / float64(len(sync.Runs))
	}
	return steps * step
}

// newRun returns a training with when it reached its target.
func newRun(seed uint64, t *trial.Result, target, hourly float64) run {
	auc, _ := t.Scores()
	r := run{Seed: seed, AUC: auc, Diverged: t.Diverged, StepSeconds: t.StepSeconds, Hourly: hourly}
	if n := len(t.Curve); n > 0 {
		r.Seconds = t.Curve[n-1].Seconds
	}
	i := slices.IndexFunc(t.Curve, func(p evaluation.Point) bool { return p.AUC >= target })
	if i >= 0 {
		r.To, r.Dollars = &t.Curve[i], t.Curve[i].Seconds/3600*hourly
	}
	return r
}

// values returns a number of every run.
func (r *optionResult) values(of func(*run) float64) (list []float64) {
	for i := range r.Runs {
		list = append(list, of(&r.Runs[i]))
	}
	return list
}

// nextValue returns the geometric mean of positive values, and where the next value of the same lognormal
// distribution is with 95 % probability:
//
//	exp(m ± t(0.975, n−1)·s·√(1 + 1/n))
//
// m and s are the mean and the standard deviation of the logarithms. A user has one cluster, whose properties
// are one draw from what is unknown, and one training: the interval of a mean would be too narrow for both.
func nextValue(values []float64) metric.Interval {
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	mean := metric.MeanInterval(logs)
	half := (mean.High - mean.Estimate) * math.Sqrt(float64(len(values)+1))
	return metric.Interval{Estimate: math.Exp(mean.Estimate), Low: math.Exp(mean.Estimate - half),
		High: math.Exp(mean.Estimate + half)}
}

// meanCurve returns the curve of trainings with the same steps; what diverged is left out.
func meanCurve(trained []trial.Result) []evaluation.Point {
	var curve []evaluation.Point
	n := 0.0
	for i := range trained {
		if trained[i].Curve == nil {
			continue
		}
		if n++; curve == nil {
			curve = make([]evaluation.Point, len(trained[i].Curve))
		}
		for k, at := range trained[i].Curve {
			curve[k].Step, curve[k].Samples = at.Step, at.Samples
			curve[k].Seconds += math.Log(at.Seconds)
			curve[k].AUC += at.AUC
			curve[k].LogLoss += at.LogLoss
		}
	}
	for k := range curve {
		curve[k].Seconds = math.Exp(curve[k].Seconds / n)
		curve[k].AUC /= n
		curve[k].LogLoss /= n
	}
	return curve
}

func (p *plan) setPricesOf(h *cost.Hardware) {
	set := func(name string, of *quantity.Value[unit.Dollars]) {
		if v, ok := p.Prices[name]; ok {
			*of = v
		}
	}
	set(h.Accelerator.Name, &h.Accelerator.DollarsPerHour)
	for _, host := range []*device.HostProfile{&h.Server, &h.EmbeddingWorkers.Host, &h.EmbeddingPSs.Host,
		&h.Loaders.Host} {
		set(host.Name, &host.DollarsPerHour)
	}
}

// hourly returns the dollars an hour of an option, at the point of the training of a number. A dense PS has a
// host of its own.
func (p *plan) hourly(o *option, number int) (float64, error) {
	h, _, err := cost.Load(&o.cluster.Section, "")
	if err != nil {
		return 0, err
	}
	p.setPricesOf(h)
	j, dense := p.job(o, p.Seed), 0
	if rule, err := j.Rule(); err == nil && rule.Dense().DensePSs {
		dense = j.Roles.DensePSs
	}
	price, missing := p.box(number).Of(h).DollarsPerHour(j.Roles.Ranks, dense)
	if missing != "" {
		return 0, fmt.Errorf("%s has no price", missing)
	}
	return float64(price), nil
}
