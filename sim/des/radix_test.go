package des

import (
	"container/heap"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
)

// The radix heap gives the same instants, and within an instant the same first in, first out order, as a
// binary heap with a sequence number.
func TestRadixHeapEqualsBinaryHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r radixHeap
		var reference boxedHeap
		now, sequence := unit.Tick(0), uint64(0)
		steps := rapid.IntRange(1, 200).Draw(t, "steps")
		for range steps {
			if len(reference) == 0 || rapid.Bool().Draw(t, "push") {
				// Small delays collide, large ones reach the high buckets.
				delay := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<50)).Draw(t, "delay")
				at := now + unit.Tick(delay)
				r.push(entry{at, ID{slot: uint32(sequence)}})
				heap.Push(&reference, Event{At: at, Sequence: sequence})
				sequence++
				continue
			}
			at, want := reference.popInstant()
			if got := r.least(); got != at {
				t.Fatalf("least() = %d, want %d", got, at)
			}
			var got []uint64
			for _, x := range r.pop(nil) {
				got = append(got, uint64(x.id.slot))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("pop() at %d = %v, want %v", at, got, want)
			}
			now = at
		}
		if r.empty() != (len(reference) == 0) {
			t.Fatalf("empty() = %v with %d left", r.empty(), len(reference))
		}
	})
}
