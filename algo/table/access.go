package table

import (
	"fmt"
	"math"

	"tandem/algo/rng"
)

// Outcome counts what became of the gradient rows of an Apply. Every row has
// exactly one outcome, so the sum is the number of rows.
type Outcome struct {
	Applied   int // the row was updated
	Missing   int // there is no such row, though none is ever refused
	Refused   int // there is no such row, because admission has refused it so far
	NonFinite int // the row exists, and the gradient has a NaN or Inf
}

// mustMatch panics unless a slice has the length that the signs ask for.
func mustMatch(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("table: len(%s) = %d, want %d", name, got, want))
	}
}

// Lookup copies the embeddings of the signs into dst, creating absent rows: the
// read of training.
//
// Shapes: dst is len(signs) × Dim, row-major. Signs may repeat and come in any
// order.
//
// It panics if the lengths disagree. An error wraps ErrFull, or comes from the
// arena; the rows before the refused sign have then been created and copied,
// the rest of dst is as it was. Cost: one probe of the index and one row copy a
// sign.
func (t *Table) Lookup(signs []uint64, dst []float32) error {
	return t.lookup(signs, dst, func(uint64) bool { return true })
}

// LookupStep is the read of a training step: Lookup, but an absent row is created
// with the probability Config.Admission, and else reads as zeros. So a sign seen
// in k steps has a row with the probability 1 − (1 − Admission)^k: ids that are
// seen once take little memory.
//
// The draw is a function of seed, sign and step. All reads of a step agree on it,
// on whatever shard and in whatever order.
//
// Source: Persia's admit_probability. Deviation: Persia draws anew, without a
// seed, at every lookup.
func (t *Table) LookupStep(step int, signs []uint64, dst []float32) error {
	return t.lookup(signs, dst, func(sign uint64) bool { return t.admits(step, sign) })
}

// admits draws whether a step may create the row of a sign.
func (t *Table) admits(step int, sign uint64) bool {
	if t.config.Admission == 0 {
		return true
	}
	// Unit is below 1, so that 1 admits all.
	return float64(rng.Unit(rng.Key(t.config.Seed, "admission", sign), step)) < t.config.Admission
}

// lookup copies the rows of signs, creating those absent that are admitted.
func (t *Table) lookup(signs []uint64, dst []float32, admits func(sign uint64) bool) error {
	dim := t.config.Dim
	mustMatch("dst", len(dst), len(signs)*dim)
	var rows [chunk]int32
	for len(signs) > 0 {
		n := min(chunk, len(signs))
		t.findChunk(signs[:n], &rows)
		for i, sign := range signs[:n] {
			row := int(rows[i])
			if row < 0 {
				// A sign that repeats may have its row by now, which only an admitted one
				// can.
				if !admits(sign) {
					clear(dst[i*dim : (i+1)*dim])
					continue
				}
				var err error
				if row, err = t.findOrCreate(sign); err != nil {
					return err
				}
			}
			_, values := t.row(row)
			copy(dst[i*dim:(i+1)*dim], values)
		}
		signs, dst = signs[n:], dst[n*dim:]
	}
	return nil
}

// Peek copies the embeddings of the signs into dst and changes nothing: the
// read of evaluation. Absent rows read as zeros, as in Persia. It returns the
// number of signs without a row.
//
// Shapes and cost as Lookup. It panics if the lengths disagree.
func (t *Table) Peek(signs []uint64, dst []float32) (missing int) {
	dim := t.config.Dim
	mustMatch("dst", len(dst), len(signs)*dim)
	for i, sign := range signs {
		out := dst[i*dim : (i+1)*dim]
		row := t.find(sign, rng.Mix(sign))
		if row < 0 {
			clear(out)
			missing++
			continue
		}
		_, values := t.row(row)
		copy(out, values)
	}
	return missing
}

// Apply gives each sign's row its gradient, at a learning rate, and counts the
// outcomes. With weights the rate of each is multiplied by its own. A row changes, and its update count grows by one, only if it exists and all of its
// gradient is finite. A sign that repeats is updated once for each place, in
// order.
//
// Shapes: grads is len(signs) × Dim, row-major, and is not changed; weights is
// len(signs) or nil.
//
// It panics if the lengths disagree. Cost: one probe of the index and one
// application of the optimizer a sign.
func (t *Table) Apply(signs []uint64, grads []float32, rate float32, weights []float32) Outcome {
	dim := t.config.Dim
	mustMatch("grads", len(grads), len(signs)*dim)
	if weights != nil {
		mustMatch("weights", len(weights), len(signs))
	}
	var outcome Outcome
	var rows [chunk]int32
	for len(signs) > 0 {
		n := min(chunk, len(signs))
		t.findChunk(signs[:n], &rows)
		for i, row := range rows[:n] {
			grad := grads[i*dim : (i+1)*dim]
			switch {
			case row < 0 && t.config.Admission > 0:
				outcome.Refused++
			case row < 0:
				outcome.Missing++
			case !finite(grad):
				outcome.NonFinite++
			default:
				words, values := t.row(int(row))
				own := rate
				if weights != nil {
					own *= weights[i]
				}
				t.config.Optimizer.Apply(values[:dim:dim], values[dim:], grad, own)
				countUpdate(words)
				outcome.Applied++
			}
		}
		signs, grads = signs[n:], grads[n*dim:]
		if weights != nil {
			weights = weights[n:]
		}
	}
	return outcome
}

// UpdateCounts writes how often each sign's row has been updated, 0 for absent
// rows. Counts stay at 2³¹−1. It panics unless dst is as long as signs.
func (t *Table) UpdateCounts(signs []uint64, dst []uint32) {
	mustMatch("dst", len(dst), len(signs))
	for i, sign := range signs {
		dst[i] = 0
		if row := t.find(sign, rng.Mix(sign)); row >= 0 {
			words, _ := t.row(row)
			dst[i] = words[2] & maxUpdates
		}
	}
}

// exponent is the field of a float32 whose bits are all set in NaN and Inf.
const exponent = 0xff << 23

// finite tells whether no value is NaN or Inf.
func finite(values []float32) bool {
	for _, v := range values {
		if math.Float32bits(v)&exponent == exponent {
			return false
		}
	}
	return true
}
