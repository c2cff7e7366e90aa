package des

import (
	"container/heap"

	"tandem/algo/unit"
)

// boxedHeap is the readable reference for the radix heap, and the queue that most simulators use: a binary
// heap of whole events behind container/heap's interface. It orders by instant and sequence.
type boxedHeap []Event

func (h boxedHeap) Len() int { return len(h) }
func (h boxedHeap) Less(i, j int) bool {
	if h[i].At != h[j].At {
		return h[i].At < h[j].At
	}
	return h[i].Sequence < h[j].Sequence
}
func (h boxedHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *boxedHeap) Push(x any)   { *h = append(*h, x.(Event)) }
func (h *boxedHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// popInstant removes all events of the earliest instant, in sequence.
func (h *boxedHeap) popInstant() (at unit.Tick, sequences []uint64) {
	at = (*h)[0].At
	for h.Len() > 0 && (*h)[0].At == at {
		sequences = append(sequences, heap.Pop(h).(Event).Sequence)
	}
	return at, sequences
}
