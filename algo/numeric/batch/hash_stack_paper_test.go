package batch_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// The slots of a feature group have one prefix, even if they are not neighbours;
// the other groups are numbered without a gap.
func TestSlotsOfAGroupShareTheirPrefix(t *testing.T) {
	schema := slots(5, 8)
	for i, group := range []string{"", "items", "", "items", ""} {
		schema.Slots[i].Group = group
	}
	for slot, prefix := range []uint64{1, 2, 3, 2, 4} {
		if got, want := schema.Signer(slot).Sign(7, 0), prefix<<56+7; got != want {
			t.Errorf("slot %d: sign %x, want %x", slot, got, want)
		}
	}
}

// PERSIA, hash_stack_config: r rounds over a table of E rows give r·E rows in all,
// those of round k from k·E on.
func TestHashStackNamesOneRowOfEveryRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stack := batch.HashStack{Rounds: rapid.IntRange(1, 5).Draw(t, "rounds"),
			Rows: rapid.IntRange(1, 1000).Draw(t, "rows")}
		schema := slots(3, 12)
		schema.Slots[2].HashStack = stack
		if got := schema.Slots[2].RowsPerID(); got != stack.Rounds {
			t.Fatalf("%d rows an id, want %d", got, stack.Rounds)
		}
		id := rapid.Uint64().Draw(t, "id")
		for round := range stack.Rounds {
			row := int(schema.Signer(2).Sign(id, round) - 3<<52)
			if lo := round * stack.Rows; row < lo || row >= lo+stack.Rows {
				t.Fatalf("round %d names row %d of %+v", round, row, stack)
			}
		}
	})
}

// Rounds are independent: of n ids, pairs that share the row of both of two rounds
// number about n²/2 / Rows², as if each round drew rows of its own. Here that is
// 2000²/2/64² = 488, of deviation 22; were the second round a function of the
// first, it would be 2000²/2/64 = 31250.
func TestHashStackRoundsCollideIndependently(t *testing.T) {
	schema := slots(1, 8)
	schema.Slots[0].HashStack = batch.HashStack{Rounds: 2, Rows: 64}
	sign, draw := schema.Signer(0), rng.New(1, "ids")
	for _, next := range []func(int) uint64{
		func(i int) uint64 { return uint64(i) },
		func(int) uint64 { return draw.Uint64() },
	} {
		pairs, met := 0, map[[2]uint64]int{}
		for i := range 2000 {
			id := next(i)
			both := [2]uint64{sign.Sign(id, 0), sign.Sign(id, 1)}
			pairs += met[both]
			met[both]++
		}
		if pairs < 488-5*22 || pairs > 488+5*22 {
			t.Errorf("%d pairs of ids share both rows, want about 488", pairs)
		}
	}
}

// The values are kept fixed: they name the rows of trained tables.
func TestHashStackIsSplitMix64(t *testing.T) {
	schema := slots(1, 8)
	schema.Slots[0].HashStack = batch.HashStack{Rounds: 3, Rows: 1 << 50}
	// The first outputs of SplitMix64 seeded with 0, as its reference implementation
	// (prng.di.unimi.it/splitmix64.c) prints them.
	outputs := []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f}
	var got, want []uint64
	for round, output := range outputs {
		got = append(got, schema.Signer(0).Sign(0, round))
		want = append(want, 1<<56+uint64(round)<<50+output%(1<<50))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}
