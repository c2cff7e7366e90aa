package device

import (
	"fmt"
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
//     1 − entries · page / table. On a virtual host an entry of the TLB translates the smaller of the page
//     and the hypervisor's page;
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
// miss the cache; Bhargava, Serebrin, Spadini, Manne, ASPLOS 2008, on walks under a hypervisor; Pham, Veselý,
// Loh, Bhattacharjee, "Using TLB speculation to overcome page splintering in virtual machines" (2015), on
// entries of the TLB under one; Che, Tung, Wang, IEEE JSAC 20 (2002) for T. Deviations: one level of cache,
// whose hits all take its latency, and one level of TLB; lookups do not overlap with walks; other work does
// not use the cache.
func (h *Host) Access(table unit.Bytes) Access {
	t := h.touch([]Region{{Bytes: table, Touches: 1}}, h.Cache)
	c, m := h.CacheLatency.Seconds(), h.meanLatency()
	return Access{t.hits()*c + t.lines()*m, t.lines()}
}

// Region is a part of a table that an access to a row touches at random places.
type Region struct {
	Bytes   unit.Bytes
	Touches float64 // places that an access to a row touches, such as one
	Next    float64 // lines behind the first of a place that are asked for with it, in the mean over places
	// Behind is the number of lines behind the first that are only known to be needed when the first has been
	// read, in the mean over places, such as the next group of an index.
	Behind float64
	Write  bool // lines are written back
}

// RowTime returns the seconds for which one core waits for memory at a row, if it asks for the places of
// many rows before it needs them, as a store does that knows the rows of a batch in advance:
//
//	time = max(memory latency / lines in flight · moved, walks / walks in flight) + behind
//
// Moved are the lines of the regions that come from memory, by the law of Access for all regions together and
// a cache of CacheTogether, and once more those that are written back. A line of Region.Next comes with its
// neighbour and counts only as NextLine. Walks is the time of the dependent reads of page tables. A core has
// at most this number of lines and walks under way, so by Little's law each takes its part of the latency;
// both go on at the same time. Hits in the cache are hidden. Behind is the time of the lines of
// Region.Behind, for which the core waits; their page has been translated. Regions share the TLB and the
// entries that a core keeps in proportion to their touches.
//
// It panics unless LinesInFlight and WalksInFlight are above 0.
//
// Source: Little, Operations Research 9 (1961).
func (h *Host) RowTime(regions ...Region) float64 {
	if !(h.LinesInFlight > 0 && h.WalksInFlight > 0) {
		panic(fmt.Sprintf("device: %s has %v lines and %v walks in flight; want more than 0", h.Name,
			h.LinesInFlight, h.WalksInFlight))
	}
	t := h.touch(regions, h.CacheTogether)
	c, m := h.CacheLatency.Seconds(), h.meanLatency()
	return max(m/h.LinesInFlight*(t.data.lines+h.NextLine*t.further+t.written),
		(t.walk.hits*c+t.walk.lines*m)/h.WalksInFlight) + t.behind.hits*c + t.behind.lines*m
}

// reads are the lines that an access reads: from the cache and from memory.
type reads struct{ hits, lines float64 }

// touched is what an access reads of the table and of page tables. Data has the first lines of places,
// further those from memory of Region.Next, behind those of Region.Behind. Written are lines, as many first
// ones as take the same time.
type touched struct {
	data, walk, behind reads
	further, written   float64
}

func (t *touched) hits() float64  { return t.data.hits + t.walk.hits }
func (t *touched) lines() float64 { return t.data.lines + t.walk.lines }

func (r *reads) add(share float64, o reads) {
	r.hits += float64(share * o.hits)
	r.lines += float64(share * o.lines)
}

// add adds a share of what another access reads.
func (t *touched) add(share float64, o touched) {
	t.data.add(share, o.data)
	t.walk.add(share, o.walk)
	t.behind.add(share, o.behind)
	t.further += float64(share * o.further)
	t.written += float64(share * o.written)
}

// touch returns what one access to each of some regions reads through a cache, over both sizes of pages.
func (h *Host) touch(regions []Region, cache unit.Bytes) (sum touched) {
	for _, guest := range shares(h.HugePageShare) {
		for _, hypervisor := range shares(h.HypervisorHugePageShare) {
			if share := guest.share * hypervisor.share; share > 0 {
				sum.add(share, h.touchPages(regions, cache, guest.page, hypervisor.page))
			}
		}
	}
	return sum
}

// sharing is a page size and the share of memory in pages of it.
type sharing struct{ page, share float64 }

// shares returns the two page sizes of memory of which a share is in huge pages.
func shares(huge float64) [2]sharing { return [2]sharing{{smallPage, 1 - huge}, {hugePage, huge}} }

// part is memory that accesses touch at random: a number of lines, all of them together at a rate for each
// access to the table, of which next and behind are lines of Region.Next and Region.Behind. It is the
// table's or of page tables.
type part struct {
	lines, rate, next, behind float64
	walk, write               bool
}

// touchPages is touch with pages of one size, and hypervisor's pages of one size.
func (h *Host) touchPages(regions []Region, cache unit.Bytes, page, hypervisor float64) (t touched) {
	all := 0.0
	for _, r := range regions {
		all += r.Touches
	}
	var parts []part
	for _, r := range regions {
		parts = h.appendRegion(parts, r, r.Touches/all, page, hypervisor)
	}
	time := characteristicTime(parts, float64(cache)/cacheLine)
	for _, p := range parts {
		of := &t.data
		if p.walk {
			of = &t.walk
		}
		first, miss := p.rate-p.next-p.behind, p.miss(time)
		of.add(1, reads{first * (1 - miss), first * miss})
		t.behind.add(1, reads{p.behind * (1 - miss), p.behind * miss})
		t.further += p.next * miss
		if p.write {
			t.written += (first + h.NextLine*p.next) * miss
		}
	}
	return t
}

// appendRegion appends a region and the page tables behind it. It has a share of the TLB, and of the entries
// of page tables that the core keeps.
func (h *Host) appendRegion(parts []part, r Region, share, page, hypervisor float64) []part {
	bytes := float64(r.Bytes)
	next, behind := r.Touches*r.Next, r.Touches*r.Behind
	parts = append(parts, part{lines: bytes / cacheLine, rate: r.Touches + next + behind, next: next,
		behind: behind, write: r.Write})
	translated := page // by an entry of the TLB
	if h.Virtual {
		translated = min(page, hypervisor)
	}
	entries := share * walkEntries
	misses := r.Touches * unlikely(share*float64(h.TLBEntries)*translated, bytes)
	own := len(parts)
	parts = appendWalk(parts, bytes, page, misses, entries)
	if !h.Virtual {
		return parts
	}
	kept := entries * hypervisor
	for _, p := range parts[own:] {
		bytes := p.lines * cacheLine
		parts = appendWalk(parts, bytes, hypervisor, p.rate*unlikely(kept, bytes), entries)
	}
	return appendWalk(parts, bytes, hypervisor, misses*unlikely(kept, bytes), entries)
}

// appendWalk appends the levels of the page tables of a region, from the entries of its pages upwards. The
// lowest level is read at a rate, the others as far as they are not among the entries that the core keeps of
// a level.
func appendWalk(parts []part, region, page, rate, entries float64) []part {
	for level := rate; level > 0; {
		parts = append(parts, part{lines: region / page * entryBytes / cacheLine, rate: level, walk: true})
		page *= tableFan
		level = rate * unlikely(entries*page, region)
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
