package role

import "tandem/algo/protocol/event"

// accessOrder decides when a PS serves lookups and applies gradients, and which gradients together: an
// embedding PS its puts, a dense PS its pushes. It is a state machine inside the state machine of its PS.
type accessOrder interface {
	// buffers reports whether the PS acknowledges gradients when they arrive, instead of when they are
	// applied.
	buffers() bool
	// nextGroup returns a group to apply now; ok is false if there is none. waiting has the gradients of the
	// PS that are in no group, ordered by step and rank. The PS calls nextGroup until there is no group.
	nextGroup(waiting []request) (g group, ok bool)
	// mayServe reports whether the PS may serve a lookup now. A false becomes true only when nextGroup
	// returns a group, or when mayServe returns true for the lookup before it, in the order of steps and
	// ranks. So the PS need not ask again about all lookups at every input.
	mayServe(lookup *request) bool
	// setEnd makes the order expect gradients of the steps before end only.
	setEnd(end int32)
	// outdated reports whether no role needs the answer to a lookup.
	outdated(lookup *request) bool
	clone() accessOrder
	appendState(dst []byte) []byte
}

// group is a set of gradients that one piece of work applies.
type group struct {
	// work is the work without its kind. Its rank and step are those of the batch, or NoRank and the latest
	// step of several batches.
	work Work
	// closes is the step that the group closes if the PS works step by step, else −1.
	closes int32
	// apply has the indices in waiting of the gradients to apply, in the order of the operands of work, and
	// drop the indices of those that do not count.
	apply, drop []int
	// absent has the ranks whose puts of step closes will not arrive.
	absent []int32
}

// atOnce applies each gradient when it arrives.
type atOnce struct{}

func (atOnce) buffers() bool { return false }

func (atOnce) nextGroup(waiting []request) (group, bool) {
	if len(waiting) == 0 {
		return group{}, false
	}
	r := &waiting[0]
	w := Work{Rank: r.rank, Step: r.step, Samples: r.samples, StepSamples: r.stepSamples}
	return group{work: w, closes: -1, apply: []int{0}}, true
}

func (atOnce) mayServe(*request) bool        { return true }
func (atOnce) setEnd(int32)                  {}
func (atOnce) outdated(*request) bool        { return false }
func (atOnce) clone() accessOrder            { return atOnce{} }
func (atOnce) appendState(dst []byte) []byte { return dst }

// inStep applies the puts of a step together, when the puts of every rank are here. It holds the lookups of a
// step back until the previous step is closed, and serves them in rank order, so the order in which rows are
// created is the same in every run. It serves repeated lookups again.
type inStep struct {
	ranks  int32
	closed int32 // number of closed steps, and the number of the open step
	turn   int32 // the rank whose lookup of the open step is next
}

func (*inStep) buffers() bool { return false }

func (s *inStep) nextGroup(waiting []request) (group, bool) {
	first, end := ofStep(waiting, s.closed)
	if end-first < int(s.ranks) {
		return group{}, false
	}
	g := closing(waiting, first, end, s.closed)
	s.closed++
	s.turn = 0
	return g, true
}

// ofStep returns the range of the requests of a step.
func ofStep(rs []request, step int32) (first, end int) {
	return place(rs, 0, step), place(rs, 0, step+1)
}

// closing returns the group of the gradients waiting[first:end], which closes their step.
func closing(waiting []request, first, end int, step int32) group {
	g := group{work: Work{Rank: event.NoRank, Step: step}, closes: step, apply: make([]int, 0, end-first)}
	for i := first; i < end; i++ {
		g.apply = append(g.apply, i)
		g.work.StepSamples = waiting[i].stepSamples
	}
	return g
}

func (s *inStep) mayServe(r *request) bool {
	if r.step != s.closed || r.rank > s.turn {
		return false
	}
	if r.rank == s.turn {
		s.turn++
	}
	return true
}

func (*inStep) setEnd(int32)           {}
func (*inStep) outdated(*request) bool { return false }

func (s *inStep) clone() accessOrder {
	c := *s
	return &c
}

func (s *inStep) appendState(dst []byte) []byte { return appendInts(dst, s.closed, s.turn) }

// putOrder returns the order of an embedding PS.
func (c *Config) putOrder() accessOrder {
	switch own := c.strategy().puts; {
	case own != nil:
		return own(c)
	case c.Rule.InStep():
		return &inStep{ranks: c.Ranks}
	}
	return atOnce{}
}

// pushOrder returns the order of a dense PS.
func (c *Config) pushOrder() accessOrder {
	if own := c.strategy().pushes; own != nil {
		return own(c)
	}
	return atOnce{}
}
