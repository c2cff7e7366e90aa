package synth

import (
	"math/rand/v2"

	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// gamma is the increment of SplitMix64.
const gamma = 0x9e3779b97f4a7c15

// Rows generates training rows, each from the seed and its number alone, whenever they are asked
// for. It is immutable and safe for concurrent use.
//
// Cost: a few microseconds per row of Criteo's columns and core, and a setup of about a
// microsecond per column and call. Memory: the rows that it returns.
type Rows struct {
	generator *generator
	samples   int
}

// Samples returns the number of training rows.
func (r *Rows) Samples() int { return r.samples }

// IsList reports whether a row of a column can have no ids, or several.
func (r *Rows) IsList(column int) bool { return r.generator.columns[column].meanIDs != 1 }

// Between returns the rows lo to hi−1.
func (r *Rows) Between(lo, hi int) *batch.Batch {
	b, _ := r.generator.generate(partTrain, rowRange{first: lo, count: hi - lo})
	return b
}

// Gather returns the rows of these numbers, in this order.
func (r *Rows) Gather(rows []int32) *batch.Batch {
	b, _ := r.generator.generate(partTrain, rowRange{list: rows, count: len(rows)})
	return b
}

// rowRange is the numbers of some rows: those of list, or count of them from first.
type rowRange struct {
	list         []int32
	first, count int
}

func (r rowRange) at(i int) int {
	if r.list != nil {
		return int(r.list[i])
	}
	return r.first + i
}

// slice returns the rows from lo to hi−1 of these rows.
func (r rowRange) slice(lo, hi int) rowRange {
	if r.list != nil {
		return rowRange{list: r.list[lo:hi], count: hi - lo}
	}
	return rowRange{first: r.first + lo, count: hi - lo}
}

// stream draws random numbers row by row. An addressable stream can continue at any row, whose
// numbers depend on nothing else; any other is at the row after the last one.
type stream struct {
	*rand.Rand
	key    uint64
	source *splitMix // nil: not addressable
}

func newStream(addressable bool, seed uint64, purpose string, ids ...uint64) *stream {
	if !addressable {
		return &stream{Rand: rng.New(seed, purpose, ids...)}
	}
	source := &splitMix{}
	return &stream{Rand: rand.New(source), key: rng.Key(seed, purpose+" by row", ids...), source: source}
}

// seek continues an addressable stream at a row.
func (s *stream) seek(row int) {
	if s.source != nil {
		s.source.state = rng.Mix(s.key + uint64(row)*gamma)
	}
}

// splitMix is the generator of Steele, Lea, Flood, OOPSLA 2014.
type splitMix struct{ state uint64 }

// Uint64 returns the next 64 bits.
func (s *splitMix) Uint64() uint64 {
	s.state += gamma
	return rng.Mix(s.state)
}
