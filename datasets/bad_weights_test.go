package datasets

import (
	"fmt"
	"math"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
)

// The bad rows of a part of a file, those with bad weights of ids among them, come in the order of the file,
// each once.
func TestBadRowsComeInOrder(t *testing.T) {
	nan := float32(math.NaN())
	f := format{Format: decode.Format{Schema: batch.Schema{Slots: []batch.Slot{
		{Name: "tags", Weighted: true}, {Name: "likes", Weighted: true}}}}}
	b := &batch.Batch{Samples: 4, Slots: []batch.Jagged{
		{Offsets: []int32{0, 1, 2, 3, 4}, IDs: make([]uint64, 4), Weights: []float32{1, 1, nan, 1}},
		{Offsets: []int32{0, 1, 2, 3, 4}, IDs: make([]uint64, 4), Weights: []float32{nan, 1, nan, 1}},
	}}
	other := &decode.BadRow{Line: 12, Column: "age", Reason: "none"}
	var got string
	for _, bad := range f.checkWeights(b, []*decode.BadRow{other}, 10) {
		got += fmt.Sprint(bad.Line, " ", bad.Column, "; ")
	}
	if want := "11 likes; 12 age; 13 tags; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
