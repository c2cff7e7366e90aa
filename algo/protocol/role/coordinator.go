package role

import (
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Coordinator is the coordinator of ssp. It holds the clock of every rank, which is the number of pushes that
// all dense PSs have acknowledged, and broadcasts the slowest clock. A crash loses nothing for good, as ranks
// repeat their reports.
type Coordinator struct {
	cfg    *Config
	clocks []int32 // by rank
}

// NewCoordinator returns the coordinator of a run.
func NewCoordinator(cfg *Config) *Coordinator {
	return &Coordinator{cfg: cfg, clocks: make([]int32, cfg.Ranks)}
}

// Address implements Role.
func (c *Coordinator) Address() msg.Address { return coordinator }

// HandleInput implements Role.
func (c *Coordinator) HandleInput(now unit.Tick, in Input, out *Outputs) {
	if in.Kind == Start {
		clear(c.clocks)
	}
	if in.Kind != Received || in.Message.Kind != msg.ReportClock {
		return
	}
	rank := in.Message.Rank
	before := slices.Min(c.clocks)
	c.clocks[rank] = max(c.clocks[rank], in.Message.Step)
	slowest := slices.Min(c.clocks)
	if slowest == before {
		// The rank may repeat its report because the last answer was lost.
		c.sendClock(rank, slowest, out)
		return
	}
	out.record(event.Record{At: now, Role: coordinator, Kind: event.ClockAdvanced, Rank: event.NoRank,
		Step: slowest})
	for r := range c.cfg.Ranks {
		c.sendClock(r, slowest, out)
	}
}

func (c *Coordinator) sendClock(rank, slowest int32, out *Outputs) {
	out.send(msg.Message{
		Kind: msg.SlowestClock, From: coordinator, To: nnWorker(rank), Rank: rank, Step: slowest,
		Bytes: msg.HeaderBytes,
	}, Handle{})
}

// Clone implements Role.
func (c *Coordinator) Clone() Role { return &Coordinator{c.cfg, slices.Clone(c.clocks)} }

// AppendState implements Role.
func (c *Coordinator) AppendState(dst []byte) []byte { return appendInts(dst, c.clocks...) }
