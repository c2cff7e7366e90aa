// Package rng derives every random number of a run from one seed.
//
// No generator is shared. A stream is named by its purpose and by the entity that draws from it. Adding a
// draw in one place therefore never shifts the numbers of another, and the simulator and the runtime draw
// the same values although their roles run in different orders.
//
// Code that draws many numbers in sequence uses New. Code that needs the i-th number of a stream without
// any state, such as the initial value of element i of a row, uses Key and Unit.
package rng

import "math/rand/v2"

// Key folds a seed, a purpose and any number of entity ids into 64 well-mixed bits. Different inputs give
// unrelated keys. Cost: about 2 ns per id.
func Key(seed uint64, purpose string, ids ...uint64) uint64 {
	h := Mix(seed + 0x9e3779b97f4a7c15)
	for i := 0; i < len(purpose); i++ {
		h = (h ^ uint64(purpose[i])) * 0x100000001b3
	}
	h = Mix(h)
	for _, id := range ids {
		h = Mix(h ^ Mix(id+0x9e3779b97f4a7c15))
	}
	return h
}

// Mix is the finalizer of SplitMix64, a bijection of 64-bit words in which every input bit flips every
// output bit with a probability of about one half.
//
// Source: Steele, Lea, Flood, OOPSLA 2014, with Stafford's variant 13 multipliers.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// New returns the stream of one purpose and entity. It is a PCG generator, whose algorithm the Go project
// keeps fixed, so that the numbers do not change with the toolchain.
func New(seed uint64, purpose string, ids ...uint64) *rand.Rand {
	source := &rand.PCG{}
	Reseed(source, seed, purpose, ids...)
	return rand.New(source)
}

// Reseed makes a generator begin the stream that New returns. A caller that draws a number or two of each of
// many streams can so use one generator for all, and allocates nothing.
func Reseed(source *rand.PCG, seed uint64, purpose string, ids ...uint64) {
	k := Key(seed, purpose, ids...)
	source.Seed(k, Mix(k+0x9e3779b97f4a7c15))
}

// Unit returns the i-th value of the stream of a key, in [0, 1) with 24 bits, so that every result is exact
// in float32. Unit has no state: values may be computed at any time and in any order.
func Unit(key uint64, i int) float32 {
	return float32(Mix(key+uint64(i)*0x9e3779b97f4a7c15)>>40) * (1.0 / (1 << 24))
}
