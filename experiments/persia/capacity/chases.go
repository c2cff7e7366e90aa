package capacity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tandem/algo/unit"
	"tandem/experiments/internal/report"
	"tandem/runtime/memory"
	"tandem/runtime/probe"
	"tandem/sim/device"
)

// What chases measure. A piece of chaseSteps reads takes a fifth of a millisecond.
const (
	chaseSteps  = 1 << 14
	chaseRounds = 11
	leastChase  = 8 << 20
)

// buffer is zero memory that has been touched.
type buffer struct {
	arena  *memory.Arena
	memory []byte
	huge   float64 // the share in huge pages
}

// newBuffer returns a buffer of some bytes, whose arena the caller closes.
func newBuffer(size unit.Bytes, small bool) (*buffer, error) {
	b := &buffer{arena: &memory.Arena{SmallPages: small}}
	var err error
	if b.memory, err = b.arena.Slab(int(size)); err != nil {
		return nil, err
	}
	for i := 0; i < len(b.memory); i += 4096 {
		b.memory[i] = 0
	}
	if b.huge, err = hugeShare(b.arena); err != nil {
		return nil, errors.Join(err, b.arena.Close())
	}
	return b, nil
}

// hugeShare returns the share of the memory in huge pages.
func hugeShare(a *memory.Arena) (float64, error) {
	use, err := a.Use()
	return float64(use.Huge) / max(1, float64(use.Resident)), err
}

// chased is what chases say about this machine's memory.
type chased struct {
	Chases []device.Chase `json:"chases"`
	Memory fittedMemory   `json:"memory"`
	fit    device.Host
}

// fittedMemory is the machine that explains the chases best, in numbers for people.
type fittedMemory struct {
	MemoryNS        float64 `json:"memory_ns"`
	CacheNS         float64 `json:"cache_ns"`
	CacheBytes      float64 `json:"cache_bytes"`
	CacheTogether   float64 `json:"cache_together_bytes"`
	LastCacheBytes  float64 `json:"last_level_cache_bytes"` // as the system reports it; 0: it does not
	TLBEntries      int     `json:"tlb_entries"`
	Virtual         bool    `json:"virtual"`
	HypervisorHuge  float64 `json:"hypervisor_huge_page_share"`
	LinesInFlight   float64 `json:"lines_in_flight"`
	WalksInFlight   float64 `json:"walks_in_flight"`
	NextLine        float64 `json:"next_line"`
	WorstAlone      float64 `json:"worst_error_alone"` // of the law on the chases themselves
	WorstTogether   float64 `json:"worst_error_together"`
	TogetherCompare int     `json:"chases_compared_together"`
}

// chase measures this machine's memory with chases through buffers of small and of huge pages of up to some
// bytes. What comes of a following line is measured at the size of reference.
func chase(ctx context.Context, small, huge, reference unit.Bytes, m *report.Meter) (*chased, error) {
	c := &chased{}
	h := device.Host{Name: "this-machine", Sockets: 1, Virtual: virtual()}
	through := func(most unit.Bytes, smallPages bool) (err error) {
		b, err := newBuffer(most, smallPages)
		if err != nil {
			return fmt.Errorf("capacity: chases: %w", err)
		}
		defer func() { err = errors.Join(err, b.arena.Close()) }()
		if smallPages {
			h.TLBEntries = probe.TLBEntries(b.memory)
		} else {
			h.NextLine = nextLine(b, min(reference, most))
		}
		var sizes []unit.Bytes // each twice the one before
		for size := unit.Bytes(leastChase); size < most; size *= 2 {
			sizes = append(sizes, size)
		}
		sizes = append(sizes, most)
		for i, size := range sizes {
			if err := ctx.Err(); err != nil {
				return err
			}
			m.Show(i, len(sizes), fmt.Sprintf("chasing through %v", size))
			c.Chases = append(c.Chases, device.Chase{Bytes: size, HugePageShare: b.huge,
				Alone:    probe.Alone(size).Seconds(b.memory, chaseRounds, chaseSteps/8),
				Together: probe.Together(size).Seconds(b.memory, chaseRounds, chaseSteps)})
		}
		m.Done++
		return nil
	}
	err := through(small, true)
	if err == nil {
		err = through(huge, false)
	}
	if err == nil {
		c.fit, err = device.FitMemory(h, c.Chases)
	}
	if err != nil {
		return nil, err
	}
	c.describe()
	return c, nil
}

// nextLine returns the time of the line that follows another, relative to that of the first.
func nextLine(b *buffer, size unit.Bytes) float64 {
	one := probe.Together(size)
	two := one
	two.Next = true
	first := one.Seconds(b.memory, chaseRounds, chaseSteps)
	return min(max(two.Seconds(b.memory, chaseRounds, chaseSteps)/first-1, 0), 1)
}

// describe fills in Memory: the fit, and how far the law is from the chases that it was fitted to.
func (c *chased) describe() {
	h := c.fit
	c.Memory = fittedMemory{
		MemoryNS: 1e9 * h.MemoryLatency.Seconds(), CacheNS: 1e9 * h.CacheLatency.Seconds(),
		CacheBytes: float64(h.Cache), CacheTogether: float64(h.CacheTogether), LastCacheBytes: lastCache(),
		TLBEntries: h.TLBEntries, Virtual: h.Virtual, HypervisorHuge: h.HypervisorHugePageShare,
		LinesInFlight: h.LinesInFlight, WalksInFlight: h.WalksInFlight, NextLine: h.NextLine,
	}
	for _, chase := range c.Chases {
		h.HugePageShare = chase.HugePageShare
		alone := h.Access(chase.Bytes).Time/chase.Alone - 1
		c.Memory.WorstAlone = max(c.Memory.WorstAlone, alone, -alone)
		if chase.Bytes >= 4*h.CacheTogether {
			together := h.RowTime(device.Region{Bytes: chase.Bytes, Touches: 1})/chase.Together - 1
			c.Memory.WorstTogether = max(c.Memory.WorstTogether, together, -together)
			c.Memory.TogetherCompare++
		}
	}
}

// virtual reports whether the system says that it runs on a hypervisor.
func virtual() bool {
	text, _ := os.ReadFile("/proc/cpuinfo") // no file: it does not say
	_, flags, _ := strings.Cut(string(text), "\nflags")
	flags, _, _ = strings.Cut(flags, "\n")
	return slices.Contains(strings.Fields(flags), "hypervisor")
}

// lastCache returns the size of the largest cache that the system reports for a core; 0: it reports none.
func lastCache() float64 {
	most := 0
	for i := range 8 {
		text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu0/cache/index%d/size", i))
		if err != nil {
			break
		}
		kilobytes := 0
		if n, _ := fmt.Sscanf(string(text), "%dK", &kilobytes); n == 1 {
			most = max(most, kilobytes<<10)
		}
	}
	return float64(most)
}
