package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

// newAsync returns the experiment that divides the AUC that asynchronous training loses into its causes. A
// chain of arms changes one thing at a time, in sequential training with imposed delays; the last arm is
// async-ps itself. The difference of neighbours is a part, and the parts add up to async-ps − sync. The last
// part is the residual: what the delays do not explain.
func newAsync() *report.Experiment {
	return trial.Study(report.Experiment{
		Name:     "async-decomposition",
		Question: "Why is asynchronous training worse than synchronous?",
		Help: `Divides the AUC of async-ps less that of sync into parts. Each arm of a chain
changes one thing of the arm before:

  sync
  rows by rank    each rank's gradient of a row is an optimizer step
  N applications  each rank's gradient of the network is a step, too; all N are
                  computed from the same parameters
  rows late       rows have the delays that async-ps has
  network late    so has the network
  async-ps        on the simulated cluster; the rest is the residual

Beside them: batches of 1/N without delay, and async-average. All trainings are
deterministic. Arms are compared at the tuned rates of sync and each at its own,
on generated data and on adult-income, with Adam and with SGD for the network.
The full version takes about an hour on two slow cores.`,
		QuickTime: 55 * time.Second,
	}, func(o report.Options) (*asyncPlan, error) {
		p := newAsyncPlan(2, tune.Grid(nominalRow, 4, 1), report.Generated(0.1, 40_000, 30_000),
			report.AdultIncome())
		if o.Quick {
			p = newAsyncPlan(2, []float64{nominalRow}, report.Generated(0.1, 12_000, 12_000),
				report.AdultIncome())
		}
		p.Seed, p.Seeds = o.Seed, o.Seeds
		return p, nil
	}, (*asyncPlan).measure, (*asyncPlan).report)
}

// asyncPlan is everything that is fixed before the first training.
type asyncPlan struct {
	Seed       uint64           `yaml:"seed"` // the first
	Seeds      int              `yaml:"seeds"`
	Job        job.Job          `yaml:"job"` // of all arms
	DataSets   []report.DataSet `yaml:"data"`
	Optimizers []optimizer      `yaml:"optimizers"` // of the network
	RowRates   []float64        `yaml:"candidates-rows"`
}

// optimizer is an optimizer of the network with its candidates of the learning rate.
type optimizer struct {
	Kind  string    `yaml:"kind"`
	Rate  float64   `yaml:"nominal-rate"`
	Rates []float64 `yaml:"candidates"`
}

const (
	nominalRow    = 0.1
	nominalAdam   = 0.003
	nominalSGD    = 0.4
	samplesOfRank = 32 // in a global batch
)

// newAsyncPlan returns a plan with candidates of the network's rate, steps on each side of the nominal one.
func newAsyncPlan(steps int, rowRates []float64, data ...report.DataSet) *asyncPlan {
	j := smallJob()
	j.Training.GlobalBatch = samplesOfRank * j.Roles.Ranks
	j.Training.Prefetch = 4
	// A gradient is the mean over a rank's samples in all arms, so that arms with several applications of
	// smaller batches differ in nothing else.
	j.Training.Scale = job.ScaleRank
	j.Cluster = job.PersiaCluster()
	return &asyncPlan{
		Job: j, DataSets: data, RowRates: rowRates,
		Optimizers: []optimizer{
			{opt.Adam, nominalAdam, tune.Grid(nominalAdam, 4, steps)},
			{opt.SGD, nominalSGD, tune.Grid(nominalSGD, 4, steps)},
		},
	}
}

// Arms. Each of the first six changes one thing of the one before it.
const (
	sync         = "sync"
	byRank       = "rows by rank"
	applications = "N applications"
	rowsLate     = "rows late"
	denseLate    = "network late"
	asyncPS      = "async-ps"
	smallBatch   = "batch ÷ N"
	averaged     = "async-average"
)

// chain is the number of differences from sync to async-ps, which add up to the total.
const chain = 5

