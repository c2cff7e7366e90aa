// Package memory allocates the memory of embedding tables outside Go's heap, in huge pages where the system
// has them, and measures how much of it is in huge pages.
//
//	arena := &memory.Arena{}
//	defer arena.Close()
//
// An Arena is a table.Arena.
//
// Rows are there because only there can huge pages be requested; every run reports how many it got. The price
// is memory that the garbage collector does not see.
package memory

import (
	"errors"
	"fmt"
	"sync"

	"tandem/algo/numeric/table"
	"tandem/algo/unit"
)

// Arena implements table.Arena. It takes memory from the system in regions and allocates slabs from the end
// of the last region, so that slabs of any size share huge pages. Memory that was allocated and not touched
// uses no physical memory. Close frees all memory at once. The methods may be called from any goroutine. The
// zero value is ready for use.
//
// On systems without such memory, an Arena uses Go's heap.
type Arena struct {
	// SmallPages asks for pages of 4 KiB instead, for measurements of what huge pages save.
	SmallPages bool

	mu        sync.Mutex
	regions   [][]byte
	rest      []byte // of the last region
	allocated int
	closed    bool
}

var _ table.Arena = (*Arena)(nil)

const (
	hugePage = 2 << 20 // also the alignment of regions
	line     = 64      // alignment of slabs
	// A region is as large as all earlier ones together, within these bounds. So there are few regions, and a
	// small table uses little address space.
	regionMin = 2 * hugePage
	regionMax = 1 << 30
)

// ErrClosed is the error of Slab after Close.
var ErrClosed = errors.New("memory: the arena is closed")

// Slab implements table.Arena.
func (a *Arena) Slab(bytes int) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, ErrClosed
	}
	size := (bytes + line - 1) &^ (line - 1)
	if size > len(a.rest) {
		want := 0
		for _, r := range a.regions {
			want += len(r)
		}
		want = max(min(max(want, regionMin), regionMax), (size+hugePage-1)&^(hugePage-1))
		region, err := reserve(want, a.SmallPages)
		if err != nil {
			return nil, fmt.Errorf("memory: cannot allocate another %v for embedding rows: %w; lower "+
				"rows.memory, or use "+
				"more machines", unit.Bytes(want), err)
		}
		a.regions, a.rest = append(a.regions, region), region
	}
	slab := a.rest[:bytes:bytes]
	a.rest = a.rest[size:]
	a.allocated += size
	return slab, nil
}

// Close frees all memory. The tables must not use the arena's slabs any more. Close may be called again.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, r := range a.regions {
		errs = append(errs, release(r))
	}
	a.regions, a.rest, a.allocated, a.closed = nil, nil, 0, true
	return errors.Join(errs...)
}

// Use is how much memory an Arena uses, and where.
type Use struct {
	Allocated unit.Bytes // as slabs
	Resident  unit.Bytes // in physical memory
	Huge      unit.Bytes // part of Resident that is in huge pages
}

// Use returns the current use. Resident and Huge are 0 on systems that do not report them. Use reads the list
// of the process's mappings.
func (a *Arena) Use() (Use, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	resident, huge, err := measure(a.regions)
	return Use{unit.Bytes(a.allocated), resident, huge}, err
}
