package batch

import "fmt"

// MaxPrefixBits is the largest number of bits that a slot's prefix may take of
// a sign.
const MaxPrefixBits = 32

// Validate reports settings that are out of range, more slots than the prefix
// can tell apart among them.
func (s *Schema) Validate() error {
	if s.PrefixBits < 1 || s.PrefixBits > MaxPrefixBits {
		return fmt.Errorf("batch: prefix of %d bits; want 1 to %d", s.PrefixBits, MaxPrefixBits)
	}
	if most := 1<<s.PrefixBits - 1; len(s.Slots) > most {
		return fmt.Errorf("batch: %d slots, but a prefix of %d bits tells only %d apart; widen the prefix", len(s.Slots), s.PrefixBits, most)
	}
	for _, slot := range s.Slots {
		if slot.Dim < 1 || (slot.Pooling == Raw && slot.FixedSize < 1) {
			return fmt.Errorf("batch: slot %s has rows of %d values and fixed size %d; want at least 1", slot.Name, slot.Dim, slot.FixedSize)
		}
	}
	return nil
}

// Sign returns the sign of an id of a slot:
//
//	id mod (2^(64−PrefixBits) − 1)  +  (slot+1) · 2^(64−PrefixBits)
//
// Source: PERSIA, embedding worker, feature groups and index prefix. Two ids of
// a slot collide only if they are equal modulo 2^(64−PrefixBits) − 1; ids of
// different slots never do.
func (s *Schema) Sign(slot int, id uint64) uint64 {
	shift := 64 - s.PrefixBits
	return id%(1<<shift-1) + uint64(slot+1)<<shift
}
