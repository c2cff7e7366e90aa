package dense_test

import (
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
)

// newStrategy returns the strategy of a mode on the job and data of package exectest, with all roles here.
func newStrategy(t *testing.T, mode string, settings map[string]int, ranks int) (
	dense.Strategy, *model.Layout,
) {
	t.Helper()
	return strategyOn(t, mode, settings, ranks, func(model.Engine, *job.Job) model.Trainer { return nil })
}

// strategyOn is newStrategy with replicas that a trainer makes.
func strategyOn(t *testing.T, mode string, settings map[string]int, ranks int,
	trainer func(model.Engine, *job.Job) model.Trainer) (dense.Strategy, *model.Layout) {
	t.Helper()
	j := exectest.Job(ranks, 1)
	j.Training.Mode, j.Training.Merge, j.Training.ModeSettings = mode, "", settings
	rule, err := j.Rule()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := backend.NewEngine(&j, exectest.NewColumns(16, 16).Schema(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	here := func(msg.Address) bool { return true }
	s, err := dense.New(dense.Config{Job: &j, Rule: rule, Engine: engine, Here: here,
		Trainer: trainer(engine, &j)})
	if err != nil {
		t.Fatal(err)
	}
	return s, engine.Layout()
}

// weights returns the weights of a rank.
func weights(s dense.Strategy, rank int32) *model.HostReplica {
	return s.Weights(msg.Address{Role: msg.NNWorker, Index: rank}).(*model.HostReplica)
}

// scatter gives every rank parameters and running statistics of its own.
func scatter(t *testing.T, s dense.Strategy, layout *model.Layout, ranks int32) {
	t.Helper()
	draw := rng.New(1, "scatter")
	for rank := range ranks {
		values := model.Values{
			Params: make([]float32, layout.Params), Running: make([]float32, layout.Running),
		}
		for _, part := range [][]float32{values.Params, values.Running} {
			for i := range part {
				part[i] = float32(draw.NormFloat64())
			}
		}
		if err := weights(s, rank).Import(0, model.State{Values: values}); err != nil {
			t.Fatal(err)
		}
	}
}

// average runs one averaging round, and returns the numbers of different replicas before and after it.
func average(t *testing.T, s dense.Strategy, layout *model.Layout, ranks int32) (before, after int) {
	t.Helper()
	digests := func() int {
		different := map[uint64]bool{}
		for rank := range ranks {
			different[weights(s, rank).Digest()] = true
		}
		return len(different)
	}
	before = digests()
	var copies []*model.Vector
	for rank := range ranks {
		values, err := s.Snapshot(rank)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, values)
	}
	sum := s.NewSum(0)
	for bucket := range layout.Buckets {
		one := dense.Buckets{First: int32(bucket), Last: int32(bucket)}
		if err := s.Reduce(sum, copies, one, dense.Local{}); err != nil {
			t.Fatal(err)
		}
	}
	for rank := range ranks {
		if err := s.Average(rank, copies[rank], sum); err != nil {
			t.Fatal(err)
		}
	}
	return before, digests()
}

// local-sgd replaces replicas by the mean, so that all are equal after a round, bit for bit. async-average
// adds the difference between the mean and the copy, which rounds differently on each rank.
func TestReplicasAreEqualAfterARoundOfLocalSGD(t *testing.T) {
	for _, ranks := range []int{2, 3, 8} {
		every := map[string]int{"every": 1}
		for mode, want := range map[string]int{"local-sgd": 1, "async-average": ranks} {
			s, layout := newStrategy(t, mode, every, ranks)
			scatter(t, s, layout, int32(ranks))
			if before, after := average(t, s, layout, int32(ranks)); before != ranks || after != want {
				t.Errorf("%s of %d ranks: %d different replicas before a round and %d after it, "+
					"want %d and %d", mode, ranks, before, after, ranks, want)
			}
		}
	}
}

// The ranks of backup-workers step replicas of their own with one sum, which a late rank reads last: a step
// of one rank leaves the sum as it was, and equal replicas stay equal.
func TestFirstRanksShareOneSum(t *testing.T) {
	s, layout := newStrategy(t, "backup-workers", map[string]int{"wait-for": 2}, 3)
	sum := s.NewSum(0)
	sum.Stats = make([]float32, 2*layout.Stats)
	for i := range sum.Values {
		sum.Values[i] = float32(i%7) - 3
	}
	initial := weights(s, 0).Digest()
	for rank := range int32(3) {
		work := role.Work{Kind: role.DenseApply, Rank: rank, Samples: 5, StepSamples: 11}
		if err := s.ApplyGradients(work, sum); err != nil {
			t.Fatal(err)
		}
	}
	want := weights(s, 0).Digest()
	if want == initial {
		t.Error("the optimizer step changes nothing")
	}
	for rank := range int32(3) {
		if got := weights(s, rank).Digest(); got != want {
			t.Errorf("rank %d has other parameters than rank 0 after the same step", rank)
		}
	}
}

// apart is a trainer of ranks that have weights of their own, as those on devices.
type apart struct {
	engine    model.Engine
	optimizer opt.DenseSpec
}

// NewReplica implements model.Trainer.
func (a apart) NewReplica(c model.ReplicaConfig) (model.Replica, error) {
	o, err := opt.NewDense(a.optimizer)
	w := model.NewHostWeights(a.engine, c.Initial, o, nil)
	return model.NewHostReplica(w, c.Rank, c.Groups, c.SamplesMax), err
}

// Where each rank has weights of its own, one that is back gets those of the rank with the most steps, and
// then makes the step that no rank has made yet.
func TestWeightsOfTheRankWithTheMostStepsAreCopied(t *testing.T) {
	onOwn := func(e model.Engine, j *job.Job) model.Trainer { return apart{e, j.Model.Optimizer} }
	s, layout := strategyOn(t, job.Sync, nil, 2, onOwn)
	apply := func(to dense.Strategy, rank, step int32) {
		t.Helper()
		sum := model.NewVector(layout) // a step overwrites it
		sum.Stats = make([]float32, 2*layout.Stats)
		for i := range sum.Values {
			sum.Values[i] = float32(i%7) - 3
		}
		work := role.Work{Kind: role.DenseApply, Rank: rank, Step: step, Samples: 5, StepSamples: 10}
		if err := to.ApplyGradients(work, sum); err != nil {
			t.Fatal(err)
		}
	}
	apply(s, 0, 0)
	apply(s, 1, 0)
	s.BeginAt(1)   // the next step is step 0 of the roles
	apply(s, 1, 0) // rank 1 is a step ahead
	part, steps, err := dense.CopyRank(s)
	if err != nil || steps != 1 {
		t.Fatalf("%d steps, error %v; want 1", steps, err)
	}
	back, _ := strategyOn(t, job.Sync, nil, 2, onOwn)
	back.BeginAt(1)
	if err := dense.SetRank(back, part, steps); err != nil {
		t.Fatal(err)
	}
	for rank := range int32(2) {
		apply(back, rank, 0) // it has this step
		if got, want := weights(back, rank).Digest(), weights(s, 1).Digest(); got != want {
			t.Errorf("rank %d that is back has other weights than the rank with the most steps", rank)
		}
		apply(back, rank, 1)
	}
	apply(s, 1, 1)
	for rank := range int32(2) {
		if got, want := weights(back, rank).Digest(), weights(s, 1).Digest(); got != want {
			t.Errorf("rank %d that is back has other weights after its first step", rank)
		}
	}
}
