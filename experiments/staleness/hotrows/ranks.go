package hotrows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

// NewRanks returns the experiment hot-ranks.
func NewRanks() *report.Experiment {
	grid := report.NewGrid(report.Taus)
	return trial.Study(report.Experiment{
		Name:     "hot-ranks",
		Question: "Is hybrid as good as sync when every rank holds the hot rows, and how fast is it?",
		Help: `Trains sync, hybrid, and hybrid with hot rows, which at least a share of the
samples contain: every rank holds them and reduces their gradients with those of
the network (rows.hot of a job). Hybrid runs on Persia's cluster, simulated, with
real gradients, so that its staleness is an outcome and every run gives the same
bits. Which rows are hot is chosen by a share, and once by the job itself (auto). Every
arm is compared with sync at its own tuned rates and at those of sync.

The full version has adult-income, Frappe, MovieLens and three generated sets, and
takes about half an hour on two slow cores.`,
		QuickTime: 60 * time.Second,
		AddFlags:  grid.AddFlags,
	}, func(o report.Options) (*rankPlan, error) {
		taus := grid.Taus(15)
		if taus[0] == 0 {
			return nil, cli.UsageError("without staleness hybrid is sync: leave 0 out", "--taus: 0 steps")
		}
		p := newRankPlan(o.Quick, taus)
		p.Seed, p.Seeds, p.folder = o.Seed, o.Seeds, o.DataFolder
		return p, nil
	}, (*rankPlan).measure, (*rankPlan).report)
}

// rankPlan is everything that is fixed before the first training.
type rankPlan struct {
	Seed     uint64           `yaml:"seed"` // the first
	Seeds    int              `yaml:"seeds"`
	Job      job.Job          `yaml:"job"`  // what all trainings share
	DataSets []report.DataSet `yaml:"data"` // those that the data folder has are measured
	Taus     []int            `yaml:"taus"` // the bounds on own staleness, in steps
	// Shares are the least shares of the samples that contain a hot row, descending.
	Shares  []float64  `yaml:"shares"`
	Nominal tune.Rates `yaml:"nominal"`
	Rates   tune.Plan  `yaml:"candidates"`

	folder string // of real data
}

func newRankPlan(quick bool, taus []int) *rankPlan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top, j.Training.GlobalBatch = 8, []int{32, 16}, 128
	j.Cluster = job.PersiaCluster()
	nominal := tune.Rates{Rows: 0.1, Dense: 0.003}
	p := &rankPlan{
		Job: j, Taus: taus, Shares: []float64{0.1, 0.01, 0.001}, Nominal: nominal,
		Rates: tune.Plan{
			Rows: tune.Grid(nominal.Rows, 4, 1), Dense: tune.Grid(nominal.Dense, 4, 2), Seeds: tune.SeedsMin,
		},
		DataSets: []report.DataSet{
			report.AdultIncome(), report.Frappe(), report.MovieLens100K(),
			report.Generated(0.5, 40_000, 30_000), report.Like("criteo", 40_000, 30_000),
			report.Like("avazu", 40_000, 30_000),
		},
	}
	if quick {
		p.Shares, p.Rates.Dense = []float64{0.01}, tune.Grid(nominal.Dense, 4, 1)
		p.DataSets = []report.DataSet{report.AdultIncome(), report.Generated(0.5, 12_000, 12_000)}
	}
	return p
}

// syncArm is the name of the reference.
const syncArm = "sync"

// rankArm is a way to train: hybrid with a bound and with hot rows, or, with τ = 0, sync.
type rankArm struct {
	Tau int     `json:"tau,omitempty"`
	Hot job.Hot `json:"hot,omitzero"` // zero: no row is hot
}

