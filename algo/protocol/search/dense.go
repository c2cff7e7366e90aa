package search

import (
	"fmt"
	"math/bits"

	"tandem/algo/protocol/event"
)

// observeDense checks the invariants of the dense network in modes whose ranks do not reduce gradients in
// lock step.
func (s *State) observeDense(e event.Record) error {
	c := &s.set.Config
	switch e.Kind {
	case event.PushApplied:
		if s.pushed[e.Role.Index]&s.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("%v applies the push of rank %d step %d a second time", e.Role, e.Rank, e.Step)
		}
		missed := bits.OnesCount64(s.pushed[e.Role.Index]) - int(s.pulled[e.Role.Index*c.Ranks+e.Rank])
		s.Seen.Dense = max(s.Seen.Dense, missed)
		if most := c.Rule.Bounds(int(c.Ranks)).Dense; missed > most {
			return fmt.Errorf("rank %d's push of step %d on %v is %d updates late; promised %d", e.Rank,
				e.Step, e.Role, missed, most)
		}
		s.pushed[e.Role.Index] |= s.batchBit(e.Rank, e.Step)
	case event.PushDropped:
		s.pushed[e.Role.Index] |= s.batchBit(e.Rank, e.Step)
	case event.PullServed:
		return s.observePull(e)
	case event.ForwardStarted:
		if c.Rule.Dense().DensePSs {
			return s.observeLead(e)
		}
	case event.SnapshotTaken:
		if s.copied&s.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("rank %d contributes a copy to round %d a second time", e.Rank, e.Step)
		}
		s.copied |= s.batchBit(e.Rank, e.Step)
	case event.Averaged:
		for rank := range c.Ranks {
			if s.copied&s.batchBit(rank, e.Step) == 0 {
				return fmt.Errorf("rank %d adds the mean of round %d without rank %d's copy", e.Rank, e.Step,
					rank)
			}
		}
		s.averaged |= s.batchBit(e.Rank, e.Step)
	}
	return nil
}

// observePull checks that a pull sees the earlier pushes of its rank, in modes whose pulls do not overlap
// pushes.
func (s *State) observePull(e event.Record) error {
	c := &s.set.Config
	pushed := s.pushed[e.Role.Index]
	s.pulled[e.Role.Index*c.Ranks+e.Rank] = int8(bits.OnesCount64(pushed))
	earlier := s.batchBit(e.Rank, e.Step) - s.batchBit(e.Rank, 0)
	if missed := bits.OnesCount64(earlier &^ pushed); missed > 0 && !c.Rule.OverlapSync() &&
		!c.Rule.Dense().Buffered {
		return fmt.Errorf("rank %d's pull for step %d on %v misses %d of its own pushes", e.Rank, e.Step,
			e.Role, missed)
	}
	return nil
}

// observeLead checks the number of steps by which a rank that starts FC is ahead of the pushes of the others.
func (s *State) observeLead(e event.Record) error {
	c := &s.set.Config
	for rank := range c.Ranks {
		clock := c.Steps
		for _, pushed := range s.pushed {
			missing := ^pushed >> (rank * c.Steps)
			clock = min(clock, int32(bits.TrailingZeros64(missing)))
		}
		lead := int(e.Step - clock)
		if rank != e.Rank {
			s.Seen.Lead = max(s.Seen.Lead, lead)
		}
		if lead > c.Rule.Lead() {
			return fmt.Errorf("rank %d starts step %d, %d steps ahead of rank %d; promised %d", e.Rank,
				e.Step, lead, rank, c.Rule.Lead())
		}
	}
	return nil
}
