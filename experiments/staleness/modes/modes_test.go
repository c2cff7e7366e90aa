package modes

import (
	"context"
	"errors"
	"testing"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// A small comparison, real and simulated: sequential and both sync runs give the same bits, every mode
// learns, and the report can be drawn.
func TestAllModes(t *testing.T) {
	p := newPlan(6_000, 2_000)
	p.DataSets = p.DataSets[:1]
	cells, err := measure(t.Context(), p, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*len(job.Modes()) - 1; len(cells) != want {
		t.Fatalf("%d modes and clusters, want %d", len(cells), want)
	}
	of := func(mode, cluster string) *cell { return find(cells, p.DataSets[0].Name, mode, cluster) }
	sequential, sync := of(job.Sequential, thisMachine), of(job.Sync, thisMachine)
	for i := range sync.Runs {
		a, b, c := sequential.Runs[i].AUC, sync.Runs[i].AUC, of(job.Sync, persiasCluster).Runs[i].AUC
		if a != b || b != c {
			t.Errorf("AUC of sequential %v, sync %v, sync simulated %v", a, b, c)
		}
	}
	for _, c := range cells {
		for _, run := range c.Runs {
			if run.AUC < 0.52 || run.Throughput <= 0 {
				t.Errorf("%s, %s: AUC %v, %v samples/s", c.Mode, c.Cluster, run.AUC, run.Throughput)
			}
		}
		asynchronous := c.Mode != job.Sequential && c.Mode != job.Sync
		if asynchronous && c.Cluster == persiasCluster && c.Runs[0].Own.Count == 0 {
			t.Errorf("%s: no read was measured", c.Mode)
		}
	}
	if err := p.report(cells).WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// measure trains a plan under two seeds.
func measure(ctx context.Context, p *plan, folder string) ([]*cell, error) {
	p.Seed, p.Seeds = 1, 2
	return trial.Measure(report.Options{Folder: folder}, "modes", 0, func(lab *trial.Lab) ([]*cell, error) {
		return p.measure(ctx, lab)
	})
}

// The mode settings of a command line apply to the trainings and the resolved settings.
func TestModeSettingsReachTheTrainings(t *testing.T) {
	m := report.NewModeFlags()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	m.AddFlags(flags)
	if err := flags.Parse([]string{"--mode-set", "every=5"}); err != nil {
		t.Fatal(err)
	}
	p := newPlan(1_000, 500)
	if all := report.ModeSettings(p.Job, p.Modes); all[job.AsyncAverage]["every"] != 16 {
		t.Errorf("default settings %v", all)
	}
	settings, err := m.Settle(&p.Job, p.Modes)
	if err != nil {
		t.Fatal(err)
	}
	w := p.DataSets[0]
	one, other := p.spec(w, job.AsyncAverage, thisMachine, 1).Job, p.spec(w, job.Hybrid, thisMachine, 1).Job
	if settings[job.AsyncAverage]["every"] != 5 || one.Training.ModeSettings["every"] != 5 ||
		len(other.Training.ModeSettings) != 0 {
		t.Errorf("resolved %v, async-average %v, hybrid %v", settings, one.Training.ModeSettings,
			other.Training.ModeSettings)
	}
}

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := newPlan(1_000, 500)
	p.DataSets = p.DataSets[:1]
	_, err := measure(ctx, p, t.TempDir())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}
