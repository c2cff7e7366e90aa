package engine

import "testing"

// TestCopyValues copies as much as fits, by one core or several.
func TestCopyValues(t *testing.T) {
	for _, n := range []int{0, 1, copiedAtOnce, copiedAtOnce + 1, 3*copiedAtOnce - 1, 3 * copiedAtOnce} {
		for _, room := range []int{n - 1, n, n + 1} {
			from, to := make([]float32, n), make([]float32, max(room, 0))
			for i := range from {
				from[i] = float32(i + 1)
			}
			copyValues(to, from)
			for i, got := range to {
				if want := float32(i+1) * float32(min(1, max(0, n-i))); got != want {
					t.Fatalf("%d values to room for %d: value %d is %v, want %v", n, room, i, got, want)
				}
			}
		}
	}
}
