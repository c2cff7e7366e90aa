package tuner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/tune"
)

// small returns a plan of a few seconds.
func small() plan {
	p := newPlan(2_000, 1_000, []string{job.Sync, job.Hybrid, job.AsyncPS})
	p.DataSets = p.DataSets[:1]
	p.Rates = tune.Plan{Rows: tune.Grid(0.1, 4, 1), Dense: []float64{0.01}, Seeds: tune.SeedsMin}
	return p
}

func TestSmallPlan(t *testing.T) {
	folder := t.TempDir()
	o := report.Options{Seeds: 2, Seed: 1, Folder: folder, Progress: reporttest.Progress(t)}
	first, err := execute(t.Context(), small(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := first.Data.([]*result)[0]
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
	if len(first.Comparisons) != 2*3 || len(r.gaps) != 3 {
		t.Errorf("%d comparisons of 3 arms with sync", len(first.Comparisons))
	}
	// Again in the folder, as after a kill at the end: nothing is trained, and the numbers are the same
	// bytes.
	before, err := os.ReadFile(filepath.Join(folder, "trials.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := execute(t.Context(), small(), o)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(filepath.Join(folder, "trials.jsonl")); string(after) != string(before) {
		t.Error("the second run trained again")
	}
	if a, b := jsonOf(t, first), jsonOf(t, again); a != b {
		t.Error("the second run has other numbers")
	}
	if err := first.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// The tables of all modes fit a terminal, also where a ratio is far from known.
func TestTablesFitATerminal(t *testing.T) {
	far := judge.Quality{AUC: []float64{0.3, 0.9}, LogLoss: []float64{1, 2}}
	near := judge.Quality{AUC: []float64{0.71, 0.72}, LogLoss: []float64{0.5, 0.5}}
	r := &result{Result: &arms.Result{DataSet: "adult-income", Oracle: near.AUC}}
	for _, mode := range append(job.Modes()[1:], baseline) {
		a := &arms.Arm{Name: mode, Common: far, Own: near,
			RowRatio: metric.Interval{Estimate: 0.04321, Low: 0.00012345, High: 123.4},
			Choice: tune.Choice{
				Rates: tune.Rates{Rows: 0.00625, Dense: 0.000625}, AtEdge: true, Trials: 186,
			}}
		if mode != job.Sync {
			r.gaps = append(r.gaps, gap{a,
				arms.Gap{
					Common: judge.Pair(r.DataSet, mode+", common rates", job.Sync, 1, far, near),
					Own:    judge.Pair(r.DataSet, mode+", own rates", job.Sync, 1, near, near),
				}})
		}
		r.Arms = append(r.Arms, a)
	}
	made := &report.Report{Tables: tables([]*result{r}, comparisons([]*result{r}))}
	reporttest.CheckWidth(t, made)
	if got := made.Tables[0].Rows[0][3]; got != "0.043 (0.00012–120)" {
		t.Errorf("ratio %q", got)
	}
}

// jsonOf returns the data of a report as JSON.
func jsonOf(t *testing.T, r *report.Report) string {
	t.Helper()
	var text strings.Builder
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestTheBaselineHasOneWeightForEveryID(t *testing.T) {
	p := small()
	j := p.job(p.DataSets[0], baseline, 1)
	if j.Training.Mode != job.Sequential || j.Model.Dim() != 1 {
		t.Errorf("mode %s, dimension %d", j.Training.Mode, j.Model.Dim())
	}
	if err := j.Validate(); err != nil {
		t.Error(err)
	}
}
