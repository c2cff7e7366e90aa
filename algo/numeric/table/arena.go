package table

import (
	"fmt"
	"unsafe"
)

// Arena provides the memory of a table, slab by slab. A table never returns a slab.
type Arena interface {
	// Slab returns a number of zero bytes that nothing else uses, aligned to 64
	// bytes, a cache line.
	Slab(bytes int) ([]byte, error)
}

// lineBytes is the size of a cache line, and the alignment of a slab.
const lineBytes = 64

// Heap is an Arena on Go's heap. It never returns an error.
type Heap struct{}

// Slab returns new memory.
func (Heap) Slab(bytes int) ([]byte, error) {
	memory := make([]byte, bytes+lineBytes-1)
	skip := -uintptr(unsafe.Pointer(&memory[0])) % lineBytes
	return memory[skip:][:bytes:bytes], nil
}

// newSlab asks an arena for memory and returns where it starts.
func newSlab(arena Arena, bytes int) (unsafe.Pointer, error) {
	memory, err := arena.Slab(bytes)
	if err != nil {
		return nil, fmt.Errorf("table: slab of %d bytes: %w", bytes, err)
	}
	start := unsafe.Pointer(unsafe.SliceData(memory))
	if len(memory) != bytes || uintptr(start)%lineBytes != 0 {
		panic(fmt.Sprintf("table: arena gave %d bytes at %#x, want %d aligned to %d", len(memory),
			uintptr(start), bytes, lineBytes))
	}
	return start, nil
}
