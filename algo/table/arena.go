package table

import (
	"fmt"
	"unsafe"
)

// Arena gives a table its memory, slab by slab. A table keeps its slabs for
// life and never gives one back.
type Arena interface {
	// Slab returns a number of zero bytes that nothing else uses, aligned to
	// at least 4 bytes.
	Slab(bytes int) ([]byte, error)
}

// Heap is the arena of Go's own heap. It never returns an error.
type Heap struct{}

// Slab returns new memory.
func (Heap) Slab(bytes int) ([]byte, error) { return make([]byte, bytes), nil }

// slab is a piece of memory that holds rows, seen as integers for row headers
// and as numbers for row values. Both views are of the same bytes.
type slab struct {
	words  []uint32
	values []float32
}

// newSlab asks the arena for a number of 4-byte words.
func newSlab(arena Arena, words int) (slab, error) {
	memory, err := arena.Slab(4 * words)
	if err != nil {
		return slab{}, fmt.Errorf("table: slab of %d bytes: %w", 4*words, err)
	}
	start := unsafe.Pointer(unsafe.SliceData(memory))
	if len(memory) != 4*words || uintptr(start)%4 != 0 {
		panic(fmt.Sprintf("table: arena gave %d bytes at %#x, want %d aligned to 4", len(memory), uintptr(start), 4*words))
	}
	return slab{
		words:  unsafe.Slice((*uint32)(start), words),
		values: unsafe.Slice((*float32)(start), words),
	}, nil
}
