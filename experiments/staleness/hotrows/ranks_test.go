package hotrows

import (
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
)

// small is a data set of one column.
func small() report.DataSet {
	return report.DataSet{Name: "small", Data: job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: 2000, TestRows: 500, Alpha: 0.5, Numeric: 1,
		Columns:      []job.SyntheticColumn{{Name: "c", Cardinality: 50, Exponent: 1}},
		AlphaColumns: []string{"c"},
	}}}
}

// lab returns a lab in an empty folder.
func lab(t *testing.T) *trial.Lab {
	t.Helper()
	l, err := trial.Open(report.Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Where every row is hot, hybrid trains what sync trains, and no gradient misses an update. Without hot rows
// gradients do, and AUCs differ.
func TestHybridWithAllRowsHotHasTheAUCOfSync(t *testing.T) {
	p := newRankPlan(true, []int{3})
	p.Seed, p.Seeds, p.DataSets, p.Shares = 1, 2, []report.DataSet{small()}, []float64{0.0001}
	p.Rates.Rows, p.Rates.Dense = p.Rates.Rows[:1], p.Rates.Dense[:1]
	results, err := p.measure(t.Context(), lab(t))
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	for i, a := range p.arms()[1:] {
		all, cost := a.Hot.Share > 0, r.Costs[i]
		if difference := r.Gaps[i].Own.AUC.Estimate; (difference == 0) != all || (cost.Missed == 0) != all ||
			(cost.HotShare == 1) != all {
			t.Errorf("%v: AUC − AUC of sync %v; %+v", a, difference, cost)
		}
	}
	reporttest.CheckWidth(t, p.report(results))
}

// The arms of a run of Persia's length differ in nothing but mode and hot rows, and their numbers are written
// as they are.
func TestArmsOfALongRunArePaired(t *testing.T) {
	p := newLengthPlan(report.Options{Quick: true, Seed: 3, Seeds: 2}, []int{2}, 6)
	p.Job.Training.GlobalBatch, p.Data.Data.Synthetic.TestRows = 64, 300
	results, err := p.measure(t.Context(), lab(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 || results[0].ToSync != nil || results[1].Cost.HotRows != 0 ||
		results[2].Cost.HotRows == 0 || !(results[2].Cost.Missed < results[1].Cost.Missed) {
		t.Errorf("%+v", results)
	}
	for i, a := range p.arms() {
		for k, s := range p.specs(a) {
			of := p.specs(p.arms()[0])[k].Job
			if s.Job.Training.Seed != 3+uint64(k) || s.Job.Training.GlobalBatch != of.Training.GlobalBatch ||
				s.Job.Data.Synthetic.Seed != of.Data.Synthetic.Seed ||
				s.Job.Model.Optimizer != of.Model.Optimizer {
				t.Errorf("arm %d, seed %d: %+v", i, k, s.Job)
			}
		}
	}
	reporttest.CheckWidth(t, p.report(results))
}

// The arms of remedies are paired, differ from hybrid or sync by what they are named after, and are compared
// with the sync that has it, too.
func TestRemediesArePaired(t *testing.T) {
	const steps, batch = 30, 64 // τ grows in more steps than it has
	p := newRemedyPlan(report.Options{Quick: true, Seed: 3, Seeds: 2}, steps)
	p.Job.Training.GlobalBatch, p.Data, p.TuningSeeds = batch, small(), 1
	p.Data.Data.Synthetic.Stream = true
	results, err := p.measure(t.Context(), lab(t))
	if err != nil {
		t.Fatal(err)
	}
	reporttest.CheckWidth(t, p.report(results))
	for i, r := range p.remedies() {
		x := results[i]
		if (x.ToSync == nil) != (r.of == "") ||
			x.ToSync != nil && (x.ToSync.Reference != r.of || !(x.Step > 0)) {
			t.Errorf("%s: %+v, compared with %q", r.name, x, r.of)
		}
		if len(x.Refined.Candidates) < 5 || x.Rates != x.Refined.Rates ||
			(x.HotRows > 0) != (r.name == "hot rows") {
			t.Errorf("%s: %+v", r.name, x)
		}
		j := p.job(r, 3)
		if j.Data.Synthetic.Seed != 3 || j.Training.Seed != 3 || j.Data.Synthetic.TrainRows != steps*batch {
			t.Errorf("%s: %+v", r.name, j.Data.Synthetic)
		}
		for k, other := range results[:i] {
			if slices.Equal(other.AUC, x.AUC) {
				t.Errorf("%s and %s have equal results", r.name, p.remedies()[k].name)
			}
		}
	}
	if w := (scaledRule{}).Weight(0); w != 1 || (scaledRule{}).Weight(4) != 0.25 {
		t.Errorf("weight %v", w)
	}
}