func (a rankArm) String() string {
	switch {
	case a.Tau == 0:
		return syncArm
	case !a.Hot.Any():
		return fmt.Sprintf("hybrid τ=%d", a.Tau)
	case a.Hot.Auto:
		return fmt.Sprintf("hybrid τ=%d, hot: auto", a.Tau)
	}
	return fmt.Sprintf("hybrid τ=%d, hot from %s", a.Tau, percent(a.Hot.Share))
}

// hot says in a table which rows are hot.
func (a rankArm) hot() string {
	switch {
	case !a.Hot.Any():
		return "none"
	case a.Hot.Auto:
		return "auto"
	}
	return percent(a.Hot.Share)
}

// arms returns sync and then, for every τ, hybrid without hot rows, with those that the job chooses, and with
// those of each share.
func (p *rankPlan) arms() []rankArm {
	list := []rankArm{{}}
	for _, tau := range p.Taus {
		list = append(list, rankArm{Tau: tau}, rankArm{tau, job.Hot{Auto: true}})
		for _, share := range p.Shares {
			list = append(list, rankArm{tau, job.Hot{Share: share}})
		}
	}
	return list
}

// job returns a job in the mode of the arm, on a data set under a seed.
func (a rankArm) job(of job.Job, d report.DataSet, seed uint64) job.Job {
	j := of.InMode(job.Sequential) // has the bits of sync
	if a.Tau > 0 {
		j = of.InMode(job.Hybrid)
		j.Training.Staleness, j.Training.Prefetch = &a.Tau, a.Tau+1
		j.Rows.Hot = a.Hot
	}
	j.Data, j.Training.Seed = d.WithSeed(seed), seed
	return j
}

func (p *rankPlan) set(d report.DataSet) *arms.Set {
	s := &arms.Set{Data: d, Common: syncArm, Rates: p.Rates, Seed: p.Seed, Seeds: p.Seeds}
	for _, a := range p.arms() {
		s.Arms = append(s.Arms, tune.Arm{
			Name: a.String(), Nominal: p.Nominal, Simulated: a.Tau > 0,
			Job: func(seed uint64) job.Job { return a.job(p.Job, d, seed) },
		})
	}
	return s
}

// rankResult has the results of a data set.
type rankResult struct {
	*arms.Result
	Gaps  []*arms.Gap `json:"gaps"`  // to sync, of all arms but sync, in the order of rankPlan.arms
	Costs []rankCost  `json:"costs"` // of these arms at their own rates
}

// rankCost says what an arm keeps on the ranks and how fast it is: means over seeds.
type rankCost struct {
	HotRows  float64 `json:"hot_rows"`
	HotShare float64 `json:"hot_share_of_gradients"`
	Missed   float64 `json:"missed_updates"` // by a gradient
	// Speed is the simulated throughput ÷ that of the same bound without hot rows.
	Speed       float64 `json:"to_hybrid,omitempty"`
	stepSeconds float64
}

