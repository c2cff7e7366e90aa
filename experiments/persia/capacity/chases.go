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
	Memory device.Host    `json:"-"` // that explains them best; the simulated times follow from it
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
		c.Memory, err = device.FitMemory(h, c.Chases)
	}
	return c, err
}

// nextLine returns the time of the line that follows another, relative to that of the first.
func nextLine(b *buffer, size unit.Bytes) float64 {
	one := probe.Together(size)
	two := one
	two.Next = true
	first := one.Seconds(b.memory, chaseRounds, chaseSteps)
	return min(max(two.Seconds(b.memory, chaseRounds, chaseSteps)/first-1, 0), 1)
}

// virtual reports whether the system says that it runs on a hypervisor.
func virtual() bool {
	text, _ := os.ReadFile("/proc/cpuinfo") // no file: it does not say
	_, flags, _ := strings.Cut(string(text), "\nflags")
	flags, _, _ = strings.Cut(flags, "\n")
	return slices.Contains(strings.Fields(flags), "hypervisor")
}
