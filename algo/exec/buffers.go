package exec

import (
	"slices"
	"sync"

	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/role"
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

// Recycle is Store.Release; in addition it reuses the memory of a payload that came with a message. Only a
// driver that delivers every message once and within this process may call it: there the receiver is the last
// to hold a payload.
func (e *Executor) Recycle(s *Store, h role.Handle) {
	payload, sent := s.remove(h)
	if !sent {
		return // the role computed the data, and the receiver of a message may hold them
	}
	switch h.Kind {
	case role.ShardRows:
		for _, rows := range payload.([]compress.Values) {
			e.numerics.buffers.giveBack(rows.Floats)
		}
	case role.PooledRows, role.PooledGrads:
		e.numerics.buffers.giveBack(payload.(compress.Values).Floats)
	case role.ShardGrads:
		e.numerics.buffers.giveBack(payload.(*Put).Sums.Floats)
	}
}
