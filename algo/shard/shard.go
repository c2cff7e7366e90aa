// Package shard says which embedding PS owns a row.
package shard

import (
	"math/bits"

	"tandem/algo/rng"
)

// Of returns the PS, of count, that owns a sign: uniform over well-mixed signs,
// so that the skew of ids is spread evenly.
//
// Deviation from PERSIA, which takes farmhash64(sign) modulo count: the upper
// half of a product instead of a remainder (Lemire, 2019), and another mixer.
func Of(sign uint64, count int) int {
	// Tables index by Mix(sign); mixing once more keeps the two independent.
	hi, _ := bits.Mul64(rng.Mix(rng.Mix(sign)+1), uint64(count))
	return int(hi)
}
