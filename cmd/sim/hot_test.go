package main

import (
	"math"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/internal/workload"
	"tandem/runtime/numerics"
	"tandem/runtime/train"
	"tandem/sim/cluster"
	"tandem/sim/cost"
)

// hotJob is a job with 60 steps of generated data, in which bags have up to five ids.
func hotJob(hot job.Hot) job.Job {
	j := job.Default()
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 256 * 60, TestRows: 32, PositiveRate: 0.3, Numeric: 1,
		Teacher: job.SyntheticTeacher{Scale: 1, Linear: 1},
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 5000, Exponent: 1.1},
			{Name: "tags", Cardinality: 500, Exponent: 0.9, IDsPerRow: 2.5},
			{Name: "item", Cardinality: 50, Exponent: 1}},
	}}
	j.Training.Mode, j.Roles.Ranks, j.Training.GlobalBatch = job.Hybrid, 4, 256
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs, j.Rows.Hot = 2, 2, hot
	j.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 8, Top: []int{8}, Activation: model.ReLU}
	return j
}

// hotRuns is a job with its data and its hardware.
type hotRuns struct {
	job      job.Job
	data     *datasets.Dataset
	source   *datasets.ReadAhead
	hardware *cost.Hardware
}

func newHotRuns(t *testing.T, j job.Job) *hotRuns {
	t.Helper()
	r := &hotRuns{job: j}
	var err error
	if r.data, err = datasets.Open(j.Data, ""); err != nil {
		t.Fatal(err)
	}
	if r.source, err = datasets.TrainingSource(r.data, &j); err != nil {
		t.Fatal(err)
	}
	section := job.PersiaCluster()
	section.Unfold = true
	section.EmbeddingWorkers.Count, section.EmbeddingPSs.Count = 2, 2
	if r.hardware, _, err = cost.Load(&section, ""); err != nil {
		t.Fatal(err)
	}
	return r
}

// simulate simulates with real arithmetic.
func (r *hotRuns) simulate(t *testing.T) (cluster.Result, numerics.Trained) {
	t.Helper()
	j := r.job
	if err := frequent.Choose(&j, r.source, 0); err != nil {
		t.Fatal(err)
	}
	w, layout, err := workload.Counted(r.data, &j)
	if err != nil {
		t.Fatal(err)
	}
	var n *numerics.Numerics
	a, err := cluster.Run(r.hardware, j, layout, w, cluster.Options{
		Numerics: func(j job.Job) (cluster.Numerics, error) {
			n, err = numerics.New(j, r.source, backend.Backend{}, 1)
			return n, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	trained, err := n.Trained()
	if err != nil {
		t.Fatal(err)
	}
	return a, trained
}

// The bytes of a job whose time alone is simulated are those that the executor reports in a run with
// arithmetic. Its workload is counted in the data, or follows from their distributions. The executor sends
// up to 4 % more, with or without hot rows: ids travel with the ends of their bags, which are not priced.
// Hot rows add no more than 1 % of all bytes to the difference, in either direction.
func TestBytesOfHotRowsAreThoseOfTheExecutor(t *testing.T) {
	var plain, unpriced float64
	for _, hot := range []job.Hot{{}, {Share: 0.01}, {Share: 0.01, Most: 20}, {Share: 1e-9}} {
		r := newHotRuns(t, hotJob(hot))
		executed, _ := r.simulate(t)
		want := float64(executed.Bytes)
		j := r.job
		counted, layout, err := workload.Counted(r.data, &j)
		if err != nil {
			t.Fatal(err)
		}
		expected, _, err := workload.Simulated(&j.Data, &j, "")
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range []cost.Workload{counted, expected} {
			a, err := cluster.Run(r.hardware, j, layout, w, cluster.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := float64(a.Bytes)
			if plain == 0 {
				plain, unpriced = want, want-got
			}
			t.Logf("%+v: %.0f B a step, the executor sends %.0f", hot, got, want)
			if d := want - got; d < 0 || d > 0.04*plain || math.Abs(d-unpriced) > 0.01*plain {
				t.Errorf("%+v, workload %d: %.0f B a step, the executor sends %.0f", hot, i, got, want)
			}
		}
		if hot.Share > 0 && want > 0.95*plain {
			t.Errorf("%+v: %.0f B a step, %.0f without hot rows", hot, want, plain)
		}
	}
}

// Simulated sync with hot rows has the bits of the runtime, which chooses the same rows.
func TestHotRowsHaveTheSameBitsInBothDrivers(t *testing.T) {
	j := hotJob(job.Hot{Share: 0.01}).InMode(job.Sync)
	r := newHotRuns(t, j)
	real, err := train.Run(t.Context(), j, r.source, r.data.Test, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, simulated := r.simulate(t)
	if simulated.DenseDigest != real.DenseDigest || simulated.RowsDigest != real.RowsDigest ||
		simulated.Rows != real.Rows {
		t.Errorf("simulated %+v, real %x and %x of %d rows", simulated, real.DenseDigest, real.RowsDigest,
			real.Rows)
	}
}
