package transport

import (
	"slices"
	"sync"
)

const (
	// reuseMin is the size in bytes from which the memory of a frame is used again. To allocate less is
	// cheaper.
	reuseMin = 16 << 10
	// spareMax and spareBytesMax bound the memory that waits for a frame: its pieces and their bytes.
	spareMax      = 64
	spareBytesMax = 64 << 20
)

// memory is memory of received frames that is used again, so that it is not allocated and cleared for each.
type memory struct {
	mu    sync.Mutex
	spare [][]byte // oldest first
	bytes int      // of the capacities of spare
}

// take returns spare memory for size bytes, with undefined contents, or nil if there is none.
func (m *memory) take(size int) []byte {
	if size < reuseMin {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, b := range m.spare {
		if cap(b) >= size && cap(b) <= 2*size {
			m.remove(i)
			return b[:size]
		}
	}
	return nil
}

// giveBack makes memory available to take. Nothing else may refer to it. If too much is spare, the oldest is
// dropped, because frames of its size no longer come.
func (m *memory) giveBack(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spare, m.bytes = append(m.spare, b), m.bytes+cap(b)
	for len(m.spare) > spareMax || m.bytes > spareBytesMax {
		m.remove(0)
	}
}

// remove removes spare memory. The caller holds m.mu.
func (m *memory) remove(i int) {
	m.bytes -= cap(m.spare[i])
	m.spare = slices.Delete(m.spare, i, i+1)
}

// allocate returns new memory for size bytes. It has room for frames that are a little larger, because sizes
// vary from batch to batch, as distinct rows do.
func allocate(size int) []byte {
	if size < reuseMin {
		return make([]byte, size)
	}
	return make([]byte, size, size+size/8)
}
