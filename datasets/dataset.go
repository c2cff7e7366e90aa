// Package datasets turns files and generators into the batches that a run
// trains on and is evaluated on.
//
// Open reads a whole data set into memory, column by column. Readers stream
// underneath: a file is decompressed and cut into blocks of whole rows, which all
// processors decode; only ids, numbers and labels are kept. NewSource then deals
// the training rows out as global batches.
//
// # Ids
//
// A category becomes a 64-bit hash of its text (CategoryID), never an index
// into a vocabulary, so train, test and tomorrow's file agree on ids without
// sharing anything. The prefix that tells slots apart is added later, when ids
// become signs.
//
// # Numbers
//
// Numeric columns are standardised with the mean and standard deviation of the
// training rows; the same constants are applied to the test rows and recorded
// in Dataset.Scaling.
package datasets

import (
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// prefixBits is the number of sign bits that name the slot: room for 255
// slots, which leaves 56 bits for the id. Persia's examples use the same.
const prefixBits = 8

// Dataset is a data set in memory. Its batches are shared, never copied, and
// must not be changed.
type Dataset struct {
	Name string
	// Schema names the columns, with the settings of job.Data.Slots. Every slot has
	// Dim 0, because the model decides the dimension: see WithDim.
	Schema      batch.Schema
	Train, Test *batch.Batch
	// Scaling is what standardised each numeric column, one per Schema.Dense.
	Scaling []Scaling
	// TestProbability is the true probability of a positive label of each test
	// row, test rows × labels, known for synthetic data only; nil otherwise. AUC and log loss of
	// these numbers are the best that any model can reach in expectation.
	TestProbability []float64
	// Provenance says in one line where the rows come from.
	Provenance string
	// DroppedRows counts the bad rows that were skipped, in all files together,
	// and BadRows are the first few of them.
	DroppedRows int
	BadRows     []*BadRowError
	// Notes are what happened on the way that changes no row, one line each: kept
	// columns that could not be used, or could not be kept.
	Notes []string
}

// WithDim returns a copy of schema in which every slot has embedding rows of
// length dim. The argument is not changed. It panics if dim < 1.
func WithDim(schema batch.Schema, dim int) batch.Schema {
	if dim < 1 {
		panic("datasets: WithDim: dim must be at least 1")
	}
	schema.Slots = slices.Clone(schema.Slots)
	for i := range schema.Slots {
		schema.Slots[i].Dim = dim
	}
	return schema
}

// CategoryID returns the id of a category: 64-bit FNV-1a of its bytes, then
// rng.Mix, because FNV leaves the upper bits of short texts poorly mixed. The
// empty text, a missing value, has an id like any other.
//
// With n distinct values two of them collide with probability of about
// n²/2⁶⁵: below 10⁻⁵ for ten million.
func CategoryID[T string | []byte](value T) uint64 {
	h := uint64(fnvBasis)
	for i := 0; i < len(value); i++ {
		h = (h ^ uint64(value[i])) * fnvPrime
	}
	return rng.Mix(h)
}

// The constants of 64-bit FNV-1a.
const (
	fnvBasis = 0xcbf29ce484222325
	fnvPrime = 0x100000001b3
)

// newSchema returns a schema of Sum slots.
func newSchema(slots, dense []string, labels ...string) batch.Schema {
	schema := batch.Schema{
		Slots:      make([]batch.Slot, len(slots)),
		Dense:      slices.Clone(dense),
		Labels:     slices.Clone(labels),
		PrefixBits: prefixBits,
	}
	for i, name := range slots {
		schema.Slots[i].Name = name
	}
	return schema
}
