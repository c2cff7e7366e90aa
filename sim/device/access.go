package device

import (
	"math"

	"tandem/algo/unit"
)

// Sizes of x86-64 paging. An entry of a page table translates a page; an entry of the level above translates
// 512 times as much.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, 4-level paging.
const (
	smallPage  = 4 << 10
	hugePage   = 2 << 20
	tableFan   = 512 // entries of a page of a page table
	entryBytes = 8
)

// walkEntries is the number of entries of each upper level of the page tables that a core keeps beside its
// TLB, so that a walk begins below them. A hypervisor's translations are kept in as many entries.
//
// Source: Barr, Cox, Rixner, "Translation caching: skip, don't walk (the page table)", ISCA 2010; van Schaik
// et al., "RevAnC", EuroSec 2017, who measure a few to 64 entries a level.
const walkEntries = 32

// Access is the expected cost of one access to a random place of a table whose address depends on the access
// before it, such as a step of a chain.
type Access struct {
	Time  float64 // seconds
	Lines float64 // cache lines that the memory delivers
}

// Access returns the cost of one dependent access to a table of some bytes whose lines are all equally
// likely:
//
//	time = Σ_i rate_i · (hit_i · cache latency + (1 − hit_i) · memory latency)
//
// over the parts i of memory that the access may touch:
//
//   - a line of the table, at rate 1;
//   - the entry of its page, which has 8 bytes a page, at the rate of misses of the TLB,
//     1 − entries · page / table;
//   - entries of the levels above, each 512 times fewer, at that rate times 1 − 32 · span / table: a core
//     keeps 32 entries of a level, and span is the memory behind one;
//   - on a virtual host, the hypervisor's entries for the table and for each level of its page tables, in the
//     same way, where 32 entries are kept of the pages too.
//
// A part of n lines is in the cache with probability hit = 1 − exp(−T · rate / n), where the characteristic
// time T is the number of accesses after which the cache is full: Σ_i n_i · hit_i = lines of the cache. For a
// table alone, hit is cache / table. So page tables stay in the cache long after the table has left it, until
// they outgrow it too: a table of 12 TB has 24 GB of entries of pages of 4 KiB, and 47 MB of entries above
// them.
//
// Memory latency is the mean over sockets: memory is spread evenly over them. Costs with pages of 2 MiB and
// of 4 KiB are mixed in proportion to HugePageShare and HypervisorHugePageShare. The cost grows with the
// table. It is that of a cache hit if table is 0.
//
// Source: Drepper, "What every programmer should know about memory" (2007), sections 3 and 4; Basu, Gandhi,
// Chang, Hill, Swift, "Efficient virtual memory for big memory servers", ISCA 2013, on walks whose entries
// miss the cache; Bhargava, Serebrin, Spadini, Manne, ASPLOS 2008, on walks under a hypervisor; Che, Tung,
// Wang, IEEE JSAC 20 (2002) for T. Deviations: one level of cache, whose hits all take its latency, and one
// level of TLB; lookups do not overlap with walks; other work does not use the cache.
func (h *Host) Access(table unit.Bytes) Access {
	var sum Access
	for _, guest := range shares(h.HugePageShare) {
		for _, hypervisor := range shares(h.HypervisorHugePageShare) {
			share := guest.share * hypervisor.share
			a := h.access(float64(table), guest.page, hypervisor.page)
			sum.Time += float64(share * a.Time)
			sum.Lines += float64(share * a.Lines)
		}
	}
	return sum
}

// sharing is a page size and the share of memory in pages of it.
type sharing struct{ page, share float64 }

// shares returns the two page sizes of memory of which a share is in huge pages.
func shares(huge float64) [2]sharing { return [2]sharing{{smallPage, 1 - huge}, {hugePage, huge}} }

// part is memory that accesses touch at random: a number of lines, all of them together at a rate for each
// access to the table.
type part struct{ lines, rate float64 }

// access returns the cost with pages of one size, and hypervisor's pages of one size.
func (h *Host) access(table, page, hypervisor float64) Access {
	parts := []part{{table / cacheLine, 1}}
	misses := unlikely(float64(h.TLBEntries)*page, table)
	parts = appendWalk(parts, table, page, misses)
	if h.Virtual {
		kept := walkEntries * hypervisor
		for _, p := range parts[1:] {
			bytes := p.lines * cacheLine
			parts = appendWalk(parts, bytes, hypervisor, p.rate*unlikely(kept, bytes))
		}
		parts = appendWalk(parts, table, hypervisor, misses*unlikely(kept, table))
	}
	time := characteristicTime(parts, float64(h.Cache)/cacheLine)
	var a Access
	for _, p := range parts {
		a.Lines += p.rate * p.miss(time)
		a.Time += p.rate * h.CacheLatency.Seconds()
	}
	a.Time += a.Lines * (h.meanLatency() - h.CacheLatency.Seconds())
	return a
}

// appendWalk appends the levels of the page tables of a region, from the entries of its pages upwards. The
// lowest level is read at a rate, the others as far as the core does not keep their entries.
func appendWalk(parts []part, region, page, rate float64) []part {
	for level := rate; level > 0; {
		parts = append(parts, part{region / page * entryBytes / cacheLine, level})
		page *= tableFan
		level = rate * unlikely(walkEntries*page, region)
	}
	return parts
}

// unlikely returns the probability that a random place of a table is outside the part of it that is covered.
func unlikely(covered, table float64) float64 {
	if table <= covered {
		return 0
	}
	return 1 - covered/table
}

// miss returns the probability that a line of a part is not in the cache.
func (p part) miss(time float64) float64 {
	if p.lines == 0 {
		return 0
	}
	return math.Exp(-time * p.rate / p.lines)
}

// characteristicTime returns the number of accesses that fill a cache of some lines, or infinity if all parts
// fit. Cost: 200 steps of bisection at most.
func characteristicTime(parts []part, lines float64) float64 {
	all := 0.0
	for _, p := range parts {
		all += p.lines
	}
	if all <= lines {
		return math.Inf(1)
	}
	filled := func(time float64) float64 {
		sum := 0.0
		for _, p := range parts {
			if p.lines > 0 {
				sum -= p.lines * math.Expm1(-time*p.rate/p.lines)
			}
		}
		return sum
	}
	return solve(filled, lines)
}

// solve returns the x ≥ 0 at which a growing function with f(0) = 0 reaches a value, to 15 digits. The
// function must reach it at a finite x.
func solve(f func(x float64) float64, value float64) float64 {
	lo, hi := 0.0, 1.0
	for f(hi) < value && !math.IsInf(hi, 1) {
		lo, hi = hi, 2*hi
	}
	for range 60 {
		if mid := lo + (hi-lo)/2; f(mid) < value {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// meanLatency returns the latency of memory in seconds, averaged over sockets.
func (h *Host) meanLatency() float64 {
	local := h.MemoryLatency.Seconds()
	if h.Sockets <= 1 {
		return local
	}
	remote := float64(h.Sockets-1) / float64(h.Sockets)
	return local + remote*(h.RemoteLatency.Seconds()-local)
}
