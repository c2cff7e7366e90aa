package parallel_test

import (
	"sync/atomic"
	"testing"

	"tandem/datasets/internal/parallel"
)

func TestEveryPieceIsDoneOnce(t *testing.T) {
	for workers := range 5 {
		for n := range 40 {
			done := make([]atomic.Int32, n)
			parallel.Do(workers, n, func(i int) { done[i].Add(1) })
			for i := range done {
				if got := done[i].Load(); got != 1 {
					t.Fatalf("%d workers, %d pieces: piece %d done %d times", workers, n, i, got)
				}
			}
		}
	}
}
