package role_test

import (
	"testing"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// A rank that pulls early has at most Prefetch unacknowledged pushes, so the memory of rank and dense PSs is
// bounded.
func TestPushesInFlightAreBoundedByPrefetch(t *testing.T) {
	for prefetch := int32(1); prefetch <= 3; prefetch++ {
		cfg := smallConfig()
		cfg.Rule, cfg.Prefetch = pace.AsyncPS{Staleness: int(prefetch) - 1, Overlap: pace.PullEarly}, prefetch
		cfg.DensePSs = []unit.Bytes{1000}
		c := newCluster(cfg)
		for _, r := range c.roles {
			c.step(r.Address(), role.Input{Kind: role.Start}, "start")
		}
		c.run(func(m msg.Message) bool { return m.Kind == msg.Push }) // no push arrives
		waiting := make([]int32, cfg.Ranks)
		for _, m := range c.mail {
			waiting[m.Rank]++
		}
		for rank, n := range waiting {
			if n != prefetch {
				t.Errorf("rank %d with prefetch %d: %d pushes in flight, want as many as prefetch", rank,
					prefetch, n)
			}
		}
	}
}

// Batches go to the embedding workers in turn, in the order in which they are dealt out, so all workers have
// the same number of batches, for any numbers of ranks and workers.
func TestBatchesGoToEmbeddingWorkersInTurn(t *testing.T) {
	for _, workers := range []int32{1, 2, 3, 4, 5} {
		cfg := smallConfig()
		cfg.EmbeddingWorkers, cfg.Ranks = workers, 4
		c := newCluster(cfg)
		for _, r := range c.roles {
			c.step(r.Address(), role.Input{Kind: role.Start}, "start")
		}
		dealt := int32(0)
		for !c.idle() {
			for _, m := range c.mail {
				if m.Kind != msg.IDFeatures {
					continue
				}
				if want := (m.Step*cfg.Ranks + m.Rank) % workers; m.To.Index != want {
					t.Errorf("%d workers: batch %d of rank %d goes to worker %d, want %d", workers, m.Step,
						m.Rank, m.To.Index, want)
				}
				dealt++
			}
			c.deliver(func(msg.Message) bool { return true })
			c.finish(func(pending) bool { return true })
			c.reduce(func(pending) bool { return true })
		}
		if want := cfg.Steps * cfg.Ranks; dealt != want {
			t.Errorf("%d workers: the loader deals out %d batches, want %d", workers, dealt, want)
		}
	}
}

// Puts and pushes have the first unfinished step of their rank (Message.Floor), so the state of a PS does not
// grow with the length of the run, although it receives no message about steps without rows on it.
func TestPSsForgetStepsBelowTheFloor(t *testing.T) {
	for kind, at := range map[msg.Kind]msg.Address{
		msg.Put:  {Role: msg.EmbeddingPS},
		msg.Push: {Role: msg.DensePS},
	} {
		cfg := smallConfig()
		cfg.Steps = 4000
		cfg.Rule = pace.AsyncPS{Staleness: 1, Overlap: pace.PullEarly}
		cfg.DensePSs = []unit.Bytes{1000}
		c := newCluster(cfg)
		var early, late int
		for step := int32(0); step < cfg.Steps; step += 2 { // odd steps have rows on the other PS
			m := msg.Message{Kind: kind, To: at, Step: step, Floor: max(0, step-1), Samples: 4,
				StepSamples: 8}
			c.step(at, role.Input{Kind: role.Received, Message: m}, "got "+brief(m))
			c.finish(func(pending) bool { return true })
			switch n := len(c.find(at).AppendState(nil)); step {
			case 100:
				early = n
			case 3900:
				late = n
			}
		}
		// A step takes two or three bytes of the state, and the PS remembers a few steps.
		if late > early+4 {
			t.Errorf("%v: the state has %d bytes after 100 steps and %d after 3900, want about the same", at,
				early, late)
		}
	}
}
