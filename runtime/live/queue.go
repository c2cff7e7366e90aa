package live

import "sync"

// queue is a first-in first-out queue between goroutines. It has no limit of
// its own: credit windows bound what roles put into it.
type queue[T any] struct {
	mu     sync.Mutex
	filled sync.Cond
	items  []T
	head   int // items before it are popped
	closed bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.filled.L = &q.mu
	return q
}

// push adds an item; after close it is dropped.
func (q *queue[T]) push(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.items = append(q.items, item)
		q.filled.Signal()
	}
}

// pop waits for the next item; ok is false once the queue is closed.
func (q *queue[T]) pop() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.filled.Wait()
	}
	if q.closed {
		return item, false
	}
	item = q.items[q.head]
	var zero T
	q.items[q.head] = zero // let go of what it points to
	q.head++
	// Moving the rest down only when at least half is popped costs at most one
	// move an item, and keeps the memory for the next pushes.
	if 2*q.head >= len(q.items) {
		rest := copy(q.items, q.items[q.head:])
		clear(q.items[rest:])
		q.items, q.head = q.items[:rest], 0
	}
	return item, true
}

// close ends every pop and drops what is left.
func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.items, q.head = true, nil, 0
	q.filled.Broadcast()
}
