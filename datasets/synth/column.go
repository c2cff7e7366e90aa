package synth

import (
	"slices"

	"tandem/algo/job"
	"tandem/algo/rng"
)

// BlankID is the id of missing values: that of an empty field in a file, which package datasets
// computes as the 64-bit FNV-1a of the empty text, mixed.
var BlankID = rng.Mix(0xcbf29ce484222325)

// column draws the ids of one column.
type column struct {
	distribution Distribution
	meanIDs      float64 // mean number of ids per row
	scatter      uint64  // key that maps identities to ids

	// The following are only used with job.SyntheticColumn.Coverage.
	coverage      *Coverage
	blank         int64     // rank of the missing value; 0: none is missing in other columns too
	blanks        uint64    // key of the latent values that decide which rows are blank
	before, share float64   // shares of the ranks below blank, and of blank
	tie           uint64    // key of the latent values of tied columns
	strength      float64   // probability of following them; 0: not tied
	chain         []*column // the tied columns before this one

	drift  float64 // share of the ids replaced each day
	phases uint64  // key of the times at which they are
}

// newColumns returns the columns of a resolved spec.
func newColumns(spec job.Synthetic) []*column {
	var columns []*column
	byName := map[string]*column{}
	for i, c := range spec.Columns {
		this := &column{
			distribution: NewDistribution(c), meanIDs: c.MeanIDs(), drift: c.Drift,
			scatter: rng.Key(spec.Seed, "synthetic ids", uint64(i)),
			phases:  rng.Key(spec.Seed, "synthetic phases", uint64(i)),
		}
		this.coverage, _ = this.distribution.(*Coverage)
		columns, byName[c.Name] = append(columns, this), this
	}
	for i, tie := range spec.Ties {
		var chain []*column
		for _, name := range tie.Columns {
			this := byName[name]
			this.tie, this.strength = rng.Key(spec.Seed, "synthetic tie", uint64(i)), tie.Resolved()
			this.chain = chain[:len(chain):len(chain)]
			chain = append(chain, this)
		}
	}
	for i, names := range spec.Blanks {
		for _, name := range names {
			this := byName[name]
			at := slices.IndexFunc(spec.Columns, func(c job.SyntheticColumn) bool { return c.Name == name })
			this.blank = spec.Columns[at].Blank
			this.blanks = rng.Key(spec.Seed, "synthetic blanks", uint64(i))
			this.before = this.coverage.Share(this.blank - 1)
			this.share = this.coverage.Share(this.blank) - this.before
		}
	}
	return columns
}

// draw draws the rank of id k of a row. Calls for the columns of a tie, in their order, share a walk.
func (c *column) draw(part, row, k int, stream *stream, w *walk) int64 {
	if c.blank == 0 && c.strength == 0 {
		return c.distribution.Rank(stream.Rand)
	}
	if c.blank > 0 && latent(c.blanks, part, row, k) < c.share {
		return c.blank
	}
	if c.strength < 1 && !(c.strength > 0 && stream.Float64() < c.strength) {
		return c.quantile(stream.Float64())
	}
	return c.quantile(w.reach(c, part, row, k))
}

// walk carries the latent value of an id through the columns of a tie: each passes on the middle of the
// quantiles that have its rank. It keeps the last value, because the next column continues from there.
type walk struct {
	row, k int
	passed int // columns
	value  float64
}

// newWalk returns a walk that has not begun.
func newWalk() walk { return walk{row: -1} }

// reach returns the value at a column for id k of a row.
func (w *walk) reach(c *column, part, row, k int) float64 {
	if w.row != row || w.k != k {
		*w = walk{row: row, k: k, value: latent(c.tie, part, row, k)}
	}
	for _, before := range c.chain[w.passed:] {
		w.value = before.center(before.quantile(w.value))
	}
	w.passed = len(c.chain)
	return w.value
}

// quantile returns the rank at a quantile of the ids other than the blank.
func (c *column) quantile(u float64) int64 {
	if c.blank > 0 {
		if u *= 1 - c.share; u >= c.before {
			u += c.share
		}
	}
	return c.coverage.Quantile(u)
}

// center returns the middle of the quantiles that have a rank.
func (c *column) center(rank int64) float64 {
	middle := (c.coverage.Share(rank-1) + c.coverage.Share(rank)) / 2
	if c.blank > 0 {
		if rank > c.blank {
			middle -= c.share
		}
		middle /= 1 - c.share
	}
	return min(middle, 1-1e-16)
}

// latent returns a value that several columns share, uniform in [0, 1).
func latent(key uint64, part, row, k int) float64 {
	bits := rng.Mix(rng.Mix(key+uint64(part)) + uint64(row)*gamma)
	return float64(rng.Mix(bits+uint64(k)*gamma)>>11) * (1.0 / (1 << 53))
}

// identity returns the rank with, above rankBits, the number of ids that had it before a day.
// The ids of a column change at different times, all of them every 1/drift days.
func (c *column) identity(rank int64, day int) int64 {
	if rank == c.blank {
		return rank
	}
	phase := float64(rng.Unit(c.phases+uint64(rank), 0))
	return rank + int64(float64(float64(day)*c.drift)+phase)<<rankBits
}

// id returns the id of an identity: 64 scattered bits. Mix is a bijection, so different
// identities have different ids.
func (c *column) id(identity int64) uint64 {
	if c.blank > 0 && identity == c.blank {
		return BlankID
	}
	return rng.Mix(c.scatter + uint64(identity))
}

// clock tells the day of a row. The test rows follow the training rows.
type clock struct {
	rowsPerDay      int // 0: there is one day
	train, testRows int
}

func newClock(spec job.Synthetic) clock { return clock{spec.RowsPerDay, spec.TrainRows, spec.TestRows} }

// day returns the day of a row, from 0. The rows of the pilot are spread over all days.
func (c clock) day(part, row int) int {
	if c.rowsPerDay == 0 {
		return 0
	}
	switch part {
	case partTest:
		row += c.train
	case partPilot:
		row = row * ((c.train + c.testRows) / pilotRows)
	}
	return row / c.rowsPerDay
}
