package report

import (
	"slices"
	"testing"

	"tandem/algo/numeric/batch"
)

// Of four samples, two have id 7, one of them three times; id 8 is in three.
func TestSharesCountASampleOnce(t *testing.T) {
	slot := batch.Jagged{IDs: []uint64{7, 7, 7, 8, 7, 8, 8}, Offsets: []int32{0, 4, 5, 6, 7}}
	if got := Shares(slot, 4); !slices.Equal(got, []float64{0.5, 0.75}) {
		t.Errorf("%v, want 0.5 and 0.75", got)
	}
}
