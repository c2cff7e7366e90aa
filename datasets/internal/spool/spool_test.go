package spool

import (
	"math"
	"os"
	"reflect"
	"sync"
	"testing"

	"tandem/algo/numeric/batch"
)

// block returns rows of two columns of ids, one of them of lists with weights, two numbers and a label.
func block(first, rows int) *batch.Batch {
	b := &batch.Batch{Samples: rows, Dense: []float32{}, Labels: []float32{}, Weights: []float32{},
		Slots: []batch.Jagged{{IDs: []uint64{}, Offsets: []int32{0}}, {IDs: []uint64{}, Offsets: []int32{0},
			Weights: []float32{}}}}
	for i := first; i < first+rows; i++ {
		for s := range b.Slots {
			slot := &b.Slots[s]
			for range max(1-s, i%4*s) { // one, or 0 to 3
				slot.IDs = append(slot.IDs, uint64(i)*math.MaxUint64/1000)
				if s == 1 {
					slot.Weights = append(slot.Weights, float32(i)/9)
				}
			}
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
		b.Dense = append(b.Dense, float32(i)/7, float32(math.Inf(1)))
		b.Labels, b.Weights = append(b.Labels, float32(i%2)), append(b.Weights, float32(i)/3)
	}
	return b
}

// Blocks come back as they were added, in any order, and nothing is left in the folder.
func TestBlocksComeBack(t *testing.T) {
	folder := t.TempDir()
	r, err := Create(folder, []bool{false, true}, 2, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	var want []*batch.Batch
	for i, rows := range []int{300, 1, 0, 77} {
		want = append(want, block(1000*i, rows))
		if err := r.Add(want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if lo, hi := r.Range(3); r.Samples() != 378 || r.Blocks() != 4 || lo != 301 || hi != 378 {
		t.Errorf("%d rows in %d blocks, the last from %d to %d", r.Samples(), r.Blocks(), lo, hi)
	}
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			got, err := r.Read(3 - i%4)
			if err != nil || !reflect.DeepEqual(got, want[3-i%4]) {
				t.Errorf("block %d differs, error %v", 3-i%4, err)
			}
		})
	}
	readers.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, error %v", left, err)
	}
	if _, err := r.Read(0); err == nil {
		t.Error("a block of a closed file was read")
	}
}
