package paired

import (
	"context"
	"errors"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/sim/cost"
)

// small returns a sync training on 2 ranks, and Persia's cluster.
func small(t *testing.T) (*Setup, *cost.Hardware) {
	t.Helper()
	data, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 32 * 30, TestRows: 200, PositiveRate: 0.3,
		Teacher: job.SyntheticTeacher{Scale: 1, Linear: 1},
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 90, Exponent: 1}},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	s := &Setup{Job: job.Default(), Data: data}
	s.Job.Training.Mode, s.Job.Roles.Ranks, s.Job.Training.GlobalBatch = job.Sync, 2, 32
	s.Job.Model.Spec = model.Spec{
		Kind: model.FeedForward, EmbeddingDim: 4, Top: []int{4}, Activation: model.ReLU,
	}
	section := job.PersiaCluster()
	hardware, _, err := cost.Load(&section, "")
	if err != nil {
		t.Fatal(err)
	}
	return s, hardware
}

// interrupting is a source that ends a context when it has read some batches.
type interrupting struct {
	batch.Source
	left int
	end  context.CancelFunc
}

func (s *interrupting) Read(step int) (*batch.Batch, error) {
	if s.left--; s.left == 0 {
		s.end()
	}
	return s.Source.Read(step)
}

// A simulated run whose context ends is over a few batches later.
func TestSimulatedRunsAreInterrupted(t *testing.T) {
	s, hardware := small(t)
	all, err := datasets.TrainingSource(s.Data, &s.Job)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	source := &interrupting{all, 5, end}
	s.Source = source
	if _, err := s.RunSimulated(ctx, hardware); !errors.Is(err, context.Canceled) || source.left < -1 {
		t.Errorf("%d batches were read after the interruption: %v", -source.left, err)
	}
}

// A simulated run chooses the hot rows of the real run: sync predicts the same, from as many gradients.
func TestSimulatedRunsHaveTheHotRowsOfRealRuns(t *testing.T) {
	s, hardware := small(t)
	s.Job.Rows.Hot.Share = 0.02
	real, err := s.RunReal(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := s.RunSimulated(t.Context(), hardware)
	if err != nil {
		t.Fatal(err)
	}
	if simulated.AUC != real.AUC || simulated.LogLoss != real.LogLoss {
		t.Errorf("simulated AUC %v, log loss %v; real %v, %v", simulated.AUC, simulated.LogLoss, real.AUC,
			real.LogLoss)
	}
	if simulated.HotRows != real.HotRows || simulated.HotGradients != real.HotGradients ||
		simulated.Missed.Count() != real.Missed.Count() || real.HotGradients == 0 {
		t.Errorf("simulated %d hot rows, %d of %d gradients; real %d, %d of %d", simulated.HotRows,
			simulated.HotGradients, simulated.Missed.Count(), real.HotRows, real.HotGradients,
			real.Missed.Count())
	}
}
