package pace

import (
	"math/bits"
	"slices"
)

// ledger is the set of missing puts by PS, rank and step. A put is missing if its batch is routed, has rows
// on the PS and is not applied there. A step of a rank is over when it is routed and no put of it is missing.
// The ledger holds, for each rank, a window of steps: from the first that is not over to the last that is
// routed.
//
// Missing puts are bits. Each PS and rank has width words, and step j is bit j mod 64 of word (j / 64) mod
// width, so the window moves without copying. Bits outside the window are 0.
type ledger struct {
	ranks, pss int32
	width      int32    // words for each PS and rank; a power of two
	words      []uint64 // by PS, rank, word
	spans      []span   // by rank
	left       []int32  // number of missing puts by rank and step mod 64 × width, or unrouted
	closed     []int32  // by PS: the number of closed steps; no put of a closed step is missing
	front      front
	tallies    []tallies // by PS
}

// span is the window of one rank: the steps in [first, last). All steps below routed are routed.
type span struct{ first, routed, last int32 }

// unrouted is the value in ledger.left of a step that is not routed.
const unrouted = -1

func newLedger(ranks, pss int32) ledger {
	l := ledger{ranks: ranks, pss: pss, spans: make([]span, ranks), closed: make([]int32, pss),
		front: newFront(ranks), tallies: make([]tallies, pss)}
	l.widen(1)
	return l
}

// widen changes the number of words for each PS and rank.
func (l *ledger) widen(width int32) {
	old := *l
	l.width = width
	l.words = make([]uint64, l.pss*l.ranks*width)
	l.left = make([]int32, l.ranks*64*width)
	for i := range l.left {
		l.left[i] = unrouted
	}
	for rank, s := range old.spans {
		for step := s.first; step < s.last; step++ {
			*l.leftOf(int32(rank), step) = *old.leftOf(int32(rank), step)
		}
		for ps := range l.pss {
			for word := s.first / 64; word*64 < s.last; word++ {
				*l.word(ps, int32(rank), word) = *old.word(ps, int32(rank), word)
			}
		}
	}
}

// word returns the missing puts of steps [64 word, 64 word + 64).
func (l *ledger) word(ps, rank, word int32) *uint64 {
	return &l.words[(ps*l.ranks+rank)*l.width+word&(l.width-1)]
}

func (l *ledger) leftOf(rank, step int32) *int32 {
	return &l.left[rank*64*l.width+step&(64*l.width-1)]
}

// routed returns the first step of a rank that is not routed.
func (l *ledger) routed(rank int32) int32 { return l.spans[rank].routed }

// holds reports whether a step is routed and not over.
func (l *ledger) holds(rank, step int32) bool {
	s := &l.spans[rank]
	return step >= s.first && step < s.last && *l.leftOf(rank, step) != unrouted
}

// missing reports whether a put is missing on a PS.
func (l *ledger) missing(ps, rank, step int32) bool {
	return l.holds(rank, step) && *l.word(ps, rank, step/64)>>(step%64)&1 == 1
}

// isOver reports whether a step is routed and no put of it is missing.
func (l *ledger) isOver(rank, step int32) bool {
	return step < l.spans[rank].first || l.holds(rank, step) && *l.leftOf(rank, step) == 0
}

// count returns the number of missing puts of a rank's steps below limit.
func (l *ledger) count(ps, rank, limit int32) int {
	s := &l.spans[rank]
	limit = min(limit, s.last)
	n := 0
	for word := s.first / 64; word*64 < limit; word++ {
		missing := *l.word(ps, rank, word)
		if beyond := word*64 + 64 - limit; beyond > 0 {
			missing = missing << beyond // removes the steps ≥ limit
		}
		n += bits.OnesCount64(missing)
	}
	return n
}

// route adds a batch and returns its rows by PS, with 0 where the step is closed, as the PS has dropped the
// batch. It returns false if the batch was added before.
func (l *ledger) route(rank, step int32, rows []int32) (counted []int32, first bool) {
	s := &l.spans[rank]
	if step < s.first || l.holds(rank, step) {
		return nil, false
	}
	if slices.Max(l.closed) > step {
		rows = slices.Clone(rows)
		for ps, closed := range l.closed {
			if closed > step {
				rows[ps] = 0
			}
		}
	}
	for step/64-s.first/64 >= l.width {
		l.widen(2 * l.width)
	}
	touched := int32(0)
	for ps, n := range rows {
		if n > 0 {
			*l.word(int32(ps), rank, step/64) |= 1 << (step % 64)
			touched++
		}
	}
	*l.leftOf(rank, step) = touched
	s.last = max(s.last, step+1)
	before := s.routed
	for s.routed < s.last && *l.leftOf(rank, s.routed) != unrouted {
		s.routed++
	}
	if s.routed > before {
		l.front.move(before, s.routed)
	}
	l.forget(rank)
	return rows, true
}

// close removes the missing puts of a step on a PS that has closed the step: the PS has dropped them.
func (l *ledger) close(ps, step int32) {
	l.closed[ps] = max(l.closed[ps], step+1)
	for rank := range l.ranks {
		l.apply(ps, rank, step)
	}
}

// apply removes a missing put. It does nothing for a put without rows on the PS.
func (l *ledger) apply(ps, rank, step int32) {
	if !l.missing(ps, rank, step) {
		return
	}
	l.tallyApplied(ps, rank, step)
	*l.word(ps, rank, step/64) &^= 1 << (step % 64)
	*l.leftOf(rank, step)--
	l.forget(rank)
}

// forget drops the steps of a rank that are over.
func (l *ledger) forget(rank int32) {
	s := &l.spans[rank]
	for s.first < s.routed && *l.leftOf(rank, s.first) == 0 {
		*l.leftOf(rank, s.first) = unrouted
		s.first++
	}
}
