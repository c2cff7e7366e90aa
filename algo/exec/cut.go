package exec

import (
	"fmt"

	"tandem/algo/protocol/msg"
)

// cut has the numbers by which global batches are cut: their groups, and the groups of a rank. Its methods
// apply the rule of batch.Cut to messages.
type cut struct{ groups, own int }

// bound returns where group g begins among the samples of a message's step.
func (c cut) bound(m msg.Message, g int) int { return g * int(m.StepSamples) / c.groups }

// first returns the first group of a message's rank.
func (c cut) first(m msg.Message) int { return int(m.Rank) * c.own }

// share returns how many samples of a message's step its rank has.
func (c cut) share(m msg.Message) int {
	return c.bound(m, c.first(m)+c.own) - c.bound(m, c.first(m))
}

// check returns an error unless a part is cut into the groups of the message's rank.
func (c cut) check(m msg.Message, samples, firstGroup int, bounds []int) error {
	first := c.first(m)
	switch {
	case samples != int(m.Samples):
		return fmt.Errorf("samples: %d, but the message states %d", samples, m.Samples)
	case firstGroup != first:
		return fmt.Errorf("first group: %d, want %d", firstGroup, first)
	case len(bounds) != c.own+1:
		return fmt.Errorf("bounds: %d, want %d", len(bounds), c.own+1)
	}
	for g, bound := range bounds {
		if want := c.bound(m, first+g) - c.bound(m, first); bound != want {
			return fmt.Errorf("bounds: %d of group %d, want %d", bound, first+g, want)
		}
	}
	return nil
}
