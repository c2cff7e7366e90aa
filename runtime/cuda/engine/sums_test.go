package engine_test

import (
	"testing"
	"time"

	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
)

// line is the collective of two processes with a rank each, of which only Gather is used: other is what the
// other one gives.
type line struct {
	dense.Collective
	rank       int
	own, other chan []float32
}

func (l *line) Gather(given [][]float32) ([]float32, error) {
	l.own <- given[0]
	other := <-l.other
	if l.rank == 0 {
		return append(given[0], other...), nil
	}
	return append(other, given[0]...), nil
}

func (l *line) Done() <-chan struct{} { return nil }

// A process that died between two parts of a run is replaced by another one, and the ranks that live go on
// with what they hold. In the next part all sum together again.
func TestSumsGoOnWithAnotherProcess(t *testing.T) {
	j := job.Default()
	j.Wire.AllReduce, j.Roles.Ranks = job.NCCLSums, 2
	g, optimizer := open(t, 2, j), opt.DefaultDense()
	spec := model.Spec{Kind: model.FeedForward, EmbeddingDim: 2, Top: []int{3}, Activation: model.ReLU}
	process := func(rank int) dense.Summer {
		e, err := model.New(spec, &batch.Schema{PrefixBits: 8, Labels: []string{"label"},
			Slots: []batch.Slot{{Name: "id", Dim: 2}}}, gemm.NewProducts(nil))
		if err != nil {
			t.Fatal(err)
		}
		trainer, err := g.Trainer(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = trainer.NewReplica(model.ReplicaConfig{Rank: rank, Ranks: 2, Groups: 1, SamplesMax: 4,
			Summed: true, Initial: initialValues(e), Optimizer: &optimizer}); err != nil {
			t.Fatal(err)
		}
		return trainer.(dense.Summer)
	}
	first, second := process(0), process(1)
	for part := range 3 {
		a, b := make(chan []float32, 1), make(chan []float32, 1)
		ended := make(chan error, 2)
		ends := []*line{{rank: 0, own: a, other: b}, {rank: 1, own: b, other: a}}
		for range 2 { // steps
			for rank, s := range []dense.Summer{first, second} {
				go func() { ended <- s.SumBucket(0, []*model.Vector{nil}, ends[rank]) }()
			}
			for range ends {
				select {
				case err := <-ended:
					if err != nil {
						t.Fatalf("part %d: %v", part, err)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("part %d: the ranks wait for each other", part)
				}
			}
		}
		if part == 0 {
			second = process(1)
		}
	}
}
