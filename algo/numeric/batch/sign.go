package batch

import (
	"fmt"
	"slices"

	"tandem/algo/rng"
)

// MaxPrefixBits is the largest number of bits that the prefix of a feature group
// may take of a sign.
const MaxPrefixBits = 32

// Validate returns an error if a setting is out of range, or if there are more feature groups than the prefix
// can distinguish.
func (s *Schema) Validate() error {
	if s.PrefixBits < 1 || s.PrefixBits > MaxPrefixBits {
		return fmt.Errorf("batch: prefix of %d bits; want 1 to %d", s.PrefixBits, MaxPrefixBits)
	}
	for i, slot := range s.Slots {
		if slot.Class < 0 {
			return fmt.Errorf("batch: slot %s has rows of class %d; want at least 0", slot.Name, slot.Class)
		}
		if slot.Dim < 1 || (slot.Pooling == Raw && slot.FixedSize < 1) {
			return fmt.Errorf("batch: slot %s has rows of %d values and fixed size %d; want at least 1",
				slot.Name, slot.Dim, slot.FixedSize)
		}
		if slot.Pooling == Max && (slot.Scale != Unscaled || slot.HashStack.Rounds > 0) {
			return fmt.Errorf("batch: slot %s takes a maximum, which has no scale, and no hash-stack: its "+
				"ids have one row each", slot.Name)
		}
		if slot.Weighted && slot.Pooling != Sum {
			return fmt.Errorf("batch: slot %s has ids with weights, which only sums have", slot.Name)
		}
		if err := slot.HashStack.Validate(); err != nil {
			return fmt.Errorf("batch: slot %s: hash-stack: %w", slot.Name, err)
		}
		if ids := s.spacing(); uint64(slot.HashStack.Rounds)*uint64(slot.HashStack.Rows) > ids {
			return fmt.Errorf("batch: slot %s: a hash-stack of %d times %d rows, but a prefix of %d bits "+
				"leaves room for %d",
				slot.Name, slot.HashStack.Rounds, slot.HashStack.Rows, s.PrefixBits, ids)
		}
		first := s.Slots[s.firstOfGroup(i)]
		if first.HashStack != slot.HashStack || first.Dim != slot.Dim || first.Class != slot.Class {
			return fmt.Errorf("batch: slots %s and %s are of group %s, but their rows differ: give them "+
				"one dimension, optimizer, initial value, precision and hash-stack",
				first.Name, slot.Name, slot.Group)
		}
	}
	if most, groups := 1<<s.PrefixBits-1, s.group(len(s.Slots)); groups > most {
		return fmt.Errorf("batch: %d feature groups, but a prefix of %d bits distinguishes only %d; "+
			"widen the prefix", groups, s.PrefixBits, most)
	}
	return nil
}

// spacing returns the number of different ids of a feature group.
func (s *Schema) spacing() uint64 { return 1<<(64-s.PrefixBits) - 1 }

// firstOfGroup returns the first slot of the feature group of a slot.
func (s *Schema) firstOfGroup(slot int) int {
	if s.Slots[slot].Group != "" {
		for i := range slot {
			if s.Slots[i].Group == s.Slots[slot].Group {
				return i
			}
		}
	}
	return slot
}

// group returns the number of feature groups that begin before a slot.
func (s *Schema) group(slot int) int {
	groups := 0
	for i := range slot {
		if s.firstOfGroup(i) == i {
			groups++
		}
	}
	return groups
}

// Signer turns the ids of one slot into signs.
type Signer struct {
	prefix, spacing uint64
	shift           int // of an id, that leaves its digit above the spacing's
	stack           HashStack
}

// Signer returns the signer of a slot. Cost: quadratic in the number of slots
// before it, so ask once a batch, not once an id.
func (s *Schema) Signer(slot int) Signer {
	shift := 64 - s.PrefixBits
	prefix := uint64(s.group(s.firstOfGroup(slot))+1) << shift
	return Signer{prefix: prefix, spacing: s.spacing(), shift: shift, stack: s.Slots[slot].HashStack}
}

