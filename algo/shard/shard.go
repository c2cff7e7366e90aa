// Package shard says which embedding PS owns a row.
package shard

import (
	"math/bits"

	"tandem/algo/rng"
)

// Of returns the PS, of count ≥ 1, that owns a sign. Signs are mixed first, so
// that distinct ones are spread evenly however they are chosen.
//
//	⌊ Mix(Mix(sign)+1) · count / 2⁶⁴ ⌋
//
// Deviation from PERSIA, which takes farmhash64(sign) modulo count: the upper
// half of a product instead of a remainder (Lemire, 2019), and another mixer.
func Of(sign uint64, count int) int {
	// Tables index by Mix(sign); mixing once more keeps the two independent.
	hi, _ := bits.Mul64(rng.Mix(rng.Mix(sign)+1), uint64(count))
	return int(hi)
}
