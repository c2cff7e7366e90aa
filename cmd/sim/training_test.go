package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/internal/workload"
	"tandem/runtime/train"
	"tandem/sim/cost"
)

// smallRequest is a small question about generated rows in slots of two dimensions, on two EWs, PSs and dense
// PSs.
func smallRequest(t *testing.T) *request {
	t.Helper()
	q := &request{flags: flags{kind: trained}, job: job.Default()}
	q.job.Name, q.job.Cluster = "small", job.PersiaCluster()
	q.batch, q.workers = 16, 1
	q.job.Cluster.EmbeddingWorkers.Count, q.job.Cluster.EmbeddingPSs.Count = 2, 2
	j := &q.job
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs, j.Roles.DensePSs, j.Training.Prefetch = 2, 2, 2, 4
	j.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 4, Top: []int{8}, Activation: model.ReLU,
		BatchNorm: true}
	q.job.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 64*12 + 5, TestRows: 500, PositiveRate: 0.3, Numeric: 1,
		Teacher: job.SyntheticTeacher{Scale: 1, Linear: 1},
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 500, Exponent: 1},
			{Name: "item", Cardinality: 50, Exponent: 1}},
	}, Slots: []job.SlotSetting{{Slot: "item", Dim: 3}}}
	var err error
	if q.hardware, _, err = cost.Load(&q.job.Cluster, ""); err != nil {
		t.Fatal(err)
	}
	if q.data, err = datasets.Open(q.job.Data, ""); err != nil {
		t.Fatal(err)
	}
	if q.workload, q.layout, err = workload.Counted(q.data, j); err != nil {
		t.Fatal(err)
	}
	return q
}

// trace returns everything about a training that could depend on the machine.
func trace(t *training) string {
	return fmt.Sprintln(hex(t.trained.DenseDigest), hex(t.trained.RowsDigest), t.answer.Elapsed, t.points,
		t.answer.Staleness)
}

// A training with numbers is the same to the bit and to the nanosecond for any
// number of workers, and again; sync's is that of sequential training.
func TestNumericsDoNotDependOnWorkers(t *testing.T) {
	q := smallRequest(t)
	for _, mode := range job.Modes()[1:] {
		var first string
		for _, workers := range []int{1, 2, 8, 2} {
			q.workers = workers
			got, err := q.trainAt(q.jobFor(mode, 4), 0, func(int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = trace(got)
			}
			if trace(got) != first {
				t.Errorf("%s, %d workers:\n%s\nand\n%s", mode, workers, trace(got), first)
			}
			if mode == job.Sync {
				checkSequential(t, q, got)
			}
		}
	}
}

// checkSequential compares a training on 4 ranks with the sequential one of the
// same job.
func checkSequential(t *testing.T, q *request, got *training) {
	t.Helper()
	j := q.jobFor(job.Sync, 4).InMode(job.Sequential)
	source, err := datasets.TrainingSource(q.data, &j)
	if err != nil {
		t.Fatal(err)
	}
	want, err := train.Run(t.Context(), j, source, q.data.Test, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.trained.DenseDigest != want.DenseDigest || got.trained.RowsDigest != want.RowsDigest ||
		got.end().AUC != want.AUC {
		t.Errorf("sync: %x %x, AUC %v; sequential: %x %x, AUC %v", got.trained.DenseDigest,
			got.trained.RowsDigest,
			got.end().AUC, want.DenseDigest, want.RowsDigest, want.AUC)
	}
}

// The time to an AUC is that of the first evaluation that has it, and costs what
// the GPUs cost for so long.
func TestTimeToTarget(t *testing.T) {
	q := smallRequest(t)
	q.modes, q.gpus, q.spread, q.dollars = []string{job.Hybrid}, []int{4}, true, 3600
	q.job.Training.EvaluateEvery.Steps = 1
	cells, err := q.train(cli.NewProgress(io.Discard, false))
	if err != nil {
		t.Fatal(err)
	}
	l := cells[0]
	worst, best := l.trainings[1].seconds(), l.trainings[2].seconds()
	if low, high := l.seconds(); len(l.trainings) != 3 || low != best || high != worst ||
		best >= l.middle().seconds() {
		t.Errorf("%d trainings, %v to %v s; ends %v and %v", len(l.trainings), low, high, best, worst)
	}
	points := l.middle().points
	q.target = points[len(points)/2].AUC
	i := slices.IndexFunc(points, func(p evaluation.Point) bool { return p.AUC >= q.target })
	if r := q.targetOf(l, l.middle()); *r.Seconds != points[i].Seconds || *r.Samples != points[i].Samples ||
		math.Abs(*r.Dollars/(4*points[i].Seconds)-1) > 1e-12 {
		t.Errorf("%v s, %d samples, $ %v for %+v", *r.Seconds, *r.Samples, *r.Dollars, points[i])
	}
	if q.target = 0.9999; q.targetOf(l, l.middle()).Seconds != nil {
		t.Error("an AUC of 0.9999 is reached")
	}
	var text strings.Builder
	if err := q.writeTraining(&text, cells); err != nil ||
		!strings.Contains(text.String(), "not reached at every end") {
		t.Errorf("%v in\n%s", err, text.String())
	}
}
