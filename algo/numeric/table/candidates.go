package table

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/rng"
	"tandem/algo/unit"
)

// Candidate is a sign without a row, of which a table counts the steps that read it.
type Candidate struct {
	Sign uint64
	Step uint32 // the latest that counts, modulo 2³²
	Seen uint8  // steps so far, at least 1
	Old  bool   // to be forgotten next, unless it is read before
}

// candidates counts the steps that have read signs without rows: see Config.AdmissionCount. Signs are kept
// whole, so none counts for another. They are in two generations, and a read moves a sign to the young one.
// When that is full, or when rows expire, it becomes the old one, and what was in the old one is forgotten.
//
// Source: Monolith's sliding hash filter (Liu et al. 2022). Deviations: that keeps some bits of a sign, so
// that few signs get a row too early, has up to seven generations, and counts occurrences. Here steps count,
// whose number does not depend on how a step is distributed over ranks.
type candidates struct {
	count      int // steps that make a row; below 2, the first does
	most       int // signs of a generation
	young, old generation
}

func newCandidates(c *Config) candidates {
	most := c.Candidates
	if most == 0 {
		most = CandidatesDefault
	}
	return candidates{count: c.AdmissionCount, most: max(most/2, 1)}
}

// CandidatesDefault is the number of candidates of a table that does not say one.
const CandidatesDefault = 1 << 22

// AdmissionCountMax is the largest Config.AdmissionCount.
const AdmissionCountMax = math.MaxUint8

// admit counts that a step has read a sign without a row. It reports whether the sign gets one, and then
// forgets the sign. Of several reads of a step, one counts, as does none of an earlier step than the latest.
func (c *candidates) admit(step int, sign uint64) bool {
	now, hash := uint32(step), rng.Mix(sign)
	if at := c.young.find(sign, hash); at >= 0 {
		one := &c.young.slots[at]
		one.count(now)
		if int(one.Seen) < c.count {
			return false
		}
		c.young.remove(at)
		return true
	}
	one := Candidate{Sign: sign}
	if at := c.old.find(sign, hash); at >= 0 {
		one = c.old.slots[at]
		c.old.remove(at)
	}
	one.count(now)
	if int(one.Seen) >= c.count {
		return true
	}
	c.insert(one, hash)
	return false
}

// count counts a step, unless it or a later one has been counted.
func (c *Candidate) count(step uint32) {
	if c.Seen == 0 || int32(step-c.Step) > 0 {
		c.Step, c.Seen = step, c.Seen+1
	}
}

// insert adds a sign to the young generation.
func (c *candidates) insert(one Candidate, hash uint64) {
	if c.young.used >= c.most {
		c.age()
	}
	c.young.insert(one, hash)
}

// age forgets the old generation. The young one becomes the old one.
func (c *candidates) age() {
	forgotten := c.old.slots
	clear(forgotten)
	c.old, c.young = c.young, generation{slots: forgotten}
}

// bytes returns the memory of the candidates.
func (c *candidates) bytes() unit.Bytes {
	return unit.Bytes(16 * (len(c.young.slots) + len(c.old.slots)))
}

// clone returns candidates that share no memory with c.
func (c *candidates) clone() candidates {
	d := *c
	d.young.slots, d.old.slots = slices.Clone(c.young.slots), slices.Clone(c.old.slots)
	return d
}

// list returns the candidates, in any order.
func (c *candidates) list() []Candidate {
	if c.young.used+c.old.used == 0 {
		return nil
	}
	all := make([]Candidate, 0, c.young.used+c.old.used)
	for i, g := range []*generation{&c.young, &c.old} {
		for _, one := range g.slots {
			if one.Seen > 0 {
				one.Old = i == 1
				all = append(all, one)
			}
		}
	}
	return all
}

// generation is a hash table of candidates by linear probing; a slot that has seen nothing is empty. It is at
// least 3/8 full when it has grown, so that a candidate has 43 bytes of it, and does not shrink.
type generation struct {
	slots []Candidate // a power of two, or none
	used  int
}

// find returns the slot of a sign, whose hash is given, or −1.
func (g *generation) find(sign, hash uint64) int {
	if g.used == 0 {
		return -1
	}
	last := len(g.slots) - 1
	for at := int(hash) & last; g.slots[at].Seen > 0; at = (at + 1) & last {
		if g.slots[at].Sign == sign {
			return at
		}
	}
	return -1
}

// insert adds a sign that is absent, whose hash is given.
func (g *generation) insert(one Candidate, hash uint64) {
	if 4*(g.used+1) > 3*len(g.slots) {
		before := g.slots
		*g = generation{slots: make([]Candidate, max(2*len(before), 64))}
		for _, other := range before {
			if other.Seen > 0 {
				g.insert(other, rng.Mix(other.Sign))
			}
		}
	}
	last := len(g.slots) - 1
	at := int(hash) & last
	for g.slots[at].Seen > 0 {
		at = (at + 1) & last
	}
	g.slots[at] = one
	g.used++
}

// remove empties a slot, and moves those behind it that a search would not find any more.
func (g *generation) remove(at int) {
	last := len(g.slots) - 1
	for next := (at + 1) & last; g.slots[next].Seen > 0; next = (next + 1) & last {
		home := int(rng.Mix(g.slots[next].Sign)) & last
		if (next-home)&last >= (next-at)&last {
			g.slots[at] = g.slots[next]
			at = next
		}
	}
	g.slots[at] = Candidate{}
	g.used--
}

// CandidateCount returns the number of signs without rows whose steps are counted.
func (t *Table) CandidateCount() int { return t.candidates.young.used + t.candidates.old.used }

// Counts reports whether the table counts the steps that read signs without rows.
func (t *Table) Counts() bool { return t.candidates.count >= 2 }

// CandidateMemory returns the memory of the signs without rows whose steps are counted.
func (t *Table) CandidateMemory() unit.Bytes { return t.candidates.bytes() }

// AddCandidates adds signs without rows as another table has counted them; a table that does not count takes
// none. Of more than it has room for, it forgets some. It returns an error that names the first sign that is
// there already, or has been seen by no step.
func (t *Table) AddCandidates(all []Candidate) error {
	c := &t.candidates
	if !t.Counts() {
		return nil
	}
	for _, one := range all {
		hash := rng.Mix(one.Sign)
		switch {
		case one.Seen == 0:
			return fmt.Errorf("table: the sign %#x waits for a row, and no step has seen it", one.Sign)
		case c.young.find(one.Sign, hash) >= 0 || c.old.find(one.Sign, hash) >= 0:
			return fmt.Errorf("table: the sign %#x waits for a row twice", one.Sign)
		}
		one.Seen = min(one.Seen, uint8(c.count-1)) // the next step makes its row
		switch {
		case !one.Old:
			c.insert(one, hash)
		case c.old.used < c.most:
			c.old.insert(one, hash)
		}
	}
	return nil
}
