package device

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// cacheLine is the unit in which memory is moved, on every host profiled here.
const cacheLine = 64

// Host prices work on a host's cores and memory. Two limits hold for the memory
// as a whole, however many cores ask: bytes a second, and random rows a second.
type Host struct {
	Name      string
	Cores     int
	Memory    unit.Bytes
	Bandwidth unit.BytesPerSec // of the memory
	// RowsPerSec is how many rows at random addresses the memory can deliver a
	// second, all cores together.
	RowsPerSec float64
	// RowTime is a core's time to find one row and touch it, cache and TLB
	// misses included.
	RowTime unit.Tick
	// CopySpeed is how fast one core moves bytes that it streams: copying,
	// encoding, pooling.
	CopySpeed unit.BytesPerSec
	Network   unit.BytesPerSec // of the network card, one direction
	// DollarsPerHour is the list price, or 0 where there is none.
	DollarsPerHour unit.Dollars
}

// Rows is a number of accesses to embedding rows at random addresses.
type Rows struct {
	Count int64
	Bytes unit.Bytes // of one row, state included where that is touched
	// Write says that rows are written back, which moves their bytes twice.
	Write bool
}

// HostCost is what work asks of a host's two resources. With c cores at its
// disposal, and nothing beside it, work takes max(Core/c, Memory).
type HostCost struct {
	Core   unit.Tick // core time: a CPU's job
	Memory unit.Tick // time of the whole memory: a job on a one-core CPU that stands for the bus
}

// Add returns the cost of both works.
func (c HostCost) Add(d HostCost) HostCost { return HostCost{c.Core + d.Core, c.Memory + d.Memory} }

// RowCost prices row accesses:
//
//	core   = count · (row time + passes · bytes / copy speed)
//	memory = count · max(passes · lines · 64 B / bandwidth, 1 / rows a second)
//
// with passes = 2 for writes and lines the cache lines of a row that begins on
// one. It panics if a field is out of range.
func (h *Host) RowCost(r Rows) HostCost {
	if r.Count < 0 || r.Bytes < 0 {
		panic(fmt.Sprintf("device: %d rows of %d bytes, want at least 0, 0", r.Count, r.Bytes))
	}
	passes := 1.0
	if r.Write {
		passes = 2
	}
	count := float64(r.Count)
	lines := math.Ceil(float64(r.Bytes) / cacheLine)
	core := h.RowTime.Seconds() + passes*float64(r.Bytes)/float64(h.CopySpeed)
	memory := max(passes*lines*cacheLine/float64(h.Bandwidth), 1/h.RowsPerSec)
	return HostCost{ticks(count * core), ticks(count * memory)}
}

// CopyCost prices the streaming of bytes once from and once to memory.
func (h *Host) CopyCost(bytes unit.Bytes) HostCost {
	if bytes < 0 {
		panic(fmt.Sprintf("device: copy of %d bytes, want at least 0", bytes))
	}
	return HostCost{
		ticks(float64(bytes) / float64(h.CopySpeed)),
		ticks(2 * float64(bytes) / float64(h.Bandwidth)),
	}
}
