package table

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/rng"
)

// Slots that come, go and spread over more groups are found where a search looks
// for them: no group between a slot's home and its place has room, and none is
// lost or doubled.
func TestIndexKeepsItsSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newIndex()
		seed := rapid.Uint64().Draw(t, "seed")
		alike := rapid.SampledFrom([]uint64{^uint64(0), 0xf0000000_ffffffff,
			0xff000000_00000000 | 1<<32 - 1}).Draw(t, "bits that hashes differ in")
		hash := func(row int) uint64 { return rng.Mix(seed+uint64(row)) & alike }
		there := map[int]bool{}
		var rows []int
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			for range rapid.IntRange(0, 400).Draw(t, "come") {
				row := len(rows)
				rows = append(rows, row)
				if x.full() {
					if err := x.grow(Heap{}); err != nil {
						t.Fatal(err)
					}
				}
				x.insert(hash(row), row)
				there[row] = true
			}
			for range rapid.IntRange(0, 300).Draw(t, "go") {
				if len(rows) == 0 {
					break
				}
				if row := rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")]; there[row] {
					x.remove(hash(row), row)
					delete(there, row)
				}
			}
			check(t, &x, hash, there)
		}
	})
}

func check(t *rapid.T, x *index, hash func(int) uint64, there map[int]bool) {
	seen := 0
	for g := range x.groups {
		for _, slot := range x.at(g) {
			if slot == 0 {
				continue
			}
			row := int(slot&rowMask) - 1
			seen++
			if !there[row] || slot&tagMask != hash(row)&tagMask {
				t.Fatalf("group %d holds row %d, which is not there", g, row)
			}
			for at := x.home(slot); at != g; at = x.after(at) {
				if slices.Contains(x.at(at)[:], 0) {
					t.Fatalf("row %d, of home %d, is in group %d of %d, but group %d has room", row,
						x.home(slot), g, x.groups, at)
				}
			}
		}
	}
	if seen != len(there) || seen != x.used {
		t.Fatalf("%d slots, %d counted, want %d", seen, x.used, len(there))
	}
}
