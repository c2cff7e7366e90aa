package table_test

import (
	"slices"
	"testing"

	"tandem/algo/rng"
)

// unmix is the inverse of rng.Mix: every step of it undone in reverse.
func unmix(z uint64) uint64 {
	inverse := func(odd uint64) uint64 { // modulo 2⁶⁴, by Newton's iteration
		x := odd
		for range 6 {
			x *= 2 - odd*x
		}
		return x
	}
	unshift := func(z uint64, by uint) uint64 { // of z ^ z>>by
		x := z
		for range 64 / by {
			x = z ^ x>>by
		}
		return x
	}
	z = unshift(z, 31) * inverse(0x94d049bb133111eb)
	z = unshift(z, 27) * inverse(0xbf58476d1ce4e5b9)
	return unshift(z, 30)
}

// Signs whose hashes share the upper half, which a slot keeps, and the lower
// bits, which choose the slot, differ only in their rows.
func TestSignsOfAlikeHashesAreKeptApart(t *testing.T) {
	const upper = 0x12345678 << 32
	var signs []uint64
	for i := range uint64(40) { // all in slot 5 of the first index
		sign := unmix(upper | i<<20 | 5)
		if rng.Mix(sign) != upper|i<<20|5 {
			t.Fatalf("unmix is no inverse at %d", i)
		}
		signs = append(signs, sign)
	}
	tab := mustNew(t, config())
	mustLookup(t, tab, signs[:30]...)
	got := mustLookup(t, tab, signs[:30]...)
	for i, sign := range signs[:30] {
		if !slices.Equal(got[i*dim:(i+1)*dim], initial(sign)) {
			t.Errorf("sign %d of 30 reads the row of another", i)
		}
	}
	if tab.Len() != 30 {
		t.Errorf("%d rows, want 30", tab.Len())
	}
	if missing := tab.Snapshot(signs[30:], make([]float32, 10*dim)); missing != 10 {
		t.Errorf("%d of 10 absent signs missing", missing)
	}
	grads := make([]float32, 40*dim)
	if got := tab.Apply(signs, grads, 1, nil); got.Applied != 30 || got.Missing != 10 {
		t.Errorf("outcome %+v, want 30 applied and 10 missing", got)
	}
}
