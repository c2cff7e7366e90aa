package paired

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/sim/cost"
)

// A simulated run chooses the hot rows of the real run: sync predicts the same, from as many gradients.
func TestSimulatedRunsHaveTheHotRowsOfRealRuns(t *testing.T) {
	data, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 32 * 30, TestRows: 200, PositiveRate: 0.3,
		Teacher: job.SyntheticTeacher{Scale: 1, Linear: 1},
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 90, Exponent: 1}},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	s := Setup{Job: job.Default(), Data: data}
	s.Job.Training.Mode, s.Job.Roles.Ranks, s.Job.Training.GlobalBatch = job.Sync, 2, 32
	s.Job.Rows.Hot.Share = 0.02
	s.Job.Model.Spec = model.Spec{
		Kind: model.FeedForward, EmbeddingDim: 4, Top: []int{4}, Activation: model.ReLU,
	}
	real, err := s.RunReal(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	section := job.PersiaCluster()
	hardware, _, err := cost.Load(&section, "")
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
