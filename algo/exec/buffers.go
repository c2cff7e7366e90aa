package exec

import (
	"slices"
	"sync"
	"sync/atomic"
)

// buffers reuses the memory of payloads, megabytes a batch, so that it is not allocated and cleared for each.
// Buffers that are not given back are garbage collected.
type buffers struct {
	mu   sync.Mutex
	free [][]float32
}

// spareMost is the largest number of spare buffers. When there is one more, the oldest is dropped, because
// buffers of its size are no longer in use.
const spareMost = 64

// borrow returns a buffer of n values with undefined contents.
func (b *buffers) borrow(n int) []float32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, spare := range b.free {
		if cap(spare) >= n && cap(spare) <= 2*n {
			b.free = slices.Delete(b.free, i, i+1)
			return spare[:n]
		}
	}
	// Sizes vary from batch to batch, as distinct rows do.
	return make([]float32, n, n+n/8)
}

// giveBack makes a buffer available to borrow. Nothing else may refer to its values.
func (b *buffers) giveBack(values []float32) {
	if cap(values) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) == spareMost {
		b.free = slices.Delete(b.free, 0, 1)
	}
	b.free = append(b.free, values)
}

// lease is a buffer with a payload that a role has computed. It is given back when nothing holds it: neither
// the role, nor a role of this process to which it was lent, nor a message on its way to another process.
type lease struct {
	holders atomic.Int32
	values  []float32
	buffers *buffers
}

// lease returns a lease of a borrowed buffer, with one holder.
func (b *buffers) lease(values []float32) *lease {
	l := &lease{values: values, buffers: b}
	l.holders.Store(1)
	return l
}

// hold adds a holder. A nil lease is of memory that is not used again.
func (l *lease) hold() {
	if l != nil {
		l.holders.Add(1)
	}
}

// end removes a holder.
func (l *lease) end() {
	if l != nil && l.holders.Add(-1) == 0 {
		l.buffers.giveBack(l.values)
	}
}
