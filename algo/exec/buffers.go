package exec

import (
	"slices"
	"sync"

	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/role"
)

// buffers lends out the memory of payloads, megabytes a batch, so that it need not
// be made and cleared anew for each. What nobody gives back is the collector's.
type buffers struct {
	mu   sync.Mutex
	free [][]float32
}

// spareMost is the number of buffers that are kept. One more, and that which has
// waited longest goes: its size is no longer asked for.
const spareMost = 64

// borrow returns n values, which may be anything.
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

// giveBack takes values back, which nobody else may hold.
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

// Recycle is Store.Release, and lets the memory of a payload that a role has been
// sent be used for another. It is for a driver that delivers each message once, and
// all of them in this process: then the receiver of a payload is the last to hold
// it.
func (e *Executor) Recycle(s *Store, h role.Handle) {
	payload, sent := s.remove(h)
	if !sent {
		return // it is what the role has made, and another's now
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
