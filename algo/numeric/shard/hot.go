package shard

import (
	"fmt"
	"slices"

	"tandem/algo/rng"
)

// Hot is the set of hot rows: every rank holds them, and they are on no PS. It is immutable. The nil set is
// empty.
type Hot struct {
	signs []uint64 // ascending
	// places has the place of each sign in signs, plus one, by hash; 0: free. At most half of it is in use.
	places []int32
	shift  int // of a hash, which leaves its highest bits as an index of places
}

// NewHot returns the set of rows of distinct signs. It panics if a sign comes twice.
func NewHot(signs []uint64) *Hot {
	h := &Hot{signs: slices.Sorted(slices.Values(signs)), shift: 63}
	for 1<<(64-h.shift) < 2*len(signs) {
		h.shift--
	}
	h.places = make([]int32, 1<<(64-h.shift))
	for i, sign := range h.signs {
		if i > 0 && sign == h.signs[i-1] {
			panic(fmt.Sprintf("shard: the hot row of sign %#x comes twice", sign))
		}
		at := h.slot(sign)
		for h.places[at] != 0 {
			at = (at + 1) % len(h.places)
		}
		h.places[at] = int32(i + 1)
	}
	return h
}

// slot returns the index of places at which the search for a sign begins.
func (h *Hot) slot(sign uint64) int { return int(rng.Mix(sign) >> h.shift) }

// Len returns the number of hot rows.
func (h *Hot) Len() int {
	if h == nil {
		return 0
	}
	return len(h.signs)
}

// Signs returns the signs, in ascending order: the place of a hot row is its index. The result aliases h.
func (h *Hot) Signs() []uint64 {
	if h == nil {
		return nil
	}
	return h.signs
}

// Place returns the place of the row of a sign, and whether the row is hot. Cost: a few nanoseconds.
func (h *Hot) Place(sign uint64) (place int32, hot bool) {
	if h.Len() == 0 {
		return 0, false
	}
	for at := h.slot(sign); ; at = (at + 1) % len(h.places) {
		place := h.places[at] - 1
		if place < 0 || h.signs[place] == sign {
			return max(place, 0), place >= 0
		}
	}
}