func (p *rankPlan) measure(ctx context.Context, lab *trial.Lab) (results []*rankResult, err error) {
	present, _ := report.Present(p.DataSets, p.folder)
	for i, d := range present {
		s := p.set(d)
		if i == 0 {
			lab.Expect(len(present) * s.Trainings())
		}
		measured, err := s.Measure(ctx, lab)
		if err != nil {
			return nil, err
		}
		r := &rankResult{Result: measured}
		var differences []arms.Difference
		plain := rankCost{}
		for _, a := range p.arms()[1:] {
			differences = append(differences, arms.Less(report.Slug(a.String()), a.String()+" − sync",
				a.String(), syncArm))
			cost := costOf(measured.Arm(a.String()).Results(arms.Own))
			if !a.Hot.Any() {
				plain = cost
			}
			cost.Speed = plain.stepSeconds / cost.stepSeconds
			r.Costs = append(r.Costs, cost)
		}
		if r.Gaps, err = measured.Gaps(lab, differences); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	var all []*judge.Comparison
	for _, r := range results {
		for _, g := range r.Gaps {
			all = append(all, g.Own, g.Common)
		}
	}
	judge.Judge(all)
	return results, nil
}

// costOf returns the means over trainings.
func costOf(trained []trial.Result) (c rankCost) {
	n := float64(len(trained))
	for i := range trained {
		t := &trained[i]
		c.HotRows += float64(t.HotRows) / n
		c.stepSeconds += t.StepSeconds / n
		if gradients := t.Missed.Count(); gradients > 0 {
			c.HotShare += float64(t.HotGradients) / float64(gradients) / n
			c.Missed += t.Missed.Mean() / n
		}
	}
	return c
}

// report makes a table of every data set, and a figure of what is left of the loss by the share kept hot.
func (p *rankPlan) report(results []*rankResult) *report.Report {
	out := &report.Report{Notes: []string{
		"A row is hot from a share of the samples that contain it, counted before the run. Every rank " +
			"holds the hot rows, and “share” is that of all row gradients. “missed” is the mean " +
			"number of updates of a row between a read and its gradient.",
		"÷ hybrid is the throughput on the simulated cluster persia-paper over that of hybrid with the " +
			"same τ and no hot rows, of the small model that is trained here. Sync is trained in sequence, " +
			"which has its bits.",
		"Every arm had the same trials of learning rates, on rows that are not used afterwards.",
	}}
	for _, tau := range p.Taus {
		for _, kind := range []arms.Kind{arms.Common, arms.Own} {
			out.Figures = append(out.Figures, p.figure(results, tau, kind))
		}
	}
	for _, r := range results {
		out.Tables = append(out.Tables, p.table(r))
		for k, a := range p.arms()[1:] {
			g := r.Gaps[k]
			out.Comparisons = append(out.Comparisons, g.Own, g.Common)
			out.Findings = append(out.Findings, fmt.Sprintf("%s, %v: AUC less that of sync is %s at its own "+
				"rates (%s).", r.DataSet, a, report.PlusMinus(g.Own.AUC), g.Own.Text()))
		}
	}
	return out
}

// figure shows the differences to sync by the share of the gradients that are of hot rows.
func (p *rankPlan) figure(results []*rankResult, tau int, kind arms.Kind) report.Figure {
	f := report.Figure{
		Name:  fmt.Sprintf("hot-%d-%s", tau, report.Slug(string(kind))),
		Title: fmt.Sprintf("AUC of hybrid − AUC of sync at τ = %d and %s", tau, kind),
		X:     report.Axis{Label: "share of row gradients that are of hot rows (%)"},
		Y:     report.Axis{Label: "AUC difference (bars: 95 %)"},
		Lines: report.MarginLines(0, 100),
	}
	for i, r := range results {
		line := report.Line{Name: r.DataSet, Color: i}
		for k, a := range p.arms()[1:] {
			if a.Tau == tau {
				line.Points = append(line.Points, report.IntervalPoint(100*r.Costs[k].HotShare,
					r.Gaps[k].At(kind).AUC))
			}
		}
		slices.SortFunc(line.Points, func(a, b report.Point) int { return cmp.Compare(a.X, b.X) })
		f.Lines = append(f.Lines, line)
	}
	return f
}

func (p *rankPlan) table(r *rankResult) cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC of hybrid less that of sync, in thousandths, ± half the 95 % interval; " +
			"* different, = equivalent, after Holm's adjustment",
		Header: []string{"τ", "hot from", "own rates", "rates of sync", "rows", "share", "missed",
			"÷ hybrid"},
		Words: 2,
	}
	for k, a := range p.arms()[1:] {
		c, g := r.Costs[k], r.Gaps[k]
		t.Add(fmt.Sprint(a.Tau), a.hot(), report.MilliVerdict(g.Own), report.MilliVerdict(g.Common),
			report.Thousands(int(c.HotRows+0.5)), wholePercent(c.HotShare), report.Digits(c.Missed, 2),
			fmt.Sprintf("%.3f", c.Speed))
	}
	return t
}