// asyncDifferences returns the differences along the chain, their total, and some that do not belong to it.
func asyncDifferences() []arms.Difference {
	return []arms.Difference{
		arms.Less("merging", "a step of the rows for each rank", byRank, sync),
		arms.Less("applications", "a step of the network for each rank", applications, byRank),
		arms.Less("row-staleness", "late rows", rowsLate, applications),
		arms.Less("dense-staleness", "a late network", denseLate, rowsLate),
		arms.Less("residual", "residual: the order of events", asyncPS, denseLate),
		arms.Less("total", "async-ps − sync", asyncPS, sync),
		arms.Less("batch", "batch ÷ N, no delay − sync", smallBatch, sync),
		arms.Less("in-batch", "no delay − N applications", smallBatch, applications),
		arms.Less("averaging", "async-average − sync", averaged, sync),
	}
}

// delays are imposed delays, in steps of one rank's batch.
type delays struct {
	rows, dense delay.Spec // those that async-ps has
	inStep      delay.Spec // those of batches that are computed from the same parameters
}

// distribution returns delays with the shares of a histogram.
func distribution(h *histogram.Histogram) delay.Spec {
	s := delay.Spec{Kind: delay.Distribution, Weights: make([]float64, h.Max()+1)}
	for value, count := range h.All() {
		s.Weights[value] = float64(count)
	}
	return s
}

// within returns the delays with which the batches of all ranks in a step are computed from the parameters
// before the step and applied at its end, one after the other: ranks−1, …, 1, 0, again and again.
func within(ranks int) (delay.Spec, error) {
	var text strings.Builder
	text.WriteString("delay\n")
	for rank := range ranks {
		fmt.Fprintln(&text, ranks-1-rank)
	}
	s := delay.Spec{Kind: delay.Traced, File: fmt.Sprintf("within a step of %d ranks", ranks)}
	err := s.Load(func(string) ([]byte, error) { return []byte(text.String()), nil })
	return s, err
}

// set returns the arms on a data set with an optimizer of the network.
func (p *asyncPlan) set(w report.DataSet, o optimizer, late delays) *arms.Set {
	s := &arms.Set{Data: w, Common: sync, Seed: p.Seed, Seeds: p.Seeds,
		Rates: tune.Plan{Rows: p.RowRates, Dense: o.Rates, Seeds: tune.SeedsMin}}
	s.Data.Name += ", " + o.Kind
	for _, name := range []string{sync, byRank, applications, rowsLate, denseLate, asyncPS, smallBatch,
		averaged} {
		a := tune.Arm{
			Name: name, Nominal: tune.Rates{Rows: nominalRow, Dense: o.Rate}, Simulated: simulated(name),
			Job: func(seed uint64) job.Job { return p.job(w, o, name, late, seed) },
		}
		if inParts(name) && o.Kind == opt.SGD {
			a.DenseSteps = p.Job.Roles.Ranks // async-ps divides gradients by the ranks, too
		}
		s.Arms = append(s.Arms, a)
	}
	return s
}

// inParts reports whether an arm takes a step for each rank's part of a global batch, in sequence.
func inParts(name string) bool {
	return name == applications || name == rowsLate || name == denseLate || name == smallBatch
}

func simulated(name string) bool { return name == asyncPS || name == averaged }

func (p *asyncPlan) job(w report.DataSet, o optimizer, name string, late delays, seed uint64) job.Job {
	mode := job.Sequential
	if simulated(name) {
		mode = name
	}
	j := p.Job.InMode(mode)
	j.Data = w.WithSeed(seed)
	j.Model.Optimizer.Kind = o.Kind
	t := &j.Training
	t.Seed = seed
	switch name {
	case sync:
		t.Merge = job.MergeStep
	case byRank:
		t.Merge = job.MergeRank
	case applications:
		t.Delay, t.DelayDense = late.inStep, late.inStep
	case rowsLate:
		t.Delay, t.DelayDense = late.rows, late.inStep
	case denseLate:
		t.Delay, t.DelayDense = late.rows, late.dense
	}
	if inParts(name) {
		t.GlobalBatch /= j.Roles.Ranks
		t.Groups /= j.Roles.Ranks
		j.Roles.Ranks = 1
	}
	return j
}

