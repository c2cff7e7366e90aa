package role

import (
	"math"
	"slices"

	"tandem/algo/protocol/event"
)

// closing decides when a server applies the gradients that it holds, and which of them together: an embedding
// PS its puts, a dense PS its pushes. It is a state machine inside that of its server.
type closing interface {
	// buffers reports whether a server acknowledges gradients when they arrive rather than when they are
	// applied.
	buffers() bool
	// next returns the next group to apply now; ok is false if there is none. held is what the server has,
	// ordered by step and rank. The server calls next until there is none.
	nextGroup(held []request) (g group, ok bool)
	// mayServe reports whether a lookup may be served now.
	mayServe(lookup *request) bool
	// outdated reports whether the answer of a lookup is not needed any more.
	outdated(lookup *request) bool
	clone() closing
	appendState(dst []byte) []byte
}

// group is gradients that are applied by one piece of work.
type group struct {
	// work has all but its kind: rank and step of the batch, or NoRank and the latest step of several
	// batches.
	work Work
	// closes is the step that is closed with the group where a PS works step by step, else −1.
	closes int32
	// apply has the positions in held of what is applied, in the order of work's operands; drop has those of
	// what does not count.
	apply, drop []int
	// absent has the ranks whose puts of step closes will not come.
	absent []int32
}

// finishOldest returns the requests that remain when the work on the oldest group has ended: groups are
// applied in the order of their numbers. It releases the gradients of the group, held under handles of a
// kind, and calls finished for each.
func finishOldest(rs []request, kind HandleKind, out *Outputs, finished func(rank, step int32)) []request {
	oldest := oldestGroup(rs)
	return slices.DeleteFunc(rs, func(r request) bool {
		if r.group != oldest {
			return false
		}
		out.release(kind, r.rank, r.step)
		finished(r.rank, r.step)
		return true
	})
}

// oldestGroup returns the lowest number of a group that is being applied, or math.MaxInt32 if none is.
func oldestGroup(rs []request) int32 {
	oldest := int32(math.MaxInt32)
	for _, r := range rs {
		if r.working() {
			oldest = min(oldest, r.group)
		}
	}
	return oldest
}

// atOnce applies gradients as they come.
type atOnce struct{}

func (atOnce) buffers() bool { return false }

func (atOnce) nextGroup(held []request) (group, bool) {
	for i, r := range held {
		if !r.working() {
			w := Work{Rank: r.rank, Step: r.step, Samples: r.samples, StepSamples: r.stepSamples}
			return group{work: w, closes: -1, apply: []int{i}}, true
		}
	}
	return group{}, false
}

func (atOnce) mayServe(*request) bool        { return true }
func (atOnce) outdated(*request) bool        { return false }
func (atOnce) clone() closing                { return atOnce{} }
func (atOnce) appendState(dst []byte) []byte { return dst }

// inStep applies the puts of a step together, when those of every rank are here. It holds the lookups of a
// step back until the step before is closed, and serves them in rank order, so that even the order in which
// rows are created is the same in every run. A rank that asks again is served again.
type inStep struct {
	ranks  int32
	closed int32 // steps closed; step closed is the open one
	turn   int32 // the rank whose lookup of the open step is served next
}

func (*inStep) buffers() bool { return false }

func (s *inStep) nextGroup(held []request) (group, bool) {
	g := group{work: Work{Rank: event.NoRank, Step: s.closed}, closes: s.closed}
	for i, r := range held {
		if r.step == s.closed {
			g.apply = append(g.apply, i)
			g.work.StepSamples = r.stepSamples
		}
	}
	if len(g.apply) < int(s.ranks) {
		return group{}, false
	}
	s.closed++
	s.turn = 0
	return g, true
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

func (*inStep) outdated(*request) bool { return false }

func (s *inStep) clone() closing {
	c := *s
	return &c
}

func (s *inStep) appendState(dst []byte) []byte { return appendInts(dst, s.closed, s.turn) }

// putClosing returns how an embedding PS applies puts.
func (c *Config) putClosing() closing {
	switch own := c.strategy().puts; {
	case own != nil:
		return own(c)
	case c.Rule.InStep():
		return &inStep{ranks: c.Ranks}
	}
	return atOnce{}
}

// pushClosing returns how a dense PS applies pushes.
func (c *Config) pushClosing() closing {
	if own := c.strategy().pushes; own != nil {
		return own(c)
	}
	return atOnce{}
}
