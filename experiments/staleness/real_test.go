package staleness

import (
	"context"
	"errors"
	"testing"

	"tandem/experiments/report"
)

// A small comparison with the real runtime: every variant learns and stays within its bounds, which
// train.Run checks, and the report can be drawn.
func TestWithTheRuntime(t *testing.T) {
	p := newPlan([]int{0, 2}, []float64{0.1}, 6_000, 2_000, 50)
	p.DataSets = p.DataSets[:1]
	p.Job.Training.GlobalBatch = 64
	options := report.Options{Seeds: 2, Seed: 1, Folder: t.TempDir()}
	report, err := New().execute(context.Background(), p, options)
	if err != nil {
		t.Fatal(err)
	}
	r := report.Data.([]*dataSetResult)[0]
	for _, a := range r.Variants {
		for i, auc := range a.AUC {
			if auc < 0.55 || auc >= r.Oracle.AUC[i] {
				t.Errorf("%v: AUC %.4f, want above chance and below the oracle's %.4f", a.Variant, auc,
					r.Oracle.AUC[i])
			}
		}
	}
	if err := report.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// A context that has ended stops the experiment before any training.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := New().execute(ctx, tinyPlan(), report.Options{Seeds: 2, Seed: 1, Folder: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}
