package allreduce

import (
	"cmp"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// A member that crashes takes with it the parts that it has received and the sums that it has not sent to
// all. Nothing of that is in one place only. The other members still have their parts, or the sum in their
// place. The member that is back feeds again what it had fed, with the same bits. So no round is aborted:
// what was on its way is sent again, and who has it already ignores it.
//
// No member feeds a round before it has all sums of the round before. So the rounds of the others differ by
// one at most, and a member that is back begins at most one step before theirs, with the parameters of a
// member that is not ahead of another. Each keeps the sums of its last two steps for it.

// Return sends a member that is back after a crash, and can be reached, what it has lost: for every round
// that this member has fed, its part or, if it has the sum already, the sum. A member that lacks the sum gets
// it from the one that is back, as statistics. Return does nothing if the address is not that of another
// member.
//
// The caller must have dropped the connection to the member that crashed before.
func (g *Group) Return(member msg.Address) error {
	to := slices.Index(g.Members, member)
	if to < 0 || to == g.Self {
		return nil
	}
	var letters []exec.Letter
	g.mu.Lock()
	for at, s := range g.rounds {
		if s.answered != nil {
			s.answered[to] = 0
		}
		for _, c := range g.lostBy(s, to) {
			letters = append(letters, g.letter(at, member, c))
		}
	}
	g.mu.Unlock()
	slices.SortFunc(letters, func(a, b exec.Letter) int {
		return cmp.Or(cmp.Compare(a.Message.Step, b.Message.Step),
			cmp.Compare(a.Payload.(wire.Chunk).Bucket, b.Payload.(wire.Chunk).Bucket))
	})
	return g.send(letters)
}

// lostBy returns the chunks of a round that a returning member needs. The caller holds g.mu.
func (g *Group) lostBy(s *roundState, to int) (all []wire.Chunk) {
	if s.own != nil { // the member may have fed again, and the answer did not reach it
		all = append(all, wire.Chunk{Sum: true, Values: s.own})
	}
	switch chunk := g.chunk(s.values, to); {
	case !s.fed:
	case s.gathered:
		all = append(all, wire.Chunk{Stats: slices.Clone(s.stats)})
		if s.received.in[to] {
			all = append(all, wire.Chunk{Sum: true, Own: true, Stats: s.chunks[to].Stats})
		}
	case len(chunk) > 0:
		all = append(all, wire.Chunk{Values: slices.Clone(chunk), Sum: s.summed.in[to], Own: s.summed.in[to]})
	}
	return all
}

// keep notes that a round has ended, and drops those of earlier steps than the last two. The values belong to
// the caller of Feed from here on. The caller holds g.mu.
func (g *Group) keep(at round) {
	s := g.rounds[at]
	s.values, s.stats = slices.Clone(s.values), slices.Clone(s.stats)
	if !s.gathered {
		s.chunks = nil
	}
	if at.step == g.newest {
		return
	}
	g.newest = at.step
	for other := range g.rounds {
		if other.step < at.step-1 {
			delete(g.rounds, other)
		}
	}
}

// answersMost is how often a member is sent the sum of a round again, before it is back once more.
const answersMost = 8

// answer reports whether a member's chunk is not needed: because it was sent before, or the sum is known. It
// returns the sum, if it is known here, which the member may lack, or an error if the member has had it too
// often. The caller holds g.mu.
func (g *Group) answer(at round, from int) (sum []float32, answered bool, err error) {
	s := g.rounds[at]
	switch {
	case !g.Recovers:
		return nil, false, nil
	case s == nil:
		return nil, g.isOver(at), nil // of a round that no member needs any more
	case s.own == nil && !s.received.in[from] && !g.isOver(at):
		return nil, false, nil
	}
	if s.answered == nil {
		s.answered = make([]uint8, len(g.Members))
	}
	if s.answered[from]++; s.answered[from] > answersMost {
		s.answered[from] = answersMost
		return nil, true, g.refuse(from, at, "step: a part comes again and again")
	}
	return s.own, true, nil
}

// isOver reports whether a round has ended here. The caller holds g.mu.
func (g *Group) isOver(at round) bool { return at.step < g.over[at.bucket] }

// addOwn takes from another member what this member had made before it crashed, a sum or its statistics, and
// sends it to those that lack it.
func (g *Group) addOwn(at round, from int, c wire.Chunk) error {
	switch {
	case !g.Recovers:
		return g.refuse(from, at, "own: members do not come back")
	case len(c.Values) > 0:
		return g.addOwnSum(at, from, c.Values)
	case len(c.Stats) > g.Stats:
		return g.refuse(from, at, "length: %d statistics, want at most %d", len(c.Stats), g.Stats)
	}
	due, err := g.relay(at, from)
	if !due || err != nil {
		return err
	}
	again := wire.Chunk{Stats: c.Stats}
	return g.sendAll(at, func(int) (wire.Chunk, bool) { return again, true })
}

// relay reports whether this member passes on statistics that it has given before it crashed: not if it has
// given them again. Of the rounds of three steps, every other member may send them once.
func (g *Group) relay(at round, from int) (due bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.rounds[at]
	switch {
	case s != nil && s.fed && !s.gathered:
		return false, g.refuse(from, at, "own: statistics, want a sum")
	case g.isOver(at) || s != nil && s.fed:
		return false, nil
	}
	if g.relayed++; g.relayed > 3*g.Buckets*len(g.Members) {
		return false, g.refuse(from, at, "own: statistics come again and again")
	}
	return true, nil
}

// addOwnSum is addOwn for a sum.
func (g *Group) addOwnSum(at round, from int, sum []float32) error {
	g.mu.Lock()
	s := g.rounds[at]
	known := g.isOver(at) || s != nil && (s.own != nil || s.summing)
	err := g.checkOwnSum(at, from, s, sum)
	if known || err != nil {
		g.mu.Unlock()
		return err
	}
	s = g.state(at)
	s.own, s.ownFrom = sum, from
	g.mu.Unlock()
	return g.spread(at, sum)
}

// checkOwnSum returns why a sum is refused that another member sends to its owner, or nil. The caller holds
// g.mu.
func (g *Group) checkOwnSum(at round, from int, s *roundState, sum []float32) error {
	switch {
	case s != nil && s.fed && (s.gathered || len(sum) != len(g.chunk(s.values, g.Self))):
		return g.refuse(from, at, "length: the sum of %d values, want %d", len(sum),
			len(g.chunk(s.values, g.Self)))
	case len(sum) > g.chunkMost():
		return g.refuse(from, at, "length: the sum of %d values, want at most %d", len(sum), g.chunkMost())
	case s != nil && s.fed:
		return nil
	}
	return g.checkAhead(at, from, func(s *roundState) bool { return s.own != nil })
}
