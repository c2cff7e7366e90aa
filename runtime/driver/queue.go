package driver

import (
	"sync"

	"tandem/algo/protocol/role"
)

// queue is a first-in first-out queue between goroutines. It is unbounded, because credit windows bound what
// roles put into it.
type queue[T any] struct {
	mu     sync.Mutex
	filled sync.Cond
	items  role.Queue[T]
	closed bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.filled.L = &q.mu
	return q
}

// push adds an item and returns true. After close it drops the item and returns false.
func (q *queue[T]) push(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.items.Push(item)
		q.filled.Signal()
	}
	return !q.closed
}

// pop waits for the next item; ok is false once the queue is closed.
func (q *queue[T]) pop() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.items.Len() == 0 && !q.closed {
		q.filled.Wait()
	}
	if q.closed {
		return item, false
	}
	return q.items.Pop(), true
}

// takeAll waits for items and moves all of them to dst, whose items it replaces; ok is false once the queue
// is closed.
func (q *queue[T]) takeAll(dst []T) (items []T, ok bool) {
	clear(dst) // so that the memory that they refer to can be freed while this waits
	dst = dst[:0]
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.items.Len() == 0 && !q.closed {
		q.filled.Wait()
	}
	for q.items.Len() > 0 {
		dst = append(dst, q.items.Pop())
	}
	return dst, !q.closed
}

// close drops all items and ends every pop.
func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.items.Clear()
	q.filled.Broadcast()
}
