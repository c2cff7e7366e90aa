package process

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/train"
)

// With roles.rank-recovery a rank whose process is killed comes back with the parameters of another: every
// put is applied once, and sync has the bits of sequential training. Without checkpoints, nothing else would
// save the run. A second rank may die before the first is back. An evaluation that reads from a rank while it
// dies has the values of one that nothing disturbs.
func TestKilledRanksComeBack(t *testing.T) {
	t.Parallel()
	rank := func(i int32) msg.Address { return msg.Address{Role: msg.NNWorker, Index: i} }
	for _, c := range []killedRanks{
		{job.Sync, job.Apart, false, 1, []msg.Address{rank(0), rank(3), rank(0)}, false},
		{job.Sync, job.Apart, true, 0, []msg.Address{rank(2), rank(1)}, false},
		{job.Hybrid, job.Apart, false, 10, []msg.Address{rank(1), rank(0), rank(1)}, false},
	} {
		if !testing.Short() || c.hot {
			c.comeBack(t, 1)
		}
	}
}

// A rank whose process has an embedding worker, or the data loader as well, comes back with them: its batches
// are at embedding workers of other processes. One process after the other is killed, because each has
// batches of a rank of the other.
func TestKilledRanksComeBackWithTheirEmbeddingWorkers(t *testing.T) {
	t.Parallel()
	const shared = "data-loader, embedding-worker 0, nn-worker 0; embedding-worker 1, nn-worker 1; " +
		"embedding-ps 0, embedding-ps 1, nn-worker 2, nn-worker 3"
	loader, worker := msg.Address{Role: msg.DataLoader}, msg.Address{Role: msg.EmbeddingWorker, Index: 1}
	killedRanks{job.Sync, shared, true, 50, []msg.Address{worker, loader}, true}.comeBack(t, 2)
	if !testing.Short() {
		killedRanks{job.Hybrid, shared, false, 0, []msg.Address{loader, worker}, true}.comeBack(t, 1)
	}
}

// killedRanks is a run that processes with ranks do not survive.
type killedRanks struct {
	mode, placement string
	hot             bool
	evaluate        int           // steps between evaluations; 0: one at the end
	victims         []msg.Address // the first roles of their processes
	patient         bool          // the next is not killed before the batches of the death before are over
}

// comeBack checks that the run completes as if no process had been killed, with as many seeds or, with -long,
// 20.
func (c killedRanks) comeBack(t *testing.T, seeds uint64) {
	if *long {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(c.mode, " ", c.victims, " seed ", seed), func(t *testing.T) {
			var logged log
			s := setting{Training: mustPlace(t, c.mode, c.placement), Steps: 250, stderr: &logged}
			s.Training.Training.Seed, s.Training.Wire.Retry = seed+1, 100*unit.Millisecond
			s.Training.Roles.RankRecovery = true
			s.Training.Training.EvaluateEvery.Steps = c.evaluate
			if c.hot {
				s.Training.Rows.Hot.Share = 0.02
			}
			k := newKiller(t, seed, s.Steps, c.victims...)
			var puts outcomes
			pause := longestPause{Observer: &puts}
			progress := func(done, steps int) {
				over := int(pause.returned) + s.Training.Window() + 2
				if !c.patient || pause.returns == k.killed && done >= over {
					k.progress(done, steps)
				}
			}
			got, err := s.run(t.Context(), train.Options{Progress: progress, Observer: &pause},
				func(made *Cluster) { k.cluster = made })
			if err != nil {
				t.Fatal(err, logged.String())
			}
			puts.mustBeOne(t)
			t.Logf("killed after steps %d; the longest time between two steps of a rank is %v", k.at,
				time.Duration(pause.longest).Round(time.Millisecond))
			if k.killed != len(c.victims) {
				t.Errorf("killed %d times: %s", k.killed, logged.String())
			}
			if c.mode == job.Sync {
				want := s.mustEqualSequential(t, got)
				if !slices.EqualFunc(got.Curve, want.Curve, samePoint) {
					t.Errorf("curve %+v, want %+v", got.Curve, want.Curve)
				}
			}
		})
	}
}

// longestPause measures the longest time between the ends of two steps of a rank.
type longestPause struct {
	event.Observer
	last     map[msg.Address]unit.Tick
	longest  unit.Tick
	returns  int   // of ranks
	returned int32 // the first step of the latest of them
}

// Observe implements event.Observer.
func (p *longestPause) Observe(r event.Record) {
	if r.Kind == event.RankReturned {
		p.returns, p.returned = p.returns+1, r.Step
	}
	if r.Kind == event.DenseApplied {
		if before, known := p.last[r.Role]; known {
			p.longest = max(p.longest, r.At-before)
		} else if p.last == nil {
			p.last = map[msg.Address]unit.Tick{}
		}
		p.last[r.Role] = r.At
	}
	p.Observer.Observe(r)
}

// samePoint reports whether two points are equal but for their times.
func samePoint(a, b evaluation.Point) bool {
	return a.Step == b.Step && a.AUC == b.AUC && a.LogLoss == b.LogLoss
}
