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
	kills := []struct {
		mode     string
		hot      bool
		evaluate int // steps between evaluations; 0: one at the end
		victims  []msg.Address
	}{
		{job.Sync, false, 1, []msg.Address{rank(0), rank(3), rank(0)}},
		{job.Sync, true, 0, []msg.Address{rank(2), rank(1)}},
		{job.Hybrid, false, 10, []msg.Address{rank(1), rank(0), rank(1)}},
	}
	seeds := uint64(1)
	if *long {
		seeds = 20
	}
	for _, c := range kills {
		for seed := range seeds {
			t.Run(fmt.Sprint(c.mode, " ", c.victims, " seed ", seed), func(t *testing.T) {
				var logged log
				s := setting{Training: small(c.mode), Steps: 250, stderr: &logged}
				s.Training.Training.Seed, s.Training.Wire.Retry = seed+1, 100*unit.Millisecond
				s.Training.Roles.RankRecovery = true
				s.Training.Training.EvaluateEvery.Steps = c.evaluate
				if c.hot {
					s.Training.Rows.Hot.Share = 0.02
				}
				k := newKiller(t, seed, s.Steps, c.victims...)
				var puts outcomes
				pause := longestPause{Observer: &puts}
				got, err := s.run(t.Context(), train.Options{Progress: k.progress, Observer: &pause},
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
}

// longestPause measures the longest time between the ends of two steps of a rank.
type longestPause struct {
	event.Observer
	last    map[msg.Address]unit.Tick
	longest unit.Tick
}

// Observe implements event.Observer.
func (p *longestPause) Observe(r event.Record) {
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
