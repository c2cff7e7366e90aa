package pace

import "slices"

// tally counts ranks by the number of their missing puts: ranks[n] ranks miss n of the steps before step on a
// PS. It is made at the first read of a step on a PS and follows the puts that are applied. Every rank is
// routed up to the step, so no later batch changes it.
type tally struct {
	step  int32
	used  uint64 // the number of the last read that used it
	ranks []int32
}

// talliesMost is the largest number of tallies of a PS. Reads are of few steps at a time: those that the
// ranks have in flight. A read of another step replaces the tally that was not used for longest.
const talliesMost = 16

// tallies are the tallies of one PS.
type tallies struct {
	reads uint64
	list  []tally
}

// tallyOf returns the numbers of ranks by missing puts of the steps before step on a PS. Every rank must be
// routed up to the step. The result is valid until the next change. Cost: constant, or O(ranks) for the first
// read of a step.
func (l *ledger) tallyOf(ps, step int32) []int32 {
	t := &l.tallies[ps]
	t.reads++
	oldest := 0
	for i := range t.list {
		if t.list[i].step == step {
			t.list[i].used = t.reads
			return t.list[i].ranks
		}
		if t.list[i].used < t.list[oldest].used {
			oldest = i
		}
	}
	if len(t.list) < talliesMost {
		oldest = len(t.list)
		t.list = append(t.list, tally{})
	}
	made := &t.list[oldest]
	made.step, made.used, made.ranks = step, t.reads, made.ranks[:0]
	for rank := range l.ranks {
		made.add(l.count(ps, rank, step), 1)
	}
	return made.ranks
}

// add changes the number of ranks that miss n steps.
func (t *tally) add(n int, by int32) {
	if missing := n + 1 - len(t.ranks); missing > 0 {
		t.ranks = append(t.ranks, make([]int32, missing)...)
	}
	t.ranks[n] += by
}

// tallyApplied updates the tallies of a PS before the missing put of a rank's step is removed.
func (l *ledger) tallyApplied(ps, rank, step int32) {
	t := &l.tallies[ps]
	for i := range t.list {
		if c := &t.list[i]; c.step > step {
			n := l.count(ps, rank, c.step)
			c.add(n, -1)
			c.add(n-1, 1)
		}
	}
}

// front follows the first steps of ranks that are not routed: behind is the number of ranks by that step,
// from the lowest on.
type front struct {
	lowest int32
	behind []int32
}

func newFront(ranks int32) front { return front{behind: []int32{ranks}} }

// move notes that the first step of a rank that is not routed has changed from one to a later one.
func (f *front) move(from, to int32) {
	if missing := int(to-f.lowest) + 1 - len(f.behind); missing > 0 {
		f.behind = append(f.behind, make([]int32, missing)...)
	}
	f.behind[from-f.lowest]--
	f.behind[to-f.lowest]++
	passed := slices.IndexFunc(f.behind, func(n int32) bool { return n > 0 })
	f.lowest += int32(passed)
	f.behind = slices.Delete(f.behind, 0, passed)
}