// asyncResult holds the results of a data set with an optimizer of the network.
type asyncResult struct {
	*arms.Result
	// RowDelay and DenseDelay are the means of the delays that async-ps has, in steps of a rank's batch.
	RowDelay   float64     `json:"row_delay_steps"`
	DenseDelay float64     `json:"dense_delay_steps"`
	Parts      []*arms.Gap `json:"parts"` // their sum is Total
	Total      *arms.Gap   `json:"total"`
	Beside     []*arms.Gap `json:"beside"`
}

// all returns the differences in the order of asyncDifferences.
func (r *asyncResult) all() []*arms.Gap {
	return slices.Concat(r.Parts, []*arms.Gap{r.Total}, r.Beside)
}

// gaps returns the differences of all results at both kinds of rates.
func gaps(results []*asyncResult) (list []*judge.Comparison) {
	for _, r := range results {
		for _, g := range r.all() {
			list = append(list, g.Own, g.Common)
		}
	}
	return list
}

func (p *asyncPlan) measure(ctx context.Context, lab *trial.Lab) (results []*asyncResult, err error) {
	each := p.set(report.DataSet{}, p.Optimizers[0], delays{}).Trainings() + 1 // and one that measures delays
	lab.Expect(len(p.DataSets) * len(p.Optimizers) * each)
	for _, w := range p.DataSets {
		for _, o := range p.Optimizers {
			r, err := p.measureOne(ctx, lab, w, o)
			if err != nil {
				return nil, err
			}
			results = append(results, r)
		}
	}
	judge.Judge(gaps(results))
	return results, nil
}

func (p *asyncPlan) measureOne(
	ctx context.Context, lab *trial.Lab, w report.DataSet, o optimizer,
) (r *asyncResult, err error) {
	var late delays
	if late.inStep, err = within(p.Job.Roles.Ranks); err != nil {
		return nil, err
	}
	// A training of async-ps under a seed of the tuner has the delays, which do not depend on rates.
	j := p.job(w, o, asyncPS, late, tune.FirstSeed)
	tune.Rates{Rows: nominalRow, Dense: o.Rate}.Apply(&j)
	trained, err := lab.Run(ctx, []trial.Spec{{Job: j, Part: trial.Test, Simulated: true,
		Name: fmt.Sprintf("%s, %s, delays of async-ps", w.Name, o.Kind)}})
	if err != nil {
		return nil, err
	}
	if why := trained[0].Diverged; why != "" {
		return nil, fmt.Errorf("async-ps at the nominal rates of %s: %s", o.Kind, why)
	}
	s := &trained[0].Staleness
	late.rows, late.dense = distribution(&s.Inflight), distribution(&s.Dense)
	r = &asyncResult{RowDelay: s.Inflight.Mean(), DenseDelay: s.Dense.Mean()}
	if r.Result, err = p.set(w, o, late).Measure(ctx, lab); err != nil {
		return nil, err
	}
	all, err := r.Gaps(lab, asyncDifferences())
	if err != nil {
		return nil, err
	}
	r.Parts, r.Total, r.Beside = all[:chain], all[chain], all[chain+1:]
	return r, nil
}

func (p *asyncPlan) report(results []*asyncResult) *report.Report {
	r := &report.Report{
		Comparisons: gaps(results), Notes: p.notes(results),
		Figures: []report.Figure{partFigure(results, arms.Own), partFigure(results, arms.Common)},
	}
	var armTables []cli.Table
	for _, one := range results {
		r.Tables, armTables = append(r.Tables, one.partTable()), append(armTables, one.armTable())
		r.Findings = append(r.Findings, one.finding(arms.Common), one.finding(arms.Own))
		for i, g := range one.all() {
			for _, kind := range []arms.Kind{arms.Own, arms.Common} {
				r.Quantities = append(r.Quantities, report.Quantity{
					Name: g.Name + "-" + report.Slug(one.DataSet) + kind.Suffix(),
					What: fmt.Sprintf("AUC, %s, on %s, %s", asyncDifferences()[i].Text, one.DataSet,
						asyncRates(kind)),
					Interval: g.At(kind).AUC, Over: report.OverSeeds,
				})
			}
		}
	}
	r.Tables = append(r.Tables, armTables...)
	return r
}

func asyncRates(kind arms.Kind) string {
	if kind == arms.Own {
		return "each arm at its own rates"
	}
	return "at the rates of sync"
}

