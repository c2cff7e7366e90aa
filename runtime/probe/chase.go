package probe

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
	"unsafe"

	"tandem/algo/rng"
	"tandem/algo/unit"
)

// Chase reads random places of a buffer, one after the other. Every chain draws its next place from a
// generator to which it adds what it has read: the reads of a chain wait for each other, unless it asks for
// lines ahead. It shares no code with the store of embedding rows.
type Chase struct {
	Places int // of the buffer that may be read
	Stride int // bytes from one place to the next, a multiple of a cache line
	Chains int
	Ahead  bool // ask for every line, and read it one turn of all chains later
	Next   bool // with Ahead: also the line behind
}

const lineBytes = 64

// Alone returns a chase of one chain over all lines of a buffer of some bytes: every read waits for the one
// before.
func Alone(bytes unit.Bytes) Chase {
	return Chase{Places: int(bytes / lineBytes), Stride: lineBytes, Chains: 1}
}

// Together returns a chase of many chains over all lines of a buffer that asks for lines ahead, as many as a
// store of rows does: two chunks of 32.
func Together(bytes unit.Bytes) Chase {
	return Chase{Places: int(bytes/lineBytes) - 1, Stride: lineBytes, Chains: 64, Ahead: true}
}

// piecesPerRound is the number of pieces of a round.
const piecesPerRound = 16

// Undisturbed returns the lower quartile of times of equal work on a machine that has other work, too: what
// interrupts a piece only lengthens it.
func Undisturbed(times []float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)/4]
}

// Seconds returns the time of one step of one chain: the median over rounds of what Undisturbed says of some
// pieces, of some steps each. A piece should take much less than a millisecond, so that most are not
// interrupted. The buffer must hold zeros, in memory that has been touched, and begin at a cache line. It
// panics if a place would be outside.
func (c Chase) Seconds(buffer []byte, rounds, steps int) float64 {
	most := len(buffer)
	if c.Next {
		most -= lineBytes
	}
	if c.Places < 1 || c.Chains < 1 || c.Stride%lineBytes != 0 || c.Places*c.Stride > most {
		panic(fmt.Sprintf("probe: %+v in a buffer of %d bytes", c, len(buffer)))
	}
	at := make([]uint64, c.Chains)
	for i := range at {
		at[i] = rng.Mix(uint64(i) + 1)
	}
	turns := max(1, steps/c.Chains)
	c.walk(buffer, at, turns) // into the caches, what fits
	times := make([]float64, rounds)
	for i := range times {
		var pieces [piecesPerRound]float64
		for j := range pieces {
			start := time.Now()
			c.walk(buffer, at, turns)
			pieces[j] = time.Since(start).Seconds()
		}
		times[i] = Undisturbed(pieces[:]) / float64(turns*c.Chains)
	}
	slices.Sort(times)
	return times[rounds/2]
}

// The generator's factor and addend.
//
// Source: Knuth, MMIX; The Art of Computer Programming, volume 2.
const (
	factor = 6364136223846793005
	addend = 1442695040888963407
)

// walk takes a number of steps of every chain, in turns.
func (c Chase) walk(buffer []byte, at []uint64, turns int) {
	start, places, stride := unsafe.Pointer(unsafe.SliceData(buffer)), uint64(c.Places), uint64(c.Stride)
	read := func(offset uint64) uint64 { return *(*uint64)(unsafe.Add(start, offset)) }
	if !c.Ahead {
		for range turns {
			for i, x := range at {
				place, _ := bits.Mul64(x, places)
				at[i] = x*factor + addend + read(place*stride)
			}
		}
		return
	}
	asked := make([]uint64, len(at)) // a turn before
	for range turns {
		for i, x := range at {
			place, _ := bits.Mul64(x, places)
			place *= stride
			prefetch(unsafe.Add(start, place))
			sum := read(asked[i])
			if c.Next {
				prefetch(unsafe.Add(start, place+lineBytes))
				sum += read(asked[i] + lineBytes)
			}
			at[i], asked[i] = x*factor+addend+sum, place
		}
	}
}

// page is the size of a small page.
const page = 4 << 10

// TLBEntries returns the number of pages of 4 KiB that a core's TLB holds: the most, of usual numbers, whose
// reads are not yet much slower than those of fewer pages. The buffer must be of such pages, zero and
// touched, and at least TLBBuffer bytes.
//
// Each page has one line to read, at another place than in the page before, so that the lines share no set of
// the cache and fit the cache of a core.
func TLBEntries(buffer []byte) int {
	entries := []int{1024, 1536, 2048, 3072, 4096, 6144, 8192}
	most, at := 0.0, 0
	last := 0.0
	for i, n := range entries {
		step := Chase{Places: n, Stride: page + lineBytes, Chains: 1}.Seconds(buffer, 15, 1<<14)
		if i > 0 && step/last > most {
			most, at = step/last, i-1
		}
		last = step
	}
	return entries[at]
}

// TLBBuffer is the least size of the buffer of TLBEntries.
const TLBBuffer = 8192 * (page + lineBytes)