// Prefix returns the sign of id 0 without a hash-stack: the number of the feature group in the upper bits.
func (s Signer) Prefix() uint64 { return s.prefix }

// Sign returns the sign of the row that an id names in a round, below
// Slot.RowsPerID:
//
//	id mod (2^(64−PrefixBits) − 1)  +  group · 2^(64−PrefixBits)
//
// where a hash-stack has put the number of a row in place of the id.
//
// Source: PERSIA, embedding worker, feature groups and index prefix. Two ids of
// a group collide only if they are equal modulo 2^(64−PrefixBits) − 1; ids of
// different groups never do.
func (s Signer) Sign(id uint64, round int) uint64 {
	if s.stack.Rounds > 0 {
		id = s.stack.row(id, round)
	}
	return s.fold(id) + s.prefix
}

// fold returns id mod spacing, a number of all ones: the digits of the id in base
// spacing+1 have the id's sum. There are two at most, as a prefix has no more bits
// than it leaves.
func (s Signer) fold(id uint64) uint64 {
	rest := id&s.spacing + id>>(s.shift&63)
	if rest >= s.spacing { // at most twice the spacing
		rest -= s.spacing
	}
	if rest == s.spacing {
		rest = 0
	}
	return rest
}

// AppendSigns appends the signs of all rows that ids name: for each id, those of
// every round.
func (s Signer) AppendSigns(dst, ids []uint64) []uint64 {
	if s.stack.Rounds == 0 {
		dst = slices.Grow(dst, len(ids))
		signs := dst[len(dst):][:len(ids)]
		for i, id := range ids {
			signs[i] = s.fold(id) + s.prefix
		}
		return dst[:len(dst)+len(ids)]
	}
	for _, id := range ids {
		for round := range s.stack.Rounds {
			dst = append(dst, s.Sign(id, round))
		}
	}
	return dst
}

// HashStack maps any number of ids of a slot to a table of Rounds × Rows rows. In round k, from 0, an id
// names the row
//
//	k·Rows + h_k(id) mod Rows
//
// with h_k output k+1 of SplitMix64 seeded with the id, and its embedding is the
// sum of these rows. Two ids have all rows in common with probability of about
// Rows^−Rounds, and no round can name the row of another.
//
// Source: PERSIA, embedding worker, hash_stack_config; the idea is that of Hash
// Embeddings (Svenstrup, Hansen, Winther, NeurIPS 2017) with all weights 1.
// Deviation: SplitMix64, where PERSIA hashes the hash of the round before.
type HashStack struct {
	Rounds int `yaml:"rounds"` // number of rows whose sum is an embedding, up to 64; 0: no hash-stack
	Rows   int `yaml:"rows"`   // number of rows of each round, up to 2⁴⁰
}

// Limits of a hash-stack.
const (
	MaxRounds    = 64
	MaxStackRows = 1 << 40
)

// Validate returns an error if a setting is out of range.
func (h HashStack) Validate() error {
	if h.Rounds < 0 || h.Rounds > MaxRounds {
		return fmt.Errorf("%d rounds; want 1 to %d, or 0 for none", h.Rounds, MaxRounds)
	}
	if h.Rows < 0 || h.Rows > MaxStackRows {
		return fmt.Errorf("%d rows; want 1 to %d, or 0 for none", h.Rows, MaxStackRows)
	}
	if (h.Rounds > 0) != (h.Rows > 0) {
		return fmt.Errorf("%d rounds of %d rows; want at least 1 of both, or neither", h.Rounds, h.Rows)
	}
	return nil
}

// row returns the number of the row that an id names in a round.
func (h HashStack) row(id uint64, round int) uint64 {
	hash := rng.Mix(id + uint64(round+1)*0x9e3779b97f4a7c15)
	return uint64(round)*uint64(h.Rows) + hash%uint64(h.Rows)
}
