package device

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// cacheLine is the number of bytes that memory moves at a time, on every host that has a profile.
const cacheLine = 64

// Host prices work on a host's cores and memory. The memory as a whole has two limits, for any number of
// cores: bytes a second, and random rows a second.
type Host struct {
	Name    string
	Virtual bool // a hypervisor translates addresses a second time
	Cores   int
	Sockets int
	// CoreSpeed is the speed of a core in ordinary branchy code, relative to a core of an AMD Zen 4 at 3 GHz.
	CoreSpeed float64
	Memory    unit.Bytes
	Bandwidth unit.BytesPerSec // of the memory
	// RowsPerSec is the number of rows at random addresses that the memory can deliver to all cores together
	// in a second.
	RowsPerSec float64
	// CopySpeed is the speed of one core that streams bytes: copying, encoding, pooling.
	CopySpeed unit.BytesPerSec

	// What Access needs: see HostProfile.
	MemoryLatency, RemoteLatency unit.Tick
	Cache                        unit.Bytes
	CacheLatency                 unit.Tick
	TLBEntries                   int
	HugePageShare                float64
	HypervisorHugePageShare      float64 // if Virtual

	// What RowTime needs besides: see HostProfile.
	CacheTogether                          unit.Bytes
	LinesInFlight, WalksInFlight, NextLine float64

	Network      unit.BytesPerSec // of all network cards, one direction
	NetworkCards int
	// FrontNetwork is the rate of cards apart from those of Network, or 0 if there are none.
	FrontNetwork      unit.BytesPerSec
	FrontNetworkCards int

	SSD            unit.Bytes       // of all drives, or 0 if there are none
	SSDBandwidth   unit.BytesPerSec // of reads
	SSDReadsPerSec float64          // of 4 KiB

	// DollarsPerHour is the list price, or 0 if there is none.
	DollarsPerHour unit.Dollars
}

// Rows is a number of accesses to embedding rows at random addresses.
type Rows struct {
	Count int64
	Bytes unit.Bytes // of one row, with the optimizer's state if the access includes it
	// Write means that rows are written back, which moves their bytes twice.
	Write bool
}

// HostCost is the cost of work on the two resources of a host. Work that has c cores and the memory to itself
// takes max(Core/c, Memory).
type HostCost struct {
	Core   unit.Tick // core time: the work of an activity on a CPU
	Memory unit.Tick // time of the whole memory: an activity on a one-core CPU that stands for the memory bus
	// Wait is the part of Core in which a core waits for a line from memory.
	Wait unit.Tick
}

// Add returns the cost of two pieces of work together.
func (c HostCost) Add(d HostCost) HostCost {
	return HostCost{c.Core + d.Core, c.Memory + d.Memory, c.Wait + d.Wait}
}

// Scale returns the cost of a number of pieces of work, or of a part of one.
func (c HostCost) Scale(factor float64) HostCost {
	return HostCost{c.Core.Scale(factor), c.Memory.Scale(factor), c.Wait.Scale(factor)}
}

// RowTraffic returns the time of the whole memory for row accesses:
//
//	count · max(passes · lines · 64 B / bandwidth, 1 / rows a second)
//
// where passes is 2 for writes and otherwise 1, and lines is the number of cache lines of a row that begins
// at a cache line. It panics if a field is out of range.
func (h *Host) RowTraffic(r Rows) unit.Tick {
	if r.Count < 0 || r.Bytes < 0 {
		panic(fmt.Sprintf("device: %d rows of %d bytes, want at least 0, 0", r.Count, r.Bytes))
	}
	passes := 1.0
	if r.Write {
		passes = 2
	}
	lines := math.Ceil(float64(r.Bytes) / cacheLine)
	return ticks(float64(r.Count) * max(passes*lines*cacheLine/float64(h.Bandwidth), 1/h.RowsPerSec))
}

// CopyCost prices a copy of bytes, which reads memory once and writes it once.
func (h *Host) CopyCost(bytes unit.Bytes) HostCost {
	if bytes < 0 {
		panic(fmt.Sprintf("device: copy of %d bytes, want at least 0", bytes))
	}
	return HostCost{
		Core:   ticks(float64(bytes) / float64(h.CopySpeed)),
		Memory: ticks(2 * float64(bytes) / float64(h.Bandwidth)),
	}
}
