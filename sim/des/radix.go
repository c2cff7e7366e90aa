package des

import (
	"math/bits"

	"tandem/algo/unit"
)

// entry is a queued event: its instant and its slot.
type entry struct {
	at unit.Tick
	id ID
}

// An instant is a number of digitCount digits in base radix.
const (
	digitBits  = 6
	radix      = 1 << digitBits
	digitCount = (63 + digitBits - 1) / digitBits
)

// radixHeap is a monotone priority queue: no entry may be pushed for an instant earlier than the one last
// popped, and virtual time guarantees that.
//
// The level of an entry is the highest digit in which its instant differs from the last popped instant; its
// bucket on that level is the value of the digit. So a bucket of level 0 is one instant, all entries of a
// level are earlier than the entries of higher levels, and the earliest entry is in the first used bucket of
// the lowest used level. Popping sets last to the earliest instant; the other entries of the bucket then
// belong to lower levels. An entry only moves down, at most once per digit, independent of the number of
// entries.
//
// All entries of one instant are in one bucket at any time, and moving keeps their order, so an instant is
// popped first in, first out.
//
// Source: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem", JACM 37 (1990),
// two-level radix heap: levels of bits, each divided into segments. Deviation: a level for every digit, so
// that keys are unbounded.
type radixHeap struct {
	last    unit.Tick
	levels  uint64             // bit l is set if level l holds entries
	digits  [digitCount]uint64 // bit d of level l is set if bucket d of it does
	buckets [digitCount * radix]bucket
}

// bucket holds entries in the order in which they were pushed.
type bucket struct {
	entries []entry
	minimum unit.Tick // the earliest instant; valid while there are entries
}

// empty reports whether the heap has no entry.
func (r *radixHeap) empty() bool { return r.levels == 0 }

// push adds an entry, whose instant must not be before the last one popped.
func (r *radixHeap) push(x entry) {
	level := (bits.Len64(uint64(x.at^r.last)|1) - 1) / digitBits
	digit := int(x.at>>(level*digitBits)) & (radix - 1)
	b := &r.buckets[level*radix+digit]
	if len(b.entries) == 0 {
		r.digits[level] |= 1 << digit
		r.levels |= 1 << level
		b.minimum = x.at
	} else if x.at < b.minimum {
		b.minimum = x.at
	}
	b.entries = append(b.entries, x)
}

// first returns the level and digit of the bucket with the earliest entries.
func (r *radixHeap) first() (level, digit int) {
	level = bits.TrailingZeros64(r.levels)
	return level, bits.TrailingZeros64(r.digits[level])
}

// least returns the earliest instant. The heap must not be empty.
func (r *radixHeap) least() unit.Tick {
	level, digit := r.first()
	return r.buckets[level*radix+digit].minimum
}

// pop removes all entries of the earliest instant and appends them to dst in the order in which they were
// pushed. The heap must not be empty.
func (r *radixHeap) pop(dst []entry) []entry {
	level, digit := r.first()
	entries := r.clear(level, digit)
	if level == 0 {
		r.last = entries[0].at
		return append(dst, entries...)
	}
	r.last = r.buckets[level*radix+digit].minimum
	for _, x := range entries {
		if x.at == r.last {
			dst = append(dst, x)
		} else {
			r.push(x) // onto a lower level
		}
	}
	return dst
}

// clear empties a bucket and returns its entries, which are valid until the next push into the bucket.
func (r *radixHeap) clear(level, digit int) []entry {
	r.digits[level] &^= 1 << digit
	if r.digits[level] == 0 {
		r.levels &^= 1 << level
	}
	b := &r.buckets[level*radix+digit]
	entries := b.entries
	b.entries = entries[:0]
	return entries
}
