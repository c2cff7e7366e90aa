package table

import (
	"math"
	"slices"
	"unsafe"
)

// index maps signs to row numbers by open addressing over groups of eight slots, each a
// cache line. At most 13/16 of the slots are full: in a fuller index the search for an
// absent sign has to pass long runs of full groups.
//
// A slot is a tag, the upper half of the sign's hash ‖ row number + 1; 0 is
// empty. Tag t is at home in group
//
//	⌊ t · groups / 2³² ⌋
//
// or, if that group is full, in the next group that is not (the first group follows the
// last): a search may stop at the first group with an empty slot. The hash is a
// bijection of the sign, so two signs with one tag are rare: in a table of n rows a
// search meets the tag of another sign with a probability of about n/2³². The row
// itself decides.
//
// Homes are in the order of tags for every number of groups, and follow from the slot
// alone. Therefore the index grows in place, by a fifth, without reading rows: it takes
// at most 8 · 16/13 · 6/5 = 11.8 bytes a row, also while it grows. Groups lie in
// segments, which never move.
type index struct {
	segments []*group
	groups   uint64
	used     int // full slots
}

const groupSlots = 8

// group is a cache line of slots.
type group [groupSlots]uint64

const (
	tagMask = 0xffffffff_00000000
	rowMask = 0x00000000_ffffffff

	segmentShift  = 10
	segmentGroups = 1 << segmentShift // 64 KiB
	segmentBytes  = segmentGroups * groupSlots * 8
)

// nothing is the one group of an index without rows. It is never written.
var nothing group

func newIndex() index { return index{segments: []*group{&nothing}, groups: 1} }

// at returns a group.
func (x *index) at(g uint64) *group {
	return (*group)(unsafe.Add(unsafe.Pointer(x.segments[g>>segmentShift]), g%segmentGroups*lineBytes))
}

// home returns the group where a slot, or a hash, is at home.
func (x *index) home(slot uint64) uint64 { return (slot >> 32) * x.groups >> 32 }

// after returns the group behind one.
func (x *index) after(g uint64) uint64 {
	if g++; g < x.groups {
		return g
	}
	return 0
}

// find returns the row of a sign, whose hash is given; −1 if there is none.
func (t *Table) find(sign, hash uint64) int {
	x := &t.index
	for g := x.home(hash); ; g = x.after(g) {
		group := x.at(g)
		for _, slot := range group {
			if slot != 0 && (slot^hash)&tagMask == 0 {
				if row := int(slot&rowMask) - 1; t.signOf(row) == sign {
					return row
				}
			}
		}
		if group.free() >= 0 {
			return -1
		}
	}
}

// free returns an empty slot of the group, −1 if it is full.
func (g *group) free() int { return slices.Index(g[:], 0) }

// full reports whether one more row would exceed a load of 13/16, or there is no
// memory yet.
func (x *index) full() bool {
	return x.segments[0] == &nothing || 16*uint64(x.used+1) > 13*groupSlots*x.groups
}

// insert adds a row whose sign, of the given hash, is absent. The caller
// has made room.
func (x *index) insert(hash uint64, row int) {
	x.place(hash&tagMask | uint64(row+1))
	x.used++
}

// place puts a slot into the first group, from its home on, that has room.
func (x *index) place(slot uint64) {
	g := x.home(slot)
	for !x.put(g, slot) {
		g = x.after(g)
	}
}

// put puts a slot into a group, if it has room.
func (x *index) put(g uint64, slot uint64) bool {
	group := x.at(g)
	at := group.free()
	if at >= 0 {
		group[at] = slot
	}
	return at >= 0
}

// locate returns where the slot of a row is, whose hash is given.
func (x *index) locate(hash uint64, row int) (g uint64, at int) {
	for g = x.home(hash); ; g = x.after(g) {
		for at, slot := range x.at(g) {
			if slot == hash&tagMask|uint64(row+1) {
				return g, at
			}
		}
	}
}

// remove takes the slot of a row out, whose hash is given. No slot is left
// behind as a reminder: a slot that had to pass by a full group comes back as
// soon as the group has room.
func (x *index) remove(hash uint64, row int) {
	g, at := x.locate(hash, row)
	x.used--
	for {
		group := x.at(g)
		wasFull := group.free() < 0
		group[at] = 0
		if !wasFull {
			return // no slot has passed by
		}
		from, found := x.passedBy(g)
		if found == -1 {
			return
		}
		group[at] = x.at(from)[found]
		g, at = from, found
	}
}