// partTable returns the parts, their sum, and what stands beside.
func (r *asyncResult) partTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC differences in thousandths ± half the 95 % interval; * different, " +
			"= equivalent, after Holm's adjustment. The parts above the sum add up to it; those below do " +
			"not belong to it",
		Header: []string{"part", "at the rates of sync", "at own rates"}, Words: 1,
	}
	for i, g := range r.all() {
		name := asyncDifferences()[i].Text
		if g == r.Total {
			name = "= " + name
		}
		t.Add(name, report.MilliVerdict(g.Common), report.MilliVerdict(g.Own))
	}
	return t
}

func (r *asyncResult) armTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": learning rates (! the best candidate is at an end of the grid) and AUC, " +
			"mean over seeds ± half the 95 % interval",
		Header: []string{"arm", "rows", "network", "at the rates of sync", "at own rates"}, Words: 1,
	}
	for _, a := range r.Arms {
		rows, network := a.RateTexts(2)
		t.Add(a.Name, rows, network, report.Level(a.Common.AUC), report.Level(a.Own.AUC))
	}
	return t
}

// partFigure shows the parts as a series for each data set and optimizer.
func partFigure(results []*asyncResult, kind arms.Kind) report.Figure {
	f := report.Figure{
		Name:  strings.ReplaceAll(string(kind), " ", "-"),
		Title: "What async-ps less sync consists of, " + asyncRates(kind),
		X: report.Places("rows by\nrank", "N appli-\ncations", "rows\nlate", "network\nlate", "residual",
			"sum"),
		Y:     report.Axis{Label: "AUC difference (bars: 95 %)"},
		Lines: report.MarginLines(-0.5, chain+0.5),
	}
	for i, r := range results {
		l := report.Line{Name: r.DataSet, Color: i, Scatter: true}
		for k, g := range r.all()[:chain+1] {
			x := float64(k) + 0.15*(float64(i)-float64(len(results)-1)/2)
			l.Points = append(l.Points, report.IntervalPoint(x, g.At(kind).AUC))
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// finding returns the sentence on the sum and its parts whose intervals exclude 0.
func (r *asyncResult) finding(kind arms.Kind) string {
	var clear []string
	for i, g := range r.Parts {
		if v := g.At(kind).AUC; v.Low > 0 || v.High < 0 {
			clear = append(clear, asyncDifferences()[i].Text+" "+report.PlusMinus(v))
		}
	}
	what := "no part has an interval that excludes 0"
	if clear != nil {
		what = "parts whose intervals, before Holm's adjustment, exclude 0: " + strings.Join(clear, ", ")
	}
	return fmt.Sprintf("%s, %s: async-ps − sync is %s; %s.", r.DataSet, asyncRates(kind),
		report.PlusMinus(r.Total.At(kind).AUC), what)
}

func (p *asyncPlan) notes(results []*asyncResult) []string {
	diverged := 0
	var late []string
	for _, r := range results {
		diverged += r.Diverged
		late = append(late, fmt.Sprintf("%s %.1f and %.1f", r.DataSet, r.RowDelay, r.DenseDelay))
	}
	notes := []string{
		fmt.Sprintf("Each arm changes one thing of the arm before: sync; a step of the rows for each of "+
			"N = %d ranks; a step of the network for each rank, all N from the same parameters; rows late; "+
			"network late; async-ps on the simulated cluster. All but the last are trained in sequence; all "+
			"are repeatable to the bit.", p.Job.Roles.Ranks),
		"No part is chosen to make the sum right: the residual is async-ps less the sequential training " +
			"with its delays. Delays are drawn from those that async-ps had, so the residual is their " +
			"order and their correlation. Parts depend on the order in which they are added.",
		"Mean delays of rows and network, in steps of one rank's batch: " + strings.Join(late, "; ") + ".",
		"A gradient of rows is the mean over a rank's samples (scale: rank) in all arms. Async-ps divides " +
			"a rank's gradient of the network by N, which matters with SGD and not with Adam; so do the " +
			"other arms that take N steps.",
		fmt.Sprintf("Optimizers are those of the network; rows have Adagrad. %d trainings diverged and "+
			"count as a guess of ½.", diverged),
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
