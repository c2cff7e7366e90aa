package table

import "tandem/algo/numeric/isa"

// Round returns what a value becomes in a row, by random bits.
func Round(p Precision, v float32, random uint32) float32 { return p.widen(p.narrow(v, random)) }

// Use has a table use a set of vector instructions from now on.
func (t *Table) Use(set isa.Set) { t.set = set }

// RoundAll returns what values become in a row, by the random bits of a key.
func RoundAll(set isa.Set, p Precision, values []float32, key uint64) []uint16 {
	dst := make([]uint16, len(values))
	p.narrowAll(set, dst, values, key)
	return dst
}
