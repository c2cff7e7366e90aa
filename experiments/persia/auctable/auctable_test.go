package auctable

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/rng"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// small returns a plan of a few seconds.
func small() *plan {
	p := newPlan([]string{job.Sync, job.Hybrid, "backup-workers"}, 0.003, 1, []set{
		{report.Generated(0.1, 1_000, 1_000), 64, true}, {report.Like("criteo", 400, 400), 16, false},
	})
	p.Rates = tune.Plan{Rows: []float64{0.1}, Dense: []float64{0.003}, Seeds: tune.SeedsMin}
	p.Seed, p.Seeds = 1, 2
	return p
}

// smallTuner returns a plan of tuner of a few seconds.
func smallTuner() *plan {
	p := tunerPlan(true)
	p.Sets = []set{{report.Generated(0.1, 2_000, 1_000), 256, true}}
	p.Rates = tune.Plan{Rows: tune.Grid(0.1, 4, 1), Dense: []float64{0.01}, Seeds: tune.SeedsMin}
	p.Seed, p.Seeds = 1, 2
	return p
}

// measure trains a plan in a folder.
func measure(t *testing.T, p *plan, folder string) []*result {
	t.Helper()
	o := report.Options{Folder: folder, Progress: reporttest.Progress(t)}
	results, err := trial.Measure(o, "small", 0, func(lab *trial.Lab) ([]*result, error) {
		return p.train(t.Context(), lab)
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// fake is a lab in which the AUC loses 0.002 by merging by rank, 0.004 by a simulated mode, and 0.01 for each
// factor e of the network's rate from the best one, which is a quarter for simulated modes.
type fake struct{ specs []trial.Spec }

func (f *fake) Run(_ context.Context, specs []trial.Spec) ([]trial.Result, error) {
	f.specs = append(f.specs, specs...)
	results := make([]trial.Result, len(specs))
	for i, s := range specs {
		auc, best := 0.8+0.01*rng.New(s.Job.Training.Seed, "noise").NormFloat64(), 0.003
		if !s.Job.MergeByStep() {
			auc -= 0.002
		}
		if s.Simulated {
			auc -= 0.004
			best /= 4
		}
		auc += 0.00001 * rng.New(s.Job.Training.Seed, s.Name).NormFloat64()
		auc -= 0.01 * math.Abs(math.Log(s.Job.Model.Optimizer.Rate/best))
		results[i] = trial.Result{AUC: auc, LogLoss: 1 - auc, TestRows: 1000, Steps: 100}
	}
	return results, nil
}

func (f *fake) RowDeviation(treated, reference []trial.Spec) (float64, error) {
	for i := range treated {
		if treated[i].Job.Training.Seed != reference[i].Job.Training.Seed {
			return 0, errors.New("the trainings are not paired")
		}
	}
	return 0, nil
}

// Hybrid less sync is staleness and merging; at the rates of sync, the wrong rate adds 0.01·ln 4 to the loss
// of what is simulated.
func TestEffectsOfHybridAddUp(t *testing.T) {
	p, f := small(), &fake{}
	p.Modes = []string{job.Sync, job.Hybrid, job.AsyncPS}
	p.Rates.Dense = tune.Grid(p.Nominal.Dense, 4, 1)
	p.Seed, p.Seeds = 5, 4
	results, err := p.measure(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	rate := 0.01 * math.Log(4)
	want := map[string][2]float64{
		"hybrid-less-sync": {-0.006, -0.006 - rate}, "hybrid-staleness": {-0.004, -0.004 - rate},
		"hybrid-merging": {-0.002, -0.002}, "async-ps-less-sync": {-0.006, -0.006 - rate},
	}
	for _, r := range results {
		if len(r.Effects) != len(want) {
			t.Errorf("%s: %d effects", r.DataSet, len(r.Effects))
		}
		for _, g := range r.Effects {
			for i, kind := range []arms.Kind{arms.Own, arms.Common} {
				if got := g.At(kind).AUC.Estimate; math.Abs(got-want[g.Name][i]) > 0.0002 {
					t.Errorf("%s, %s, %s: %v, want %v", r.DataSet, g.Name, kind, got, want[g.Name][i])
				}
			}
		}
	}
	made := p.reportTable(results)
	reporttest.CheckWidth(t, made)
	names := map[string]bool{}
	for _, q := range made.Quantities {
		names[q.Name] = true
	}
	for _, name := range []string{"hybrid-less-sync-criteo-like", "async-ps-less-sync-alpha-0-1-common-rate",
		"sync-auc-criteo-like"} {
		if !names[name] {
			t.Errorf("no quantity %s", name)
		}
	}
	// The data set with few test rows has no verdict.
	if len(made.Comparisons) != 2*len(want) || !strings.Contains(made.Tables[0].Rows[1][1], "(") {
		t.Errorf("%d comparisons, %q", len(made.Comparisons), made.Tables[0].Rows[1])
	}
}

func TestSmallPlan(t *testing.T) {
	p := small()
	results := measure(t, p, t.TempDir())
	r := results[0]
	for _, a := range r.Arms {
		for i, auc := range a.Own.AUC {
			if auc < 0.5 || auc > r.Oracle[i] {
				t.Errorf("%s, seed %d: AUC %v, oracle %v", a.Name, i+1, auc, r.Oracle[i])
			}
		}
	}
	if at := r.Effects[0]; at.Own.SameBits() {
		t.Error("hybrid has the bits of sync")
	}
	made := p.reportTable(results)
	made.Settings, made.Data = p, results
	reporttest.CheckWidth(t, made)
	if err := made.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// Every arm of tuner has the same trials. A second run in the folder, as after a kill at the end, trains
// nothing and has the same numbers.
func TestSmallTuner(t *testing.T) {
	p, folder := smallTuner(), t.TempDir()
	results := measure(t, p, folder)
	r := results[0]
	if len(r.Arms) != 4 || r.TestRows != 1_000 || len(r.Oracle) != 2 {
		t.Fatalf("%d arms, %d test rows, oracle %v", len(r.Arms), r.TestRows, r.Oracle)
	}
	for _, a := range r.Arms {
		if a.Choice.Trials != r.Arms[0].Choice.Trials {
			t.Errorf("%s had %d trials, sync had %d", a.Name, a.Choice.Trials, r.Arms[0].Choice.Trials)
		}
		for i, auc := range a.Own.AUC {
			if auc < 0.5 || auc > r.Oracle[i] {
				t.Errorf("%s, seed %d: AUC %v, oracle %v", a.Name, i+1, auc, r.Oracle[i])
			}
		}
	}
	made := p.reportTuner(results)
	if len(made.Comparisons) != 2*3 || len(made.Findings) != 2 {
		t.Errorf("%d comparisons of 3 arms with sync, findings %q", len(made.Comparisons), made.Findings)
	}
	before, err := os.ReadFile(filepath.Join(folder, "trials.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	again := measure(t, p, folder)
	if after, _ := os.ReadFile(filepath.Join(folder, "trials.jsonl")); string(after) != string(before) {
		t.Error("the second run trained again")
	}
	first, _ := json.Marshal(results)
	if second, _ := json.Marshal(again); string(first) != string(second) {
		t.Error("the second run has other numbers")
	}
}

// The tables of both parts fit a terminal with all arms, the largest numbers that a difference can have, and
// a ratio that is far from known.
func TestTablesFitATerminal(t *testing.T) {
	far := judge.Quality{AUC: []float64{0.3, 0.9}, LogLoss: []float64{1, 2}}
	near := judge.Quality{AUC: []float64{0.71, 0.72}, LogLoss: []float64{0.5, 0.5}}
	for _, p := range []*plan{tablePlan(false), tunerPlan(false)} {
		var results []*result
		for _, s := range p.Sets {
			r := &result{Judged: s.Judged,
				Result: &arms.Result{DataSet: s.Name, TestRows: 28_860, Oracle: near.AUC}}
			for _, a := range p.arms(s).Arms {
				r.Arms = append(r.Arms, &arms.Arm{Name: a.Name, Own: near, Common: far,
					RowRatio: metric.Interval{Estimate: 0.04321, Low: 0.00012345, High: 123.4},
					Choice:   tune.Choice{Rates: tune.Rates{Rows: 0.00625, Dense: 0.000625}, AtEdge: true}})
			}
			for _, e := range p.effects() {
				r.Effects = append(r.Effects, &arms.Gap{Name: e.Name,
					Own:    judge.Pair(s.Name, e.Treated+", own rates", e.Reference, 1, near, near),
					Common: judge.Pair(s.Name, e.Treated+", common rates", e.Reference, 1, far, near),
				})
			}
			results = append(results, r)
		}
		judge.Judge(comparisons(results, true, arms.Own, arms.Common))
		judge.Judge(comparisons(results, false, arms.Own, arms.Common))
		made := p.reportTable(results)
		if p.ByRank {
			made = p.reportTuner(results)
			if got := made.Tables[0].Rows[0][3]; got != "0.043 (0.00012–120)" {
				t.Errorf("ratio %q", got)
			}
		}
		reporttest.CheckWidth(t, made)
	}
}

func TestTheBaselineHasOneWeightForEveryID(t *testing.T) {
	p := smallTuner()
	j := p.job(p.Sets[0], logistic, 1)
	if j.Training.Mode != job.Sequential || j.Model.Dim() != 1 {
		t.Errorf("mode %s, dimension %d", j.Training.Mode, j.Model.Dim())
	}
}

func TestBadFlags(t *testing.T) {
	p := tablePlan(false)
	err := p.choose([]string{"frape"}, sets())
	if err == nil || !strings.Contains(err.Error(), `no data set "frape"`) {
		t.Errorf("error %v", err)
	}
	if err := p.choose([]string{"alpha-0-1", "frappe", "frappe"}, sets()); err != nil || len(p.Sets) != 2 {
		t.Errorf("%d data sets, error %v", len(p.Sets), err)
	}
}

// A stored result is drawn with the modes that it has, not with those that Tandem has today. Modes that the
// command names but the numbers lack are an error.
func TestRedrawHasTheModesOfTheStoredNumbers(t *testing.T) {
	p := smallTuner()
	p.Modes = []string{job.Sync, job.Hybrid}
	p.Rates.Dense = tune.Grid(p.Nominal.Dense, 4, 1)
	results, err := p.measure(t.Context(), &fake{})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	redraw := func(words ...string) (*report.Report, error) {
		e, flags := NewTuner(), pflag.NewFlagSet("", pflag.ContinueOnError)
		e.AddFlags(flags)
		if err := flags.Parse(words); err != nil {
			t.Fatal(err)
		}
		return e.Redraw(report.Options{Seed: 1, Seeds: 2}, stored)
	}
	for _, words := range [][]string{nil, {"--modes", "hybrid"}} { // nil: all modes of today
		made, err := redraw(words...)
		if err != nil {
			t.Fatal(err)
		}
		again := made.Settings.(*plan)
		if !slices.Equal(again.Modes, p.Modes) || len(again.ModeSettings) != 0 || len(made.Findings) != 1 {
			t.Errorf("%q: modes %q, settings %v, findings %q; want those of hybrid", words, again.Modes,
				again.ModeSettings, made.Findings)
		}
	}
	_, err = redraw("--modes", "hybrid,ssp")
	want := "tuner: stored numbers: α = 0.1: 2 effects of the arms sync, hybrid, logistic; the command has " +
		"3 effects of sync, hybrid, ssp, logistic"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Every arm of every data set is a valid job.
func TestJobsAreValid(t *testing.T) {
	for _, p := range []*plan{tablePlan(true), tablePlan(false), tunerPlan(true), tunerPlan(false),
		realPlan(false)} {
		for _, s := range p.Sets {
			for _, a := range p.arms(s).Arms {
				j := a.Job(1)
				if err := j.Validate(); err != nil {
					t.Errorf("%s, %s: %v", s.Name, a.Name, err)
				}
			}
		}
	}
}
