package paired

import (
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/pace"
	"tandem/datasets"
	"tandem/sim/cost"
)

// hasty is Hybrid with a mistake: it issues one batch more than τ allows.
type hasty struct{ pace.Hybrid }

func (hasty) Name() string { return "hasty" }

func (h hasty) MayIssue(outstanding int) bool { return outstanding <= h.Staleness+1 }

func init() {
	rule := func(s pace.Settings) pace.Rule {
		return hasty{pace.Hybrid{Staleness: s.Staleness, Overlap: pace.HybridOverlap(s.Overlap)}}
	}
	pace.Register(pace.Mode{Name: "hasty", Overlaps: []string{"none", "ds"}, New: rule})
}

// A run of a mode that exceeds its bounds fails, real or simulated. Here, one rank with τ = 0 has two
// batches in flight; both are outstanding when the second reads.
func TestBrokenBoundsFailTheRun(t *testing.T) {
	data, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 32 * 30, TestRows: 32, PositiveRate: 0.3,
		Teacher: job.SyntheticTeacher{Scale: 1, Linear: 1},
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 9, Exponent: 1}},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	s := Setup{Job: job.Default(), Data: data}
	tau := 0
	s.Job.Training.Mode, s.Job.Roles.Ranks, s.Job.Training.GlobalBatch = "hasty", 1, 32
	s.Job.Training.Staleness, s.Job.Training.Prefetch = &tau, 4
	s.Job.Model.Spec = model.Spec{
		Kind: model.FeedForward, EmbeddingDim: 4, Top: []int{4}, Activation: model.ReLU,
	}
	check := func(kind string, err error) {
		const want = " staleness reached 1, and hasty with ranks = 1 promises at most 0: "
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q with the kind of staleness", kind, err, want)
		}
	}
	_, err = s.RunReal(t.Context(), nil, nil)
	check("real", err)
	persia := job.PersiaCluster()
	hardware, _, err := cost.Load(&persia, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.RunSimulated(t.Context(), hardware)
	check("simulated", err)
}
