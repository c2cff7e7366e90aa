// Package memory gives embedding tables memory outside Go's heap, in huge pages
// where the system has them, and says how much of it really is.
package memory

import (
	"errors"
	"fmt"
	"sync"

	"tandem/algo/numeric/table"
	"tandem/algo/unit"
)

// Arena implements table.Arena. It takes memory from the system in regions and
// hands it out from one end, so that slabs of any size share huge pages. Memory
// that is handed out and not touched takes none. All of it goes back at once, by
// Close. Its methods may be called at the same time.
//
// Where the system has no such memory, it comes from Go's heap.
type Arena struct {
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
	// A region is as large as all before it together, within these bounds: few
	// regions, whatever the size, and little address space for a small table.
	regionMin = 2 * hugePage
	regionMax = 1 << 30
)

// ErrClosed is the error of a slab asked of an arena that has been closed.
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
		region, err := reserve(want)
		if err != nil {
			return nil, fmt.Errorf("memory: no %v more for embedding rows: %w; lower rows.memory, or use more machines", unit.Bytes(want), err)
		}
		a.regions, a.rest = append(a.regions, region), region
	}
	slab := a.rest[:bytes:bytes]
	a.rest = a.rest[size:]
	a.allocated += size
	return slab, nil
}

// Close gives all memory back. No table may use the arena's slabs any more. It
// may be called again.
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

// Use is where the memory of an arena is.
type Use struct {
	Allocated unit.Bytes // handed out as slabs
	Resident  unit.Bytes // in memory
	Huge      unit.Bytes // of that, in huge pages
}

// Use returns the use of now. Resident and Huge are 0 where the system does not
// tell. Cost: reads the list of the process's mappings.
func (a *Arena) Use() (Use, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	resident, huge, err := measure(a.regions)
	return Use{unit.Bytes(a.allocated), resident, huge}, err
}
