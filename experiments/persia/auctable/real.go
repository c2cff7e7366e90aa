package auctable

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// NewReal returns the experiment real.
func NewReal() *report.Experiment {
	names := []string(nil)
	return trial.Study(report.Experiment{
		Name:     "real",
		Question: "What does hybrid lose against sync on public logs, and how many rows would decide?",
		Help: `Trains sync, hybrid, and hybrid with the hot rows that the job chooses, each at
learning rates tuned for it, for one epoch on the real data in the data folder:
census income, Frappe, MovieLens 100K, samples of Avazu, Criteo, IJCAI-18,
TalkingData, Open Bandit and Taobao. Hybrid runs in a simulation of Persia's
cluster that computes the parameters, so every run gives the same bits.

Measures the AUC less that of sync, with intervals over seeds and test rows, and
the number of test rows with which the luck of the rows alone would leave ±0.001,
the difference that Persia's paper allows.

The full version takes an hour and a half; --sets chooses a part.`,
		QuickTime: 20 * time.Second,
		AddFlags: func(set *pflag.FlagSet) {
			set.StringSliceVar(&names, "sets", nil, "choose data sets, such as adult-income,frappe\n"+
				"(default: all but movielens-1m, which takes hours)")
		},
	}, func(o report.Options) (*plan, error) {
		p := realPlan(o.Quick)
		if err := p.choose(names, append(realSets(), set{report.MovieLens1M(), 128, true})); err != nil {
			return nil, err
		}
		p.Sets, p.Absent = report.Present(p.Sets, o.DataFolder)
		p.Seed, p.Seeds = o.Seed, o.Seeds
		return p, nil
	}, (*plan).train, (*plan).reportReal)
}

// realSets returns the real data sets, chosen before any training. All have verdicts: where test rows are
// few, their luck is in the intervals.
func realSets() []set {
	return []set{
		{report.AdultIncome(), 128, true},
		{report.Frappe(), 128, true},
		{report.MovieLens100K(), 128, true},
		{report.TalkingData(), 128, true},
		{report.IJCAI18(), 128, true},
		{report.CriteoIndexed(), 64, true},
		{report.CriteoHead(), 32, true},
		{report.Avazu(), 32, true},
		{report.OpenBandit(), 32, true},
		{report.TaobaoAd(), 8, true},
	}
}

func realPlan(quick bool) *plan {
	p := newPlan([]string{job.Sync, job.Hybrid}, 0.003, 1, realSets())
	p.Hot = true
	if quick {
		p.Sets = p.Sets[:1]
	}
	return p
}

// reportReal returns the results of real: a line for each data set.
func (p *plan) reportReal(results []*result) *report.Report {
	own := comparisons(results, true, arms.Own)
	out := &report.Report{
		Comparisons: own, Quantities: p.quantities(results), Notes: p.notes(results),
		Tables:  []cli.Table{p.realTable(results)},
		Figures: []report.Figure{p.tableFigure(results, arms.Own)},
	}
	for i, e := range p.effects() {
		out.Findings = append(out.Findings, effectFinding(e, i, arms.Own, results))
	}
	out.Findings = append(out.Findings, p.boundFinding(results), p.rowsFinding(results))
	for _, r := range results {
		out.Tables = append(out.Tables, r.rateTable(), r.levelTable())
	}
	out.Notes = append(out.Notes, "Needed, of test rows: as many like these leave an interval of "+
		"±0.001 by their luck, if the models stay as they are. Training on more rows makes other models.")
	if len(results) == len(p.Sets) { // and not drawn again beside other files
		out.Notes = append(out.Notes, p.Absent...)
	}
	return out
}

// realTable returns a table of both differences on every data set.
func (p *plan) realTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "AUC − AUC of sync, each at its own rates, in thousandths, ± half the 95 % interval; " +
			"* different, = equivalent, after Holm's adjustment; needed: test rows whose luck would leave " +
			"hybrid ±1",
		Header: []string{"data", "AUC of sync", "hybrid", "hot rows", "test rows", "needed"}, Words: 1,
	}
	for _, r := range results {
		line := []string{r.DataSet, report.Mean(r.Arm(job.Sync).Own.AUC)}
		for i := range p.effects() {
			line = append(line, report.MilliVerdict(r.Effects[i].Own))
		}
		t.Rows = append(t.Rows, append(line, report.Thousands(r.TestRows), report.Thousands(r.rowsNeeded())))
	}
	return t
}

// rowsNeeded returns how many test rows would decide about hybrid, the first effect.
func (r *result) rowsNeeded() int { return rowsNeeded(r.Effects[0].Own.RowDeviation, r.TestRows) }

// rowsNeeded returns the number of test rows at which the 95 % interval of a difference, by the luck of rows
// alone, is ±metric.EquivalenceMargin. Deviation is its standard error with testRows rows; it falls with the
// square root of their number.
func rowsNeeded(deviation float64, testRows int) int {
	const z = 1.959963984540054 // the 97.5 % point of the normal distribution
	if math.IsNaN(deviation) {  // a class is absent
		return math.MaxInt
	}
	return int(math.Ceil(float64(testRows) * math.Pow(z*deviation/metric.EquivalenceMargin, 2)))
}

// rowsFinding returns the sentence on the test rows that would decide.
func (p *plan) rowsFinding(results []*result) string {
	var enough, few []string
	for _, r := range results {
		rows := r.rowsNeeded()
		if rows <= r.TestRows {
			enough = append(enough, r.DataSet)
			continue
		}
		few = append(few, fmt.Sprintf("%s %s for %s", r.DataSet, report.Thousands(rows),
			report.Thousands(r.TestRows)))
	}
	return fmt.Sprintf("Test rows are enough for ±0.001 on %s; too few on %s.",
		cmp.Or(strings.Join(enough, ", "), "none"), cmp.Or(strings.Join(few, "; "), "none"))
}
