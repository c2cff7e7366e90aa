package route_test

import (
	"slices"
	"testing"

	"tandem/algo/numeric/batch"
)

// In Persia the rows of the rounds of a hash-stack overwrite each other where a
// slot is raw, and ids that meet in a row corrupt the way back. Here every id of a
// raw slot is the sum of its rounds, and a row gets the gradients of all ids that
// meet in it. With one row a round, all ids meet in both.
func TestPersiasMistakeHashStackRoundsOverwriteEachOther(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{
		{Name: "raw", Dim: 2, Pooling: batch.Raw, FixedSize: 3,
			HashStack: batch.HashStack{Rounds: 2, Rows: 1}},
	}}
	b := &batch.Batch{Samples: 1, Slots: []batch.Jagged{{Offsets: []int32{0, 2}, IDs: []uint64{5, 6}}}}
	r := routeAll(schema, b, 1, 1, 1)[0]
	if len(r.Signs) != 2 {
		t.Fatalf("%d rows, want one of each round", len(r.Signs))
	}
	pooled := make([]float32, 9)
	r.Pool(pooled, schema, []float32{1, 2, 10, 20}, 2)
	if want := []float32{11, 22, 1, 11, 22, 1, 0, 0, 0}; !slices.Equal(pooled, want) {
		t.Errorf("pooled %v, want both rows summed for both ids: %v", pooled, want)
	}
	got := merge(r, schema, []float32{1, 2, 9, 3, 4, 9, 9, 9, 9}, 2)
	if want := []float32{4, 6, 4, 6}; !slices.Equal(got, want) {
		t.Errorf("merged %v, want both ids' gradients in both rows: %v", got, want)
	}
}
