package main

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/exec/evaluation"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/runtime/train"
)

// lost returns measures with a log loss.
func lost(logLoss float64) measures { return measures{Scores: evaluation.Scores{LogLoss: logLoss}} }

// Each warning is given where its condition holds, and not below it.
func TestWarnings(t *testing.T) {
	good := row{Mode: "hybrid", Steps: 100, measures: lost(0.4), MissedUpdates: histogram.Summary{Count: 20},
		Curve: []evaluation.Point{{Step: 50, Scores: lost(0.396).Scores},
			{Step: 100, Scores: lost(0.4).Scores}}}
	for _, c := range []struct {
		name string
		edit func(*row)
		want string
	}{
		{"good", func(*row) {}, ""},
		{"few steps", func(r *row) { r.Steps = 99 }, "only 99 steps: train more epochs"},
		{"as the guess", func(r *row) { r.LogLoss = 0.5 }, "log loss 0.5000 is not below the 0.5000"},
		{"diverged", func(r *row) { r.LogLoss = math.NaN() }, "log loss NaN is not below the 0.5000"},
		{"behind", func(r *row) { r.LogLoss = 0.426 },
			"log loss 0.4260, where the logistic regression has 0.4000"},
		{"nearly as good", func(r *row) { r.LogLoss = 0.424 }, ""},
		{"rising", func(r *row) { r.Curve[0].LogLoss = 0.39 }, "lowest at step 50, 0.3900, and rose"},
		{"half lost", func(r *row) { r.EmbeddingRows.EvictedGradients = 10 }, ""},
		{"most lost", func(r *row) { r.EmbeddingRows.EvictedGradients = 11 }, "most gradients found"},
	} {
		line := good
		line.Curve = append([]evaluation.Point{}, good.Curve...)
		c.edit(&line)
		r := report{Seeds: 2, Runs: []row{line}, Baselines: []row{{measures: lost(0.4)}},
			guess: guess{ConstantLogLoss: 0.5}}
		got := strings.Join(r.warnings(), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) ||
			got != "" && !strings.HasPrefix(got, "hybrid: ") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Rows that are evicted while their gradients are under way lose them, which a report of the run says.
func TestLostGradientsAreReported(t *testing.T) {
	j := job.Default()
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{TrainRows: 20000, TestRows: 500,
		PositiveRate: 0.3, Seed: 1, Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 10000}}}}
	j.Model.Top = []int{4}
	j.Rows.Capacity, j.Rows.Eviction = 20, job.SecondChance
	j.Training.GlobalBatch = 128
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		t.Fatal(err)
	}
	result, err := train.Run(t.Context(), j, source, data.Test, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := report{Seeds: 1, job: j, guess: newGuess(data, j.Model.Loss)}
	r.add(variant{name: "hybrid", job: j}, []*train.Result{result},
		[]rowStore{{EvictedGradients: result.EvictedGradients}})
	if got := strings.Join(r.warnings(), "\n"); !strings.Contains(got, "most gradients found their row") {
		t.Errorf("%d gradients lost, %d applied: %q", result.EvictedGradients,
			r.Runs[0].MissedUpdates.Count, got)
	}
}

// A choice of epochs that stopped at its limit says so, with the flags that try more.
func TestEpochsAtTheLimitAreNamed(t *testing.T) {
	curve := []evaluation.Point{{}, {}}
	for epochs, want := range map[int]bool{1: false, 2: true} {
		r := report{Model: model.DLRM}
		r.job.Training.Epochs = epochs
		r.Tried = []tried{{Rows: 100, Model: model.DLRM, Epochs: epochs, Curve: curve, Chosen: true}}
		var text strings.Builder
		if err := r.writeChosen(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), "(--epochs 4 --validation 0.1 does)"); got != want {
			t.Errorf("%d of 2 epochs: %s", epochs, text.String())
		}
	}
}
