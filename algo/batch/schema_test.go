package batch_test

import (
	"strings"
	"testing"

	"tandem/algo/batch"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		schema *batch.Schema
		want   string // part of the error, "" for none
	}{
		{"one bit tells one slot", slots(1, 1), ""},
		{"one bit does not tell two", slots(2, 1), "2 slots, but a prefix of 1 bits tells only 1 apart; widen the prefix"},
		{"eight bits tell 255", slots(255, 8), ""},
		{"eight bits do not tell 256", slots(256, 8), "tells only 255 apart"},
		{"the widest prefix", slots(3, batch.MaxPrefixBits), ""},
		{"no prefix", slots(1, 0), "prefix of 0 bits; want 1 to 32"},
		{"too wide a prefix", slots(1, 33), "prefix of 33 bits"},
		{"rows of nothing", &batch.Schema{Slots: []batch.Slot{{Name: "user"}}, PrefixBits: 8}, "slot user has rows of 0 values"},
		{"raw without a size", &batch.Schema{
			Slots: []batch.Slot{{Name: "history", Dim: 2, Pooling: batch.Raw}}, PrefixBits: 8,
		}, "slot history has rows of 2 values and fixed size 0"},
	} {
		err := c.schema.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
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
