package order

import "testing"

// Of 6400 rows in windows of 640, a block has 10 rows.
func TestAWindowHoldsWholeBlocks(t *testing.T) {
	const rows, window, block = 6400, 640, 10
	shuffle := NewWindowed(rows, window, 3)
	for number := range rows / window {
		count := map[int32]int{}
		for _, row := range shuffle.RowsBetween(7, number*window, (number+1)*window) {
			count[row/block]++
		}
		if len(count) != blocksPerWindow {
			t.Fatalf("window %d has rows of %d blocks, want %d", number, len(count), blocksPerWindow)
		}
		for b, n := range count {
			if n != block {
				t.Fatalf("window %d has %d rows of block %d, want %d", number, n, b, block)
			}
		}
	}
}
