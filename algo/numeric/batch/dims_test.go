package batch

import (
	"slices"
	"testing"
)

// Signs are cut by the dimension of their slots, in the order of the first slots of each.
func TestSignsAreCutByDimension(t *testing.T) {
	schema := &Schema{PrefixBits: 8, Slots: []Slot{{Dim: 64}, {Dim: 4}, {Dim: 64, Group: "shops"}, {Dim: 2},
		{Dim: 64, Group: "shops"}}}
	dims := schema.Dims()
	if got := dims.Lengths(); !slices.Equal(got, []int{64, 4, 2}) {
		t.Fatalf("lengths %v", got)
	}
	sign := func(slot int, id uint64) uint64 { return schema.Signer(slot).Sign(id, 0) }
	user, shop, hour, day := sign(0, 7), sign(4, 7), sign(1, 7), sign(3, 7)
	for _, c := range []struct {
		signs  []uint64
		counts []int
		values int
	}{
		{nil, []int{0, 0, 0}, 0},
		{[]uint64{shop, user, shop, hour, day, day}, []int{3, 1, 2}, 3*64 + 4 + 2*2},
		{[]uint64{day}, []int{0, 0, 1}, 2},
		{[]uint64{user, day}, []int{1, 0, 1}, 66},
	} {
		cut, err := dims.Cut(c.signs)
		var counts []int
		var joined []uint64
		for _, signs := range cut {
			counts, joined = append(counts, len(signs)), append(joined, signs...)
		}
		values, failed := dims.Values(c.signs)
		if err != nil || failed != nil || !slices.Equal(counts, c.counts) || !slices.Equal(joined, c.signs) ||
			values != c.values {
			t.Errorf("%x: counts %v, %d values, %v %v; want %v and %d", c.signs, counts, values, err, failed,
				c.counts, c.values)
		}
	}
	for _, signs := range [][]uint64{{hour, user}, {day, hour}, {user, 5}, {^uint64(0)}} {
		if _, err := dims.Cut(signs); err != errSigns {
			t.Errorf("%x: %v", signs, err)
		}
		if _, err := dims.Values(signs); err != errSigns {
			t.Errorf("values of %x: %v", signs, err)
		}
	}
}

// Where all slots have one dimension, any sign has it.
func TestOneDimensionIsNotCut(t *testing.T) {
	schema := &Schema{PrefixBits: 8, Slots: []Slot{{Dim: 3}, {Dim: 3}}}
	signs := []uint64{1, 2}
	cut, err := schema.Dims().Cut(signs)
	values, failed := schema.Dims().Values(signs)
	if err != nil || failed != nil || len(cut) != 1 || &cut[0][0] != &signs[0] || values != 6 {
		t.Errorf("%v %d values, %v %v", cut, values, err, failed)
	}
	if cut, err := new(Schema).Dims().Cut(nil); err != nil || len(cut) != 1 || len(cut[0]) != 0 {
		t.Errorf("no slots: %v %v", cut, err)
	}
}
