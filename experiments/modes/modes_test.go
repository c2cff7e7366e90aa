package modes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/report"
)

// A small comparison, real and simulated: sequential and both sync runs give the same bits, every mode
// learns, and the report can be drawn.
func TestAllModes(t *testing.T) {
	p := newPlan(6_000, 2_000)
	p.DataSets = p.DataSets[:1]
	folder := t.TempDir()
	report, err := execute(context.Background(), p, report.Options{Seeds: 2, Seed: 1, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	r := report.Data.([]*result)[0]
	if len(r.Modes) != len(job.Modes()) {
		t.Fatalf("%d modes", len(r.Modes))
	}
	sequential, sync := r.find(job.Sequential), r.find(job.Sync)
	for i := range sync.Real {
		if a, b, c := sequential.Real[i].AUC, sync.Real[i].AUC, sync.Simulated[i].AUC; a != b || b != c {
			t.Errorf("AUC of sequential %v, sync %v, sync simulated %v", a, b, c)
		}
	}
	for _, m := range r.Modes {
		for _, w := range m.clusters() {
			for _, run := range w.runs {
				if run.AUC < 0.52 || run.Throughput <= 0 {
					t.Errorf("%s, %s: AUC %v, %v samples/s", m.Mode, w.name, run.AUC, run.Throughput)
				}
			}
		}
		asynchronous := m.Mode != job.Sequential && m.Mode != job.Sync
		if asynchronous && m.Simulated[0].Staleness.Own.Count() == 0 {
			t.Errorf("%s: no read was measured", m.Mode)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "modes.csv"))
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 1+2*(2*len(r.Modes)-1) {
		t.Errorf("%d lines, error %v", lines, err)
	}
	if err := report.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// The mode settings of a command line apply to the trainings and the resolved settings.
func TestModeSettingsReachTheTrainings(t *testing.T) {
	e := New()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	e.AddFlags(flags)
	if err := flags.Parse([]string{"--mode-set", "every=5"}); err != nil {
		t.Fatal(err)
	}
	p := newPlan(1_000, 500)
	if p.ModeSettings[job.AsyncAverage]["every"] != 16 {
		t.Errorf("default settings %v", p.ModeSettings)
	}
	if err := p.set(&e.ModeSet); err != nil {
		t.Fatal(err)
	}
	one, other := p.job(job.AsyncAverage, 1), p.job(job.Hybrid, 1)
	if p.ModeSettings[job.AsyncAverage]["every"] != 5 || one.Training.ModeSettings["every"] != 5 ||
		len(other.Training.ModeSettings) != 0 {
		t.Errorf("resolved %v, async-average %v, hybrid %v", p.ModeSettings, one.Training.ModeSettings,
			other.Training.ModeSettings)
	}
}

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := newPlan(1_000, 500)
	p.DataSets = p.DataSets[:1]
	_, err := execute(ctx, p, report.Options{Seeds: 2, Seed: 1, Folder: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}
