package search

import (
	"fmt"
	"math/bits"

	"tandem/algo/protocol/event"
)

// observeDense checks the laws of the dense network where ranks do not reduce
// its gradients in lock step.
func (w *World) observeDense(e event.Record) error {
	c := &w.set.Config
	switch e.Kind {
	case event.PushApplied:
		if w.pushed[e.Role.Index]&w.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("%v applies the push of rank %d step %d a second time", e.Role, e.Rank, e.Step)
		}
		missed := bits.OnesCount64(w.pushed[e.Role.Index]) - int(w.pulled[e.Role.Index*c.Ranks+e.Rank])
		w.Seen.Dense = max(w.Seen.Dense, missed)
		if most := c.Rule.Bounds(int(c.Ranks)).Dense; missed > most {
			return fmt.Errorf("rank %d's push of step %d on %v is %d updates late; promised %d", e.Rank, e.Step, e.Role, missed, most)
		}
		w.pushed[e.Role.Index] |= w.batchBit(e.Rank, e.Step)
	case event.PushDropped:
		w.pushed[e.Role.Index] |= w.batchBit(e.Rank, e.Step)
	case event.PullServed:
		return w.observePull(e)
	case event.ForwardStarted:
		if c.Rule.Dense().Servers {
			return w.observeLead(e)
		}
	case event.SnapshotTaken:
		if w.copied&w.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("rank %d gives a copy to round %d a second time", e.Rank, e.Step)
		}
		w.copied |= w.batchBit(e.Rank, e.Step)
	case event.Averaged:
		for rank := range c.Ranks {
			if w.copied&w.batchBit(rank, e.Step) == 0 {
				return fmt.Errorf("rank %d folds in the mean of round %d without rank %d's copy", e.Rank, e.Step, rank)
			}
		}
		w.averaged |= w.batchBit(e.Rank, e.Step)
	}
	return nil
}

// observePull checks that a rank sees its own pushes, unless pulls overlap them.
func (w *World) observePull(e event.Record) error {
	c := &w.set.Config
	pushed := w.pushed[e.Role.Index]
	w.pulled[e.Role.Index*c.Ranks+e.Rank] = int8(bits.OnesCount64(pushed))
	earlier := w.batchBit(e.Rank, e.Step) - w.batchBit(e.Rank, 0)
	if missed := bits.OnesCount64(earlier &^ pushed); missed > 0 && !c.Rule.OverlapSync() && !c.Rule.Dense().Buffered {
		return fmt.Errorf("rank %d's pull for step %d on %v misses %d of its own pushes", e.Rank, e.Step, e.Role, missed)
	}
	return nil
}

// observeLead checks that no rank is too far ahead of what another has pushed.
func (w *World) observeLead(e event.Record) error {
	c := &w.set.Config
	for rank := range c.Ranks {
		clock := c.Steps
		for _, pushed := range w.pushed {
			missing := ^pushed >> (rank * c.Steps)
			clock = min(clock, int32(bits.TrailingZeros64(missing)))
		}
		lead := int(e.Step - clock)
		if rank != e.Rank {
			w.Seen.Lead = max(w.Seen.Lead, lead)
		}
		if lead > c.Rule.Lead() {
			return fmt.Errorf("rank %d starts step %d, %d steps ahead of rank %d; promised %d", e.Rank, e.Step, lead, rank, c.Rule.Lead())
		}
	}
	return nil
}
