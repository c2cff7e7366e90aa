package role_test

import (
	"testing"

	"tandem/algo/msg"
	"tandem/algo/pace"
	"tandem/algo/role"
	"tandem/algo/unit"
)

// A rank that pulls early hands over pushes that dense PSs have not acknowledged. There are at most as many of
// them as batches in flight, so the memory of rank and dense PSs is bounded.
func TestPushesInFlightAreBoundedByPrefetch(t *testing.T) {
	for prefetch := int32(1); prefetch <= 3; prefetch++ {
		cfg := smallConfig()
		cfg.Rule, cfg.Prefetch = pace.AsyncPS{Staleness: int(prefetch) - 1, Overlap: pace.PullEarly}, prefetch
		cfg.DenseServers = []unit.Bytes{1000}
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
				t.Errorf("rank %d with %d batches in flight: %d pushes wait, want as many", rank, prefetch, n)
			}
		}
	}
}

// A rank's puts and pushes say below which step everything is finished (Message.Floor), so what a PS remembers of
// finished steps does not grow with the run, though it never hears of the steps that concern other PSs only.
func TestServersForgetStepsBelowTheFloor(t *testing.T) {
	for kind, at := range map[msg.Kind]msg.Address{
		msg.Put:  {Role: msg.ParameterServer},
		msg.Push: {Role: msg.DenseServer},
	} {
		cfg := smallConfig()
		cfg.Steps = 4000
		cfg.Rule = pace.AsyncPS{Staleness: 1, Overlap: pace.PullEarly}
		cfg.DenseServers = []unit.Bytes{1000}
		c := newCluster(cfg)
		var early, late int
		for step := int32(0); step < cfg.Steps; step += 2 { // odd steps have rows on the other PS only
			m := msg.Message{Kind: kind, To: at, Step: step, Floor: max(0, step-1), Samples: 4, StepSamples: 8}
			c.step(at, role.Input{Kind: role.Received, Message: m}, "got "+brief(m))
			c.finish(func(pending) bool { return true })
			switch n := len(c.find(at).AppendState(nil)); step {
			case 100:
				early = n
			case 3900:
				late = n
			}
		}
		// A step takes two or three bytes of the state, of which a few are remembered.
		if late > early+4 {
			t.Errorf("%v: its state has %d bytes after 100 steps, %d after 3900", at, early, late)
		}
	}
}
