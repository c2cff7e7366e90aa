package generators

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
)

// planOf returns the plan of some flags.
func planOf(t *testing.T, f flags, quick bool) *plan {
	t.Helper()
	p, err := f.plan(report.Options{Quick: quick, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// small returns a plan of a few seconds.
func small(t *testing.T) *plan {
	p := planOf(t, flags{steps: 80, lengths: 2, models: []string{"lr", "fm"}}, true)
	p.Data.TestRows, p.Batch = 5_000, 256
	return p
}

// measure measures a plan in a folder.
func measure(t *testing.T, p *plan, folder string) *results {
	t.Helper()
	o := report.Options{Folder: folder, Progress: reporttest.Progress(t)}
	r, err := trial.Measure(o, "generators", 0, func(lab *trial.Lab) (*results, error) {
		return p.measure(t.Context(), lab)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A model learns more from more rows and stays below the oracle; repeated in its folder, the plan
// trains nothing; a spent budget leaves trainings out, and says so.
func TestSmallPlan(t *testing.T) {
	folder := t.TempDir()
	r := measure(t, small(t), folder)
	for _, m := range r.Models {
		if len(m.Points) != 2 || m.Points[1].Rows != 80*256 {
			t.Fatalf("%s: points %+v", m.Name, m.Points)
		}
		// 5,000 test rows: the noise of a difference is below 0.01.
		if a, b := m.Points[0].AUC, m.Points[1].AUC; !(a > 0.55 && b > a-0.01 && b < r.Oracle) {
			t.Errorf("%s: AUC %v, then %v, oracle %v", m.Name, a, b, r.Oracle)
		}
	}
	file := filepath.Join(folder, "trials.jsonl")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	measure(t, small(t), folder)
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Error("the second run trained again")
	}
	if err := small(t).report(r).WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}

	p := small(t)
	p.budget = time.Nanosecond
	rest := p.report(measure(t, p, t.TempDir()))
	if !slices.Contains(rest.Findings, "logistic regression: not measured.") {
		t.Errorf("findings without a training: %q", rest.Findings)
	}
	if cell := rest.Tables[0].Rows[0][1]; cell != "–" {
		t.Errorf("cell without a training: %q", cell)
	}
	reporttest.CheckWidth(t, planOf(t, flags{lengths: lengthsMost}, false).report(r))
}

// Only a run of full length is judged.
func TestShortRunsAreNotJudged(t *testing.T) {
	p := planOf(t, flags{lengths: lengthsMost}, false)
	at := func(steps int, auc float64) *results {
		return &results{Models: []*modelResult{{Title: "model", Published: 0.8, Tuned: true,
			Points: []point{{Steps: steps, Rows: steps * p.Batch, AUC: auc}}}}}
	}
	for _, c := range []struct {
		result *results
		want   string
	}{
		{at(5400, 0.8), "not measured at full length"},
		{at(stepsMax, 0.8029), ": within 0.003"},
		{at(stepsMax, 0.7969), "not within 0.003"},
	} {
		if got := p.findings(c.result)[0]; !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestFlags(t *testing.T) {
	p := planOf(t, flags{steps: 1000, lengths: lengthsMost, models: []string{"dcn", "lr"}}, false)
	if want := []int{7, 15, 31, 62, 125, 250, 500, 1000}; !slices.Equal(p.Steps, want) {
		t.Errorf("lengths %v, want %v", p.Steps, want)
	}
	if len(p.Models) != 2 || p.Models[0].Name != "lr" || p.Seed != 1 {
		t.Errorf("models %+v of seed %d", p.Models, p.Seed)
	}
	if p = planOf(t, flags{steps: 1000, lengths: 2}, false); !slices.Equal(p.Steps, []int{500, 1000}) {
		t.Errorf("two lengths: %v", p.Steps)
	}
	for _, bad := range []*flags{
		{lengths: 8, steps: -1}, {lengths: 8, steps: stepsMax + 1}, {lengths: 8, models: []string{"lrr"}},
		{lengths: 8, budget: -1}, {lengths: 0}, {lengths: 9},
	} {
		if _, err := bad.plan(report.Options{}); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// Rows and hidden model depend on the resolved numbers of the preset, so a stored result never
// belongs to an older preset.
func TestJobsNameAllNumbers(t *testing.T) {
	p := planOf(t, flags{lengths: lengthsMost}, false)
	for _, m := range p.Models {
		j := p.spec(m, 100).Job
		if err := j.Validate(); err != nil {
			t.Error(err)
		}
		if s := j.Data.Synthetic; s.Preset != "" || len(s.Columns) != 26 || s.TrainRows != 409_600 ||
			!s.Stream {
			t.Errorf("%s: data %+v", m.Name, s)
		}
	}
}
