package role

import "slices"

// Queue is a first-in first-out queue. The zero value is empty.
type Queue[T any] struct {
	items []T
	head  int // index of the first item that is not popped
}

// LaneQueues are queues for the lanes of one role, for example of work in flight or of its results.
type LaneQueues[T any] [Lanes]Queue[T]

// Lane returns the queue of the lane for work of a kind.
func (q *LaneQueues[T]) Lane(k WorkKind) *Queue[T] { return &q[k.Lane()] }

// Clear empties all lanes.
func (q *LaneQueues[T]) Clear() {
	for i := range q {
		q[i].Clear()
	}
}

// Len returns the number of items.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// Push adds an item at the end.
func (q *Queue[T]) Push(item T) { q.items = append(q.items, item) }

// Front returns the first item, which must exist.
func (q *Queue[T]) Front() T { return q.items[q.head] }

// Pop removes the first item, which must exist, and returns it.
func (q *Queue[T]) Pop() T {
	item := q.items[q.head]
	var zero T
	q.items[q.head] = zero // free the memory that the item refers to
	q.head++
	// Move the rest to the front only when at least half is popped: at most one move for each item, and later
	// pushes reuse the memory.
	if 2*q.head >= len(q.items) {
		rest := copy(q.items, q.items[q.head:])
		clear(q.items[rest:])
		q.items, q.head = q.items[:rest], 0
	}
	return item
}

// Clear removes all items and frees the memory.
func (q *Queue[T]) Clear() { *q = Queue[T]{} }

// Items returns the items in order. The slice is valid until the next change of the queue.
func (q *Queue[T]) Items() []T { return q.items[q.head:] }

// Clone returns an independent copy.
func (q *Queue[T]) Clone() Queue[T] { return Queue[T]{items: slices.Clone(q.Items())} }
