package device

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"tandem/algo/unit"
)

// Chase is a measurement of a machine's memory: reads of random lines of a buffer.
type Chase struct {
	Bytes         unit.Bytes // of the buffer
	HugePageShare float64    // the part of it in pages of 2 MiB
	// Alone is the seconds of a step of one chain, where the place of a read depends on the read before.
	// Together is the seconds of a step of many chains at once.
	Alone, Together float64
}

// ErrChases is the error of FitMemory about measurements that no memory explains.
var ErrChases = errors.New("device: the law of memory explains no part of these chases")

// FitMemory returns a host with the numbers of memory that come closest to what a machine's chases took, by
// the laws of Access (Alone) and RowTime (Together):
//
//   - latencies of memory and cache, the size of the cache and, on a virtual host, the share of huge pages of
//     the hypervisor, by least squares of relative errors of Alone;
//   - the cache of many chains, lines and walks in flight, by those of Together in the larger buffers: hits
//     are hidden, and those that are not would count as memory.
//
// Virtual, Sockets and TLBEntries of the host must be set. It is an error if there are fewer than four
// chases, or none of such a size. Cost: a few thousand evaluations of the law for each chase.
func FitMemory(h Host, chases []Chase) (Host, error) {
	if len(chases) < 4 {
		return h, ErrChases
	}
	hypervisors := []float64{0}
	if h.Virtual {
		hypervisors = []float64{0, 0.25, 0.5, 0.75, 1}
	}
	best, least := h, math.Inf(1)
	for _, h.HypervisorHugePageShare = range hypervisors {
		for size := float64(cacheLeast); size <= cacheMost; size *= cacheStep {
			h.Cache = unit.Bytes(size)
			if cache, memory, squares := h.latencies(chases); squares < least {
				best, least = h, squares
				best.CacheLatency, best.MemoryLatency = nanoseconds(cache), nanoseconds(memory)
			}
		}
	}
	if math.IsInf(least, 1) {
		return h, ErrChases
	}
	if !best.fitTogether(chases) {
		return h, ErrChases
	}
	return best, nil
}

// What FitMemory tries.
const (
	cacheLeast  = 1 << 20
	cacheMost   = 1 << 29
	cacheStep   = 1.1
	flightMost  = 128 // lines, and walks
	flightLeast = 1
	flightStep  = 1.04
)

// nanoseconds returns whole ones, at least one.
func nanoseconds(seconds float64) unit.Tick { return max(1, unit.Tick(math.Round(1e9*seconds))) }

// latencies returns the latencies that explain Alone best, in seconds, for caches and pages as h has them,
// and the sum of squares of relative errors that remain: infinity if no positive latencies do, or memory
// would be faster than the cache.
//
//	minimise Σ ((c · hits + m · lines) / alone − 1)²
func (h *Host) latencies(chases []Chase) (c, m, squares float64) {
	var hh, hl, ll, h1, l1 float64 // sums of products
	rows := make([][2]float64, len(chases))
	for i, chase := range chases {
		host := *h
		host.HugePageShare = chase.HugePageShare
		t := host.touch([]Region{{Bytes: chase.Bytes, Touches: 1}}, h.Cache)
		a, b := t.hits()/chase.Alone, t.lines()/chase.Alone
		rows[i] = [2]float64{a, b}
		hh, hl, ll, h1, l1 = hh+float64(a*a), hl+float64(a*b), ll+float64(b*b), h1+a, l1+b
	}
	determinant := float64(hh*ll) - float64(hl*hl)
	c = (float64(h1*ll) - float64(l1*hl)) / determinant
	m = (float64(l1*hh) - float64(h1*hl)) / determinant
	if !(c > 0 && m > c) {
		return 0, 0, math.Inf(1)
	}
	for _, r := range rows {
		e := float64(r[0]*c) + float64(r[1]*m) - 1
		squares += float64(e * e)
	}
	return c, m, squares
}

// fitTogether sets the cache, the lines and the walks in flight that explain Together best, by the mean size
// of the logarithm of the law ÷ the measurement, over buffers of at least a 64th of the largest. Caches are
// up to a quarter of the smallest of these. It returns false if there is no such cache.
func (h *Host) fitTogether(chases []Chase) bool {
	largest := slices.MaxFunc(chases, func(a, b Chase) int { return cmp.Compare(a.Bytes, b.Bytes) }).Bytes
	large := slices.DeleteFunc(slices.Clone(chases), func(c Chase) bool { return c.Bytes < largest/64 })
	most := largest
	for _, c := range large {
		most = min(most, c.Bytes/4)
	}
	least := math.Inf(1)
	one := *h
	lines, walks := make([]float64, len(large)), make([]float64, len(large))
	for size := float64(cacheLeast); size <= float64(most); size *= cacheStep {
		one.CacheTogether = unit.Bytes(size)
		for i, chase := range large { // the law with one line, or one walk, at a time ÷ the measurement
			one.HugePageShare = chase.HugePageShare
			region := Region{Bytes: chase.Bytes, Touches: 1}
			one.LinesInFlight, one.WalksInFlight = 1, math.Inf(1)
			lines[i] = one.RowTime(region) / chase.Together
			one.LinesInFlight, one.WalksInFlight = math.Inf(1), 1
			walks[i] = one.RowTime(region) / chase.Together
		}
		for l := float64(flightLeast); l <= flightMost; l *= flightStep {
			for w := float64(flightLeast); w <= flightMost; w *= flightStep {
				errors := 0.0
				for i := range lines {
					errors += math.Abs(math.Log(max(lines[i]/l, walks[i]/w)))
				}
				if errors < least {
					least, h.CacheTogether, h.LinesInFlight, h.WalksInFlight = errors, one.CacheTogether, l, w
				}
			}
		}
	}
	return !math.IsInf(least, 1)
}
