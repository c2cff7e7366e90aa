package batch_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/numeric/batch"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		schema *batch.Schema
		want   string // part of the error, "" for none
	}{
		{"one bit for one slot", slots(1, 1), ""},
		{"one bit for two slots", slots(2, 1),
			"2 feature groups, but a prefix of 1 bits distinguishes only 1; widen the prefix"},
		{"eight bits for 255 slots", slots(255, 8), ""},
		{"eight bits for 256 slots", slots(256, 8), "distinguishes only 255"},
		{"the widest prefix", slots(3, batch.MaxPrefixBits), ""},
		{"no prefix", slots(1, 0), "prefix of 0 bits; want 1 to 32"},
		{"too wide a prefix", slots(1, 33), "prefix of 33 bits"},
		{"rows of nothing", &batch.Schema{Slots: []batch.Slot{{Name: "user"}}, PrefixBits: 8},
			"slot user has rows of 0 values"},
		{"raw without a size", &batch.Schema{
			Slots: []batch.Slot{{Name: "history", Dim: 2, Pooling: batch.Raw}}, PrefixBits: 8,
		}, "slot history has rows of 2 values and fixed size 0"},
		{"raw of one id", &batch.Schema{
			Slots: []batch.Slot{{Name: "history", Dim: 1, Pooling: batch.Raw, FixedSize: 1}}, PrefixBits: 8,
		}, ""},
		{"a group needs one prefix", inGroup(batch.Slot{Dim: 1}, batch.Slot{Dim: 1}), ""},
		{"a group has one dimension", inGroup(batch.Slot{Dim: 1}, batch.Slot{Dim: 2}),
			"slots a and b are of group shared, but their rows differ"},
		{"a group has one hash-stack", inGroup(batch.Slot{Dim: 1}, batch.Slot{Dim: 1,
			HashStack: batch.HashStack{Rounds: 2, Rows: 9}}),
			"give them one dimension, optimizer, initial value, precision and hash-stack"},
		{"a hash-stack without rows", stacked(batch.HashStack{Rounds: 2}),
			"slot s: hash-stack: 2 rounds of 0 rows"},
		{"a hash-stack without rounds", stacked(batch.HashStack{Rows: 2}), "0 rounds of 2 rows"},
		{"as many rounds as there may be", stacked(batch.HashStack{Rounds: batch.MaxRounds, Rows: 2}), ""},
		{"too many rounds", stacked(batch.HashStack{Rounds: 65, Rows: 2}), "65 rounds; want 1 to 64"},
		{"as many rows as there are signs", stacked(batch.HashStack{Rounds: 1, Rows: 1<<32 - 1}), ""},
		{"more rows than signs", stacked(batch.HashStack{Rounds: 2, Rows: 1 << 31}),
			"leaves room for 4294967295"},
	} {
		err := c.schema.Validate()
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// inGroup returns a schema of two slots that share a group, and so one prefix bit.
func inGroup(a, b batch.Slot) *batch.Schema {
	a.Name, b.Name, a.Group, b.Group = "a", "b", "shared", "shared"
	return &batch.Schema{Slots: []batch.Slot{a, b}, PrefixBits: 1}
}

// stacked returns a schema of one slot with 2³²−1 signs.
func stacked(h batch.HashStack) *batch.Schema {
	return &batch.Schema{Slots: []batch.Slot{{Name: "s", Dim: 1, HashStack: h}}, PrefixBits: 32}
}

// A raw slot has FixedSize × (Dim+1) inputs: 3·(4+1) here, beside 4 of the sum.
func TestEmbeddingWidth(t *testing.T) {
	schema := batch.Schema{Slots: []batch.Slot{
		{Dim: 4, FixedSize: 9}, // a size means nothing to a sum
		{Dim: 4, Pooling: batch.Raw, FixedSize: 3},
	}}
	if got := schema.EmbeddingWidth(); got != 19 {
		t.Errorf("width %d, want 19", got)
	}
}

// Of slots of 3, 2·(3+1) and 3 values, the first and the last have the columns 0 to 2 and 11 to 13.
func TestColumnsOfSlots(t *testing.T) {
	schema := &batch.Schema{Slots: []batch.Slot{{Dim: 3}, {Dim: 3, Pooling: batch.Raw, FixedSize: 2},
		{Dim: 3}}}
	for _, c := range []struct {
		slots []int
		want  []int32
	}{
		{nil, nil}, {[]int{0, 2}, []int32{0, 1, 2, 11, 12, 13}},
		{[]int{1}, []int32{3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		if got := schema.Columns(c.slots); !slices.Equal(got, c.want) {
			t.Errorf("slots %v: columns %v, want %v", c.slots, got, c.want)
		}
	}
}