// passedBy returns the first slot behind a group that would be in it if it had
// had room; −1 if there is none.
func (x *index) passedBy(g uint64) (from uint64, at int) {
	for from = x.after(g); ; from = x.after(from) {
		group := x.at(from)
		for at, slot := range group {
			if slot != 0 && x.distance(x.home(slot), from) >= x.distance(g, from) {
				return from, at
			}
		}
		if group.free() >= 0 {
			return 0, -1
		}
	}
}

// distance returns how many groups behind one another is.
func (x *index) distance(from, to uint64) uint64 {
	if to >= from {
		return to - from
	}
	return to + x.groups - from
}

// growth returns the number of groups after the next growth, and the bytes that
// it takes.
func (x *index) growth() (groups uint64, bytes int) {
	groups = x.groups + x.groups/5 + 1
	have := uint64(len(x.segments))
	if x.segments[0] == &nothing {
		have = 0
	}
	need := (groups + segmentGroups - 1) / segmentGroups
	return groups, int(need-have) * segmentBytes
}

// grow adds groups and moves every slot to where it is at home then, or behind.
func (x *index) grow(arena Arena) error {
	groups, _ := x.growth()
	if x.segments[0] == &nothing {
		x.segments = nil // its one group is empty
	}
	for uint64(len(x.segments))*segmentGroups < groups {
		memory, err := newSlab(arena, segmentBytes)
		if err != nil {
			if x.segments == nil {
				*x = newIndex()
			}
			return err
		}
		x.segments = append(x.segments, (*group)(memory))
	}
	x.spread(groups)
	return nil
}

// spread moves every slot to its home among more groups, from the last group to
// the first. Homes move up, so a home is among the groups already done, or it is
// so near below, for a slot that is not at home, that few wait for it at a time.
func (x *index) spread(groups uint64) {
	old := x.groups
	x.groups = groups
	var waiting, wrapped []uint64
	for g := old - 1; g < old; g-- {
		now := x.at(g)
		for _, slot := range now {
			if slot != 0 {
				waiting = append(waiting, slot)
			}
		}
		*now = group{}
		still := waiting[:0]
		for _, slot := range waiting {
			if x.home(slot) < g {
				still = append(still, slot)
			} else if !x.placeBefore(slot, groups) {
				wrapped = append(wrapped, slot)
			}
		}
		waiting = still
	}
	for _, slot := range wrapped {
		x.place(slot)
	}
}

// placeBefore is place, up to an end.
func (x *index) placeBefore(slot, end uint64) bool {
	for g := x.home(slot); g < end; g++ {
		if x.put(g, slot) {
			return true
		}
	}
	return false
}

// clone returns a copy in memory of its own, on the heap.
func (x *index) clone() index {
	c := *x
	if x.segments[0] == &nothing {
		return c
	}
	c.segments = slices.Clone(x.segments)
	for i, from := range x.segments {
		memory, _ := newSlab(Heap{}, segmentBytes) // the heap never fails
		c.segments[i] = (*group)(memory)
		copy(unsafe.Slice(c.segments[i], segmentGroups), unsafe.Slice(from, segmentGroups))
	}
	return c
}

// bytes returns the memory of the index.
func (x *index) bytes() int {
	if x.segments[0] == &nothing {
		return 0
	}
	return len(x.segments) * segmentBytes
}

// Displaced returns how many groups behind its home the slot of a row is expected, in the
// mean over the rows of a table that has grown to a number of rows: a find reads that many
// groups more than one.
//
// Of n rows and m groups, n/m are at home in a group in the mean, by Poisson's law, and
// groups pass on what they cannot hold:
//
//	passed on = max(0, taken over + at home − 8)
//
// Displaced is the mean of what is passed on, ÷ n/m.
//
// Source: Knuth, The Art of Computer Programming, volume 3, section 6.4, linear probing
// with buckets.
func Displaced(rows int) float64 {
	groups := 1
	for 16*rows > 13*groupSlots*groups {
		groups += groups/5 + 1
	}
	home := float64(rows) / float64(groups)
	const most = 64 // slots passed on; a load of 13/16 never passes on as many
	var now [most]float64
	now[0] = 1
	for range 200 { // to the law that no longer changes
		var next [most]float64
		for over, p := range now {
			arrive := math.Exp(-home) // the probability of n rows at home
			for n := range most {
				next[min(most-1, max(0, over+n-groupSlots))] += float64(p * arrive)
				arrive *= home / float64(n+1)
			}
		}
		now = next
	}
	mean := 0.0
	for over, p := range now {
		mean += float64(float64(over) * p)
	}
	return mean / home
}
