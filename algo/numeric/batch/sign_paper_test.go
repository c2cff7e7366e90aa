package batch_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
)

// slots returns a schema of n slots of dimension 1.
func slots(n, prefixBits int) *batch.Schema {
	s := &batch.Schema{Slots: make([]batch.Slot, n), PrefixBits: prefixBits}
	for i := range s.Slots {
		s.Slots[i].Dim = 1
	}
	return s
}

// The unit test of Persia's embedding worker: a prefix of 12 bits and an index
// prefix of 450359962737049600, which is 100·2⁵², that of our slot 99. Of the ids
// only 16000000000000000 is above 2⁵²−1, three times: it leaves 2489201117888515.
func TestSignIsPersiasIndexPrefixRule(t *testing.T) {
	schema := slots(100, 12)
	for _, c := range []struct{ id, want uint64 }{
		{12, 450359962737049612},
		{90, 450359962737049690},
		{16000000000000000, 452849163854938115},
	} {
		if got := schema.Signer(99).Sign(c.id, 0); got != c.want {
			t.Errorf("sign of %d = %d, want %d", c.id, got, c.want)
		}
	}
}

func TestIDsOfDifferentSlotsNeverCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefixBits := rapid.IntRange(2, batch.MaxPrefixBits).Draw(t, "prefix bits")
		most := min(1<<prefixBits-2, 300) // the last slot
		schema := slots(most+1, prefixBits)
		a, b := rapid.IntRange(0, most).Draw(t, "slot"), rapid.IntRange(0, most).Draw(t, "slot")
		x, y := rapid.Uint64().Draw(t, "id"), rapid.Uint64().Draw(t, "id")
		signA, signB := schema.Signer(a).Sign(x, 0), schema.Signer(b).Sign(y, 0)
		if (signA>>(64-prefixBits)) != uint64(a+1) || a != b && signA == signB {
			t.Fatalf("slot %d id %d: %x; slot %d id %d: %x", a, x, signA, b, y, signB)
		}
	})
}

// Within a slot, ids share a row if and only if they are equal modulo 2⁶⁴⁻ᵖ−1.
func TestIDsOfASlotCollideOnlyModuloTheSpacing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefixBits := rapid.IntRange(1, batch.MaxPrefixBits).Draw(t, "prefix bits")
		schema := slots(1, prefixBits)
		spacing := uint64(1)<<(64-prefixBits) - 1
		x := rapid.Uint64().Draw(t, "id")
		if turns := (math.MaxUint64 - x) / spacing; turns > 0 {
			same := x + spacing*rapid.Uint64Range(1, turns).Draw(t, "turns")
			if schema.Signer(0).Sign(x, 0) != schema.Signer(0).Sign(same, 0) {
				t.Fatalf("%d and %d differ by a multiple of %d and do not collide", x, same, spacing)
			}
		}
		y := rapid.Uint64().Draw(t, "other id")
		if x%spacing != y%spacing && schema.Signer(0).Sign(x, 0) == schema.Signer(0).Sign(y, 0) {
			t.Fatalf("%d and %d collide", x, y)
		}
	})
}

// A sign equals its definition by division, even where digits carry.
func TestSignIsTheRemainder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefixBits := rapid.IntRange(1, batch.MaxPrefixBits).Draw(t, "prefix bits")
		schema := slots(1, prefixBits)
		if rapid.Bool().Draw(t, "hash-stack") {
			schema.Slots[0].HashStack = batch.HashStack{Rounds: rapid.IntRange(1, 3).Draw(t, "rounds"),
				Rows: 1000}
		}
		spacing := uint64(1)<<(64-prefixBits) - 1
		near := rapid.Custom(func(t *rapid.T) uint64 { // multiples of the spacing, and their neighbours
			return spacing*rapid.Uint64Range(0, math.MaxUint64/spacing).Draw(t, "turns") +
				rapid.Uint64Range(0, 2).Draw(t, "more") - 1
		})
		ids := rapid.SliceOf(rapid.OneOf(rapid.Uint64(), near)).Draw(t, "ids")
		signer := schema.Signer(0)
		var want []uint64
		for _, id := range ids {
			if schema.Slots[0].HashStack.Rounds == 0 && signer.Sign(id, 0) != id%spacing+(spacing+1) {
				t.Fatalf("sign of %d is %d, want the remainder by %d", id, signer.Sign(id, 0), spacing)
			}
			for round := range schema.Slots[0].RowsPerID() {
				want = append(want, signer.Sign(id, round))
			}
		}
		if got := signer.AppendSigns(nil, ids); !slices.Equal(got, want) {
			t.Fatalf("signs of %d are %d, want %d", ids, got, want)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	ids, signer := make([]uint64, 4096), slots(1, 8).Signer(0)
	for i := range ids {
		ids[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	signs := make([]uint64, 0, len(ids))
	for b.Loop() {
		signer.AppendSigns(signs, ids)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/id")
}
