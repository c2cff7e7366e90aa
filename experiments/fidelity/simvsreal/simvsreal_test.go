package simvsreal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/paired"
	"tandem/experiments/internal/report"
)

// A small comparison, real and simulated: sync gives the same bits in both, hence the same quality; every
// stage takes time; the report can be drawn.
func TestRealAndSimulatedRuns(t *testing.T) {
	p := newPlan(3_000, 1_000)
	p.Job.Training.GlobalBatch, p.Settings = 128, p.Settings[:1]
	p.Settings = append(p.Settings, setting{Name: "many servers", EmbeddingPSs: 3, EmbeddingWorkers: 2})
	folder := t.TempDir()
	report, err := execute(context.Background(), p, report.Options{Seeds: 2, Seed: 1, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	r := report.Data.(results)
	if len(r) != 2 || len(r[0].Modes) != len(job.Modes())-1 {
		t.Fatalf("%d settings, %d modes", len(r), len(r[0].Modes))
	}
	for _, m := range append(r[0].Modes, r[1].Modes...) {
		for i := range m.Real {
			real, simulated := m.Real[i], m.Simulated[i]
			if m.Mode == job.Sync && (real.AUC != simulated.AUC || real.LogLoss != simulated.LogLoss) {
				t.Errorf("sync: AUC %v and %v, log loss %v and %v", real.AUC, simulated.AUC, real.LogLoss,
					simulated.LogLoss)
			}
			if real.StepSeconds <= 0 || simulated.StepSeconds <= 0 {
				t.Errorf("%s: step of %v s, simulated %v s", m.Mode, real.StepSeconds, simulated.StepSeconds)
			}
			for _, run := range []*paired.Run{real, simulated} {
				if s := run.Stages; s.GE <= 0 || s.FC <= 0 || s.PEG <= 0 {
					t.Errorf("%s: stages %+v", m.Mode, s)
				}
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "simvsreal.csv"))
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 1+2*2*2*len(r[0].Modes) {
		t.Errorf("%d lines, error %v", lines, err)
	}
	if err := report.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// An error of 10 % is within the budget of a steady machine; an error of 20 % only if the real runs have a
// spread of 10 %.
func TestBudget(t *testing.T) {
	mode := func(name string, real, simulated []float64) *modeResult {
		m := &modeResult{Mode: name}
		for i := range real {
			m.Real = append(m.Real, &paired.Run{StepSeconds: real[i]})
			m.Simulated = append(m.Simulated, &paired.Run{StepSeconds: simulated[i]})
		}
		return m
	}
	steady := mode(job.Hybrid, []float64{1, 1, 1}, []float64{1.1, 0.95, 1.2}) // errors 10, 5, 20 %
	if steady.spread() != 0 || steady.budget() != 0.1 || !near(steady.error(), 0.1) {
		t.Errorf("spread %v, budget %v, error %v", steady.spread(), steady.budget(), steady.error())
	}
	shaky := mode(job.SSP, []float64{0.9, 1, 1.1}, []float64{0.9, 1, 1.1}) // ±10 %
	if !near(shaky.budget(), 0.2) || !near(shaky.error(), 0) {
		t.Errorf("budget %v, error %v", shaky.budget(), shaky.error())
	}
	sync := mode(job.Sync, []float64{1, 1, 1}, []float64{9, 9, 9}) // calibrates: not predicted
	all := results{{Modes: []*modeResult{sync, steady, shaky}}}
	// The median of 0, 0, 0, 5, 10, 20 % is 2.5 %; the median of the budgets 10 and 20 % is 15 %.
	a := all.accuracy(-1)
	if !near(a.Error, 0.025) || !near(a.Budget, 0.15) {
		t.Errorf("overall error %v, budget %v", a.Error, a.Budget)
	}
}

// The null model gives every mode the real time of sync of its setting and round. Ranks compare the modes of
// a setting, so settings that differ are no merit.
func TestNullModel(t *testing.T) {
	set := func(sync, hybrid, async float64) *settingResult {
		one := func(name string, real, simulated float64) *modeResult {
			return &modeResult{
				Mode: name, Real: []*paired.Run{{StepSeconds: real}},
				Simulated: []*paired.Run{{StepSeconds: simulated}},
			}
		}
		return &settingResult{Modes: []*modeResult{
			one(job.Sync, sync, 9), one(job.Hybrid, sync/2, hybrid), one(job.AsyncPS, sync*2, async),
		}}
	}
	// Sync takes 1 and 100, hybrid half of it, async-ps twice. The errors of the null model are 1 and 1/2.
	a := results{set(1, 0.5, 2), set(100, 50, 200)}.accuracy(-1)
	if !near(a.Null, 0.75) || a.Error != 0 || !near(a.Rank, 1) {
		t.Errorf("exact: %+v", a)
	}
	// Simulated the wrong way round, though long steps of the second setting are longer than those of the
	// first.
	a = results{set(1, 2, 0.5), set(100, 200, 50)}.accuracy(0)
	if !near(a.Rank, -1) {
		t.Errorf("the wrong way round: %+v", a)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := execute(ctx, newPlan(1_000, 500), report.Options{Seeds: 2, Seed: 1, Folder: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}
