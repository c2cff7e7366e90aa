package infer

import (
	"context"
	"errors"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/selection"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
	"tandem/datasets"
)

// generated returns rows whose labels follow from single ids, and from pairs of ids if interaction is not 0.
func generated(t *testing.T, rows int, interaction float64) (*datasets.Dataset, job.Data) {
	t.Helper()
	data := job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: rows, TestRows: 5000, PositiveRate: 0.2, Seed: 1,
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 300, Exponent: 1},
			{Name: "item", Cardinality: 100, Exponent: 1}, {Name: "hour", Cardinality: 24}},
		Teacher: job.SyntheticTeacher{Linear: 1, Interaction: interaction},
	}}
	set, err := datasets.Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	return set, data
}

// chosenJob returns the job of a data set as `train --data` chooses it.
func chosenJob(t *testing.T, set *datasets.Dataset, data job.Data) (j job.Job, first, baseline *Choice) {
	t.Helper()
	j = Job(set)
	j.Name, j.Data = "test", data
	j.Training.Epochs = EpochsToTry(set)
	first, err := ChooseEpochs(t.Context(), j, set, Share(set), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	_, baseline, err = Baseline(t.Context(), j, set, Share(set), backend.Backend{})
	if err != nil || baseline == nil {
		t.Fatal(err)
	}
	return Prefer(first, baseline), first, baseline
}

// The job that is chosen learns: its AUC is near that of the true probabilities, with interactions too.
func TestChosenJobsLearn(t *testing.T) {
	for _, c := range []struct{ interaction, gap float64 }{{0, 0.02}, {1, 0.04}} {
		interaction := c.interaction
		set, data := generated(t, 30_000, interaction)
		j, first, baseline := chosenJob(t, set, data)
		if least := min(first.Best().LogLoss, baseline.Best().LogLoss); j.Model.Kind == model.DeepFM !=
			(least == first.Best().LogLoss) {
			t.Errorf("interaction %v: a %s, though log losses are %v and %v", interaction, j.Model.Kind,
				first.Best().LogLoss, baseline.Best().LogLoss)
		}
		source, err := datasets.TrainingSource(set, &j)
		if err != nil {
			t.Fatal(err)
		}
		trained, err := selection.Run(t.Context(), selection.Candidate{Job: j, Source: source}, set.Test,
			backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		truth := make([]float32, len(set.TestProbability))
		for i, p := range set.TestProbability {
			truth[i] = float32(p)
		}
		got, best := trained.Curve[len(trained.Curve)-1].AUC, metric.AUC(truth, set.Test.Labels)
		t.Logf("interaction %v: %s, %d epochs, AUC %.4f of %.4f", interaction, j.Model.Kind,
			j.Training.Epochs, got, best)
		if got < best-c.gap {
			t.Errorf("interaction %v: AUC %.4f, the true probabilities have %.4f", interaction, got, best)
		}
	}
}

// A simpler model is preferred only where it predicts the same rows better.
func TestPrefer(t *testing.T) {
	set, data := generated(t, 3000, 0)
	_, first, baseline := chosenJob(t, set, data)
	first.Curve[first.Job.Training.Epochs-1].LogLoss = 0.5
	for _, c := range []struct {
		loss float64
		held int
		want string
	}{
		{0.4, first.Held, model.LogisticRegression}, {0.5, first.Held, model.DeepFM},
		{0.4, first.Held + 1, model.DeepFM},
	} {
		baseline.Curve[baseline.Job.Training.Epochs-1].LogLoss, baseline.Held = c.loss, c.held
		if got := Prefer(first, baseline); got.Model.Kind != c.want || got.Training.Mode != job.Hybrid {
			t.Errorf("log loss %v of %d rows: %s in mode %s, want %s", c.loss, c.held, got.Model.Kind,
				got.Training.Mode, c.want)
		}
	}
	if got := Prefer(first, nil); got.Model.Kind != model.DeepFM {
		t.Error(got.Model.Kind)
	}
}

// A baseline of too few rows has fixed settings; one that is interrupted is an error.
func TestBaselineOfFewRows(t *testing.T) {
	set, data := generated(t, 1, 0)
	j := Job(set)
	j.Data = data
	got, choice, err := Baseline(t.Context(), j, set, Share(set), backend.Backend{})
	if err != nil || choice != nil || got.Training.Epochs != j.Training.Epochs ||
		got.Model.Kind != model.LogisticRegression {
		t.Errorf("%+v, %v, %v", got, choice, err)
	}
	set, data = generated(t, 1000, 0)
	j = Job(set)
	j.Data = data
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Baseline(ctx, j, set, Share(set), backend.Backend{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Few rows hold back a larger share.
func TestShare(t *testing.T) {
	for rows, want := range map[int]float64{100: 0.3, 5000: 0.2, 10_000: 0.1, 1_000_000: 0.1} {
		set, _ := generated(t, min(rows, 20_000), 0)
		if got := Share(set); got != want && rows <= 20_000 {
			t.Errorf("%d rows: %v, want %v", rows, got, want)
		}
	}
}
