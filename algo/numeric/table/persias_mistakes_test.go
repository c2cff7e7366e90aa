package table_test

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/numeric/table"
)

// Persia's update_gradient_mixed does not advance in the flat gradients behind a
// sign whose row is missing: every later row gets the gradient of another.
func TestPersiasMistakeGradientsMisalignedAfterAMissingRow(t *testing.T) {
	tab := mustNew(t, config())
	before := mustLookup(t, tab, 1, 3, 5)
	grads := []float32{1, 1, 1 /* of 1; of 2, which is missing: */, 20, 20, 20, 3, 3, 3, 40, 40, 40, 5, 5, 5}
	if got := tab.Apply([]uint64{1, 2, 3, 4, 5}, grads, 1, nil); got != (table.Outcome{Applied: 3,
		Missing: 2}) {
		t.Fatalf("outcome %+v", got)
	}
	after := mustLookup(t, tab, 1, 3, 5)
	for i := range after {
		if want := before[i] - float32(2*(i/dim)+1); after[i] != want {
			t.Errorf("row %d: %v, want %v less its own gradient", 2*(i/dim)+1, after[i], before[i])
		}
	}
}

// admitting returns a table that admits absent rows with a probability.
func admitting(t *testing.T, probability float64) *table.Table {
	c := config()
	c.Admission = probability
	return mustNew(t, c)
}

// Persia draws again, without a seed, whenever an absent row is looked up: no two
// runs keep the same rows, and the ranks of one step may disagree. Here the rows
// follow from seed and steps, however often and in what order a step reads them
// and over how many shards they are spread.
func TestPersiasMistakeUnseededAdmission(t *testing.T) {
	signs := make([]uint64, 1000)
	for i := range signs {
		signs[i] = uint64(i)
	}
	backwards := slices.Clone(signs)
	slices.Reverse(backwards)
	dst := make([]float32, len(signs)*dim)
	one, again, left, right := admitting(t, 0.25), admitting(t, 0.25), admitting(t, 0.25), admitting(t, 0.25)
	for step := range 3 {
		for _, read := range []struct {
			tab   *table.Table
			signs []uint64
		}{{one, signs}, {again, backwards}, {again, signs}, {again, signs}, {left, signs[:400]},
			{right, signs[400:]}} {
			if err := read.tab.LookupStep(step, read.signs, dst[:len(read.signs)*dim], nil); err != nil {
				t.Fatal(err)
			}
		}
		// 1 − 0.75^k of 1000 rows, of deviation below √250 = 16.
		want := 1000 * (1 - math.Pow(0.75, float64(step+1)))
		if got := float64(one.Len()); math.Abs(got-want) > 4*16 {
			t.Errorf("%v rows after %d steps, want about %v", got, step+1, want)
		}
		if one.Digest() != again.Digest() || one.Digest() != left.Digest()+right.Digest() {
			t.Fatalf("step %d: the rows depend on order, repetition or shards", step)
		}
	}
}

// What is not admitted reads as zeros, and its gradient reaches no other row.
func TestRefusedRowsReadAsZerosAndLearnNothing(t *testing.T) {
	tab := admitting(t, 0.5)
	signs := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 1, 2}
	dst := slices.Repeat([]float32{9}, len(signs)*dim)
	if err := tab.LookupStep(0, signs, dst, nil); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i, sign := range signs {
		row := dst[i*dim:][:dim]
		if tab.Snapshot([]uint64{sign}, make([]float32, dim)) == 1 {
			refused++
			if !slices.Equal(row, make([]float32, dim)) {
				t.Errorf("sign %d is refused and reads as %v", sign, row)
			}
		} else if slices.Contains(row, 9) || slices.Equal(row, make([]float32, dim)) {
			t.Errorf("sign %d has a row and reads as %v", sign, row)
		}
	}
	if refused == 0 || refused == len(signs) {
		t.Fatalf("%d of %d refused", refused, len(signs))
	}
	if got := tab.Apply(signs, slices.Repeat([]float32{1}, len(dst)), 1,
		nil); got != (table.Outcome{Applied: len(signs) - refused, Refused: refused}) {
		t.Errorf("outcome %+v, want %d refused", got, refused)
	}
	all := admitting(t, 1)
	if err := all.LookupStep(0, signs, dst, nil); err != nil || all.Len() != 8 {
		t.Errorf("probability 1 admits %d of 8 rows, error %v", all.Len(), err)
	}
}
