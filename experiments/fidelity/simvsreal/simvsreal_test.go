package simvsreal

import (
	"context"
	"encoding/json"
	"errors"
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
	p.Seed, p.Rounds = 1, 2
	o := report.Options{Folder: t.TempDir()}
	r, err := p.measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
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
			for _, run := range []*run{real, simulated} {
				if s := run.Stages; s.GE <= 0 || s.FC <= 0 || s.PEG <= 0 {
					t.Errorf("%s: stages %+v", m.Mode, s)
				}
			}
		}
	}
	again, err := p.measure(t.Context(), o) // resumed: every setting is in the journal
	if err != nil || asJSON(t, again) != asJSON(t, r) {
		t.Errorf("a resumed run has other results, or error %v", err)
	}
	made := p.report(r)
	if rows := made.Tables[3].Rows; len(rows) < 2*len(r[0].Modes) {
		t.Errorf("%d lines on staleness", len(rows))
	}
	if err := made.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An error of 10 % is within the budget of a steady machine; an error of 20 % only if the real runs have a
// spread of 10 %.
func TestBudget(t *testing.T) {
	mode := func(name string, real, simulated []float64) *modeResult {
		m := &modeResult{Mode: name}
		for i := range real {
			m.Real = append(m.Real, stepOf(real[i]))
			m.Simulated = append(m.Simulated, stepOf(simulated[i]))
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
	if !near(a.error, 0.025) || !near(a.budget, 0.15) {
		t.Errorf("overall error %v, budget %v", a.error, a.budget)
	}
}

// The null model gives every mode the real time of sync of its setting and round. Ranks compare the modes of
// a setting, so settings that differ are no merit.
func TestNullModel(t *testing.T) {
	set := func(sync, hybrid, async float64) *settingResult {
		one := func(name string, real, simulated float64) *modeResult {
			return &modeResult{
				Mode: name, Real: []*run{stepOf(real)},
				Simulated: []*run{stepOf(simulated)},
			}
		}
		return &settingResult{Modes: []*modeResult{
			one(job.Sync, sync, 9), one(job.Hybrid, sync/2, hybrid), one(job.AsyncPS, sync*2, async),
		}}
	}
	// Sync takes 1 and 100, hybrid half of it, async-ps twice. The errors of the null model are 1 and 1/2.
	a := results{set(1, 0.5, 2), set(100, 50, 200)}.accuracy(-1)
	if !near(a.null, 0.75) || a.error != 0 || !near(a.rank, 1) {
		t.Errorf("exact: %+v", a)
	}
	// Simulated the wrong way round, though long steps of the second setting are longer than those of the
	// first.
	a = results{set(1, 2, 0.5), set(100, 200, 50)}.accuracy(0)
	if !near(a.rank, -1) {
		t.Errorf("the wrong way round: %+v", a)
	}
}

// stepOf returns a run with a step time.
func stepOf(seconds float64) *run { return &run{Run: paired.Run{StepSeconds: seconds}} }

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := newPlan(1_000, 500)
	p.Rounds = 2
	_, err := p.measure(ctx, report.Options{Folder: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}
