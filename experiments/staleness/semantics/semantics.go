// Package semantics measures how the best learning rate of embedding rows depends on how the row gradients of
// several ranks are merged and scaled:
//
//	merge: step    the gradients of one step are added; one optimizer step per row
//	merge: rank    one optimizer step per row and rank that has the row, as in Persia
//	scale: global  gradients are divided by the samples of the step
//	scale: rank    gradients are divided by the samples of the rank, as in Persia: N times as large
//
// For SGD, scale: rank with N equal ranks is exactly scale: global with N times the learning rate. Adaptive
// optimizers divide by the size of past gradients, so they have no such factor. With merge: rank, they also
// see different gradients: N per step, each with more noise.
package semantics

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// New returns the experiment.
func New() *report.Experiment {
	return trial.Study(report.Experiment{
		Name:     "semantics",
		Question: "How does the best learning rate of rows depend on the merging and scaling of gradients?",
		Help: `Trains with each way to merge (step, rank) and to scale (global, rank) row
gradients, with SGD, Adagrad, row-wise Adagrad and Adam for rows, on several
numbers of ranks. The tuner gives every variant the same trials, on rows that are
not used afterwards. The variant is then trained under every seed at the nominal
rate of the optimizer, at its best rate and, for the move from Persia's setting
to this project's, at the best rate of the other. The rate of the dense network
is fixed.

The result is the factor for the learning rate when moving from Persia's setting
(merge rank, scale rank) to this project's (merge step, scale global), on
generated data and on adult-income. The full version takes about an hour on two
cores.`,
		QuickTime: 60 * time.Second,
	}, func(o report.Options) (*plan, error) {
		p := newPlan(200_000, []int{1, 4, 8}, tune.Grid(1, 2, 6))
		if o.Quick {
			p = newPlan(20_000, []int{1, 4}, tune.Grid(1, 4, 3))
		}
		p.Seed, p.Seeds = o.Seed, o.Seeds
		return p, nil
	}, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed       uint64      `yaml:"seed"` // the first
	Seeds      int         `yaml:"seeds"`
	Job        job.Job     `yaml:"job"` // what all variants share
	Optimizers []optimizer `yaml:"optimizers"`
	Ranks      []int       `yaml:"ranks"` // ascending, from 1
	// TuningSeeds are the seeds under which the tuner compares the best candidates.
	TuningSeeds int `yaml:"tuning-seeds"`
	// Factors are the candidates of the tuner: rate ÷ nominal rate, ascending, with 1.
	Factors  []float64        `yaml:"factors"`
	DataSets []report.DataSet `yaml:"data"`
}

// optimizer is an optimizer of rows with its nominal learning rate: the order of magnitude that suits one
// rank.
type optimizer struct {
	Kind string  `yaml:"kind"`
	Rate float64 `yaml:"nominal-rate"`
}

// newPlan returns a plan for all optimizers. Sequential training merges and scales as the ranks of sync do,
// and gives its bits.
func newPlan(rows int, ranks []int, factors []float64) *plan {
	t := job.Default()
	t.Training.Mode = job.Sequential
	t.Model.EmbeddingDim, t.Model.Top = 8, []int{32, 16}
	t.Model.Optimizer.Rate = 0.01
	t.Training.GlobalBatch = 256
	return &plan{
		Job: t, Ranks: ranks, Factors: factors, TuningSeeds: tune.SeedsWanted,
		Optimizers: []optimizer{
			{opt.SGD, 8}, {opt.Adagrad, 0.1}, {opt.RowwiseAdagrad, 0.1}, {opt.Adam, 0.01},
		},
		DataSets: []report.DataSet{report.Generated(0.1, rows, rows), report.AdultIncome()},
	}
}

// variant is one way to train.
type variant struct {
	Optimizer string `json:"optimizer"`
	Ranks     int    `json:"ranks"`
	Merge     string `json:"merge"`
	Scale     string `json:"scale"`
}

func (v variant) String() string {
	if v.Ranks == 1 {
		return v.Optimizer + ", 1 rank"
	}
	return fmt.Sprintf("%s, %d ranks, merge:%s scale:%s", v.Optimizer, v.Ranks, v.Merge, v.Scale)
}

// persia returns Persia's way to train with an optimizer on a number of ranks, and our returns Tandem's.
func persia(optimizer string, ranks int) variant {
	return variant{optimizer, ranks, job.MergeRank, job.ScaleRank}
}

func our(optimizer string, ranks int) variant {
	return variant{optimizer, ranks, job.MergeStep, job.ScaleGlobal}
}

// variants returns the ways to train with an optimizer. One rank has nothing to merge and equal scales, so it
// is one variant.
func (p *plan) variants(o optimizer) (list []variant) {
	list = append(list, our(o.Kind, 1))
	for _, ranks := range p.Ranks[1:] {
		for _, merge := range []string{job.MergeStep, job.MergeRank} {
			for _, scale := range []string{job.ScaleGlobal, job.ScaleRank} {
				list = append(list, variant{o.Kind, ranks, merge, scale})
			}
		}
	}
	return list
}

// arm returns the arm of a variant for the tuner.
func (p *plan) arm(w report.DataSet, v variant, nominal float64) tune.Arm {
	return tune.Arm{
		Name:    w.Name + ", " + v.String(),
		Nominal: tune.Rates{Rows: nominal, Dense: p.Job.Model.Optimizer.Rate},
		Job: func(seed uint64) job.Job {
			j := p.Job
			j.Data, j.Rows.Optimizer.Kind, j.Roles.Ranks = w.WithSeed(seed), v.Optimizer, v.Ranks
			j.Training.Merge, j.Training.Scale, j.Training.Seed = v.Merge, v.Scale, seed
			return j
		},
	}
}

// rates returns the candidates of the tuner for an optimizer. The rate of the network is fixed.
func (p *plan) rates(o optimizer) tune.Plan {
	t := tune.Plan{Dense: []float64{p.Job.Model.Optimizer.Rate}, Seeds: p.TuningSeeds}
	for _, factor := range p.Factors {
		t.Rows = append(t.Rows, o.Rate*factor)
	}
	return t
}

// result holds the results of all trainings on one data set.
type result struct {
	DataSet  string           `json:"data"`
	Variants []*variantResult `json:"variants"` // by optimizer, in the order of plan.variants
	Moves    []*move          `json:"moves"`    // by optimizer and ranks
}

// variantResult holds the results of one variant.
type variantResult struct {
	Variant variant     `json:"variant"`
	Choice  tune.Choice `json:"choice"`
	// Nominal and Tuned are the quality at the nominal rate and at the chosen one.
	Nominal judge.Quality `json:"nominal"`
	Tuned   judge.Quality `json:"tuned"`

	arm tune.Arm
}

// move is a pair of variants: Persia's setting and this project's.
type move struct {
	Optimizer string `json:"optimizer"`
	Ranks     int    `json:"ranks"`
	// Factor is the best rate of this project's setting ÷ the best rate of Persia's, over the seeds of
	// tuning.
	Factor metric.Interval `json:"factor"`
	AtEdge bool            `json:"at_edge"` // of the grid: one of the two rates
	// Same and TimesN compare this project's setting at Persia's best rate, and at N times that, with its own
	// best rate.
	Same   *judge.Comparison `json:"at_persias_rate"`
	TimesN *judge.Comparison `json:"at_n_times_persias_rate"`
}

func comparisons(results []*result) (list []*judge.Comparison) {
	for _, r := range results {
		for _, m := range r.Moves {
			list = append(list, m.Same, m.TimesN)
		}
	}
	return list
}

// measure tunes every variant on every data set and trains it under every seed.
func (p *plan) measure(ctx context.Context, lab *trial.Lab) (results []*result, err error) {
	trainings := 0
	for _, o := range p.Optimizers {
		rates := p.rates(o)
		trainings += len(p.variants(o))*(rates.Trials()+2*p.Seeds) + (len(p.Ranks)-1)*2*p.Seeds
	}
	lab.Expect(trainings * len(p.DataSets))
	for _, w := range p.DataSets {
		r := &result{DataSet: w.Name}
		for _, o := range p.Optimizers {
			if err := p.measureOptimizer(ctx, lab, w, o, r); err != nil {
				return nil, err
			}
		}
		results = append(results, r)
	}
	judge.Judge(comparisons(results))
	return results, nil
}

// measureOptimizer tunes and trains the variants of an optimizer, and adds them and the moves to a result.
func (p *plan) measureOptimizer(
	ctx context.Context, lab *trial.Lab, w report.DataSet, o optimizer, r *result,
) error {
	var arms []tune.Arm
	for _, v := range p.variants(o) {
		arms = append(arms, p.arm(w, v, o.Rate))
	}
	choices, err := tune.Tune(ctx, lab, arms, p.rates(o))
	if err != nil {
		return err
	}
	for i, v := range p.variants(o) {
		one := &variantResult{Variant: v, Choice: choices[i], arm: arms[i]}
		if one.Nominal, err = p.train(ctx, lab, &one.arm, o.Rate); err != nil {
			return err
		}
		if one.Tuned, err = p.train(ctx, lab, &one.arm, one.Choice.Rows); err != nil {
			return err
		}
		r.Variants = append(r.Variants, one)
	}
	for _, ranks := range p.Ranks[1:] {
		ours, theirs := r.find(our(o.Kind, ranks)), r.find(persia(o.Kind, ranks))
		m := &move{
			Optimizer: o.Kind, Ranks: ranks, Factor: tune.RowRatio(ours.Choice, theirs.Choice),
			AtEdge: ours.Choice.AtEdge || theirs.Choice.AtEdge,
		}
		if m.Same, err = p.compare(ctx, lab, w.Name, ours, theirs.Choice.Rows, 1); err != nil {
			return err
		}
		if m.TimesN, err = p.compare(ctx, lab, w.Name, ours, theirs.Choice.Rows, ranks); err != nil {
			return err
		}
		r.Moves = append(r.Moves, m)
	}
	return nil
}

func (r *result) find(want variant) *variantResult {
	return r.Variants[slices.IndexFunc(r.Variants, func(v *variantResult) bool { return v.Variant == want })]
}

func (p *plan) specs(a *tune.Arm, rate float64) (specs []trial.Spec) {
	for i := range p.Seeds {
		j := a.JobAt(tune.Rates{Rows: rate, Dense: a.Nominal.Dense}, p.Seed+uint64(i))
		specs = append(specs, trial.Spec{Job: j, Part: trial.Test, Name: a.Name})
	}
	return specs
}

func (p *plan) train(ctx context.Context, lab *trial.Lab, a *tune.Arm, rate float64) (q judge.Quality,
	err error) {
	results, err := lab.Run(ctx, p.specs(a, rate))
	q, _ = trial.Quality(results)
	return q, err
}

// compare compares this project's setting at a multiple of Persia's best rate with its own best rate.
func (p *plan) compare(ctx context.Context, lab *trial.Lab, data string, ours *variantResult, persias float64,
	times int) (*judge.Comparison, error) {
	rate := persias * float64(times)
	there, err := p.train(ctx, lab, &ours.arm, rate)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s, N = %d: ", ours.Variant.Optimizer, ours.Variant.Ranks)
	c := judge.Pair(data, fmt.Sprintf("%sPersia's rate × %d", name, times), name+"own rate", p.Seed, there,
		ours.Tuned)
	c.RowDeviation, err = lab.RowDeviation(p.specs(&ours.arm, rate), p.specs(&ours.arm, ours.Choice.Rows))
	return c, err
}
