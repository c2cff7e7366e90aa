package staleness

import (
	"context"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/report"
	"tandem/runtime/train"
)

// All variants of a seed train on the same rows in the same order and differ only in mode, merging and τ.
// Seeds differ in their rows.
func TestArmsArePaired(t *testing.T) {
	f := &fakeRunner{}
	if _, _, err := executeTiny(t, f); err != nil {
		t.Fatal(err)
	}
	if len(f.calls) != 8 { // 2 seeds × (2 sync + 2 hybrid)
		t.Fatalf("%d trainings, want 8", len(f.calls))
	}
	for i, c := range f.calls {
		first := f.calls[i/4*4]
		if c.rows != first.rows {
			t.Errorf("training %d has different rows than the first of its seed", i)
		}
		same := c.training
		of := first.training.Training
		same.Training.Mode, same.Training.Merge, same.Training.Staleness = of.Mode, of.Merge, of.Staleness
		if !reflect.DeepEqual(same, first.training) {
			t.Errorf("training %d differs from %d in more than its variant: %+v, %+v", i, i/4*4, same,
				first.training)
		}
		if err := c.training.Validate(); err != nil {
			t.Errorf("training %d: %v", i, err)
		}
		if c.training.Training.Scale != job.ScaleGlobal {
			t.Errorf("training %d: scale %q", i, c.training.Training.Scale)
		}
	}
	if f.calls[0].rows == f.calls[4].rows {
		t.Error("both seeds have the same rows")
	}
}

// Staleness is bounded by τ, not by the queue, in both plans.
func TestPrefetchLeavesRoomForStaleness(t *testing.T) {
	for name, p := range map[string]plan{
		"quick": quickPlan(&report.Grid{}), "full": fullPlan(&report.Grid{}),
	} {
		for _, a := range p.variants() {
			training := p.job(a, 1)
			if err := training.Validate(); err != nil {
				t.Errorf("%s, %v: %v", name, a, err)
			}
			if a.Tau != nil && training.Training.Prefetch < *a.Tau+1 {
				t.Errorf("%s, %v: prefetch %d", name, a, training.Training.Prefetch)
			}
		}
		for _, w := range p.DataSets {
			config := w.WithSeed(3)
			if err := config.Validate(); err != nil {
				t.Errorf("%s, %s: %v", name, w.Name, err)
			}
			if config.Synthetic != nil && (config.Synthetic.Seed != 3 || w.Data.Synthetic.Seed != 0) {
				t.Errorf("%s, %s: seeds %d, %d: want 3 in a copy", name, w.Name, config.Synthetic.Seed,
					w.Data.Synthetic.Seed)
			}
		}
	}
}

func TestEveryTrainingIsALineInTheCSVFile(t *testing.T) {
	_, folder, err := executeTiny(t, &fakeRunner{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(csvPath(folder))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll() // returns an error if lines differ in length
	if err != nil || len(lines) != 9 {
		t.Fatalf("%d lines, error %v: want a header and 8", len(lines), err)
	}
	// The last line: seed 8, hybrid τ = 2, with fake staleness 2 and 2·2+1.
	last := strings.Join(lines[8], " ")
	if !strings.HasPrefix(last, "α = 0.1 0.1 8 hybrid rank 2 ") ||
		!strings.Contains(last, " 2 2 2 5 5 5 0 0 0 6 ") {
		t.Errorf("last line %q", last)
	}
}

// A run that is stopped keeps the lines of the finished trainings.
func TestStoppedRunKeepsFinishedTrainings(t *testing.T) {
	f := &fakeRunner{change: func(i int, _ *train.Result) error {
		if i == 5 {
			return context.Canceled
		}
		return nil
	}}
	_, folder, err := executeTiny(t, f)
	if !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "seed 8, after 5 of 8 trainings: sync merge:rank") {
		t.Errorf("error %v", err)
	}
	text, err := os.ReadFile(csvPath(folder))
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 6 {
		t.Errorf("%d lines, error %v: want a header and 5", lines, err)
	}
}

func TestDivergedTrainingIsAnError(t *testing.T) {
	for _, c := range []struct {
		name, want string
		diverge    func(r *train.Result)
	}{
		{"no AUC", "the training diverged", func(r *train.Result) { r.AUC = math.NaN() }},
		{"infinite loss", "the training diverged", func(r *train.Result) { r.LogLoss = math.Inf(1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeRunner{change: func(i int, r *train.Result) error {
				if i == 3 {
					c.diverge(r)
				}
				return nil
			}}
			if _, _, err := executeTiny(t, f); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Progress never falls, and ends at the total.
func TestProgress(t *testing.T) {
	at, whole := 0, 0
	o := report.Options{Seeds: 2, Seed: 1, Folder: t.TempDir(), Progress: func(done, total int, what string) {
		if done < at {
			t.Errorf("progress fell from %d to %d at %s", at, done, what)
		}
		at, whole = done, total
	}}
	if _, err := (&Experiment{run: (&fakeRunner{}).run}).execute(context.Background(), tinyPlan(),
		o); err != nil {
		t.Fatal(err)
	}
	if at != whole || whole == 0 {
		t.Errorf("progress ended at %d of %d", at, whole)
	}
}
