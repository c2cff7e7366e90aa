package datasets

import (
	"iter"
	"math/bits"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/datasets/synth"
)

// prefixBits is the least number of bits of a sign that name the slot: enough for 255 slots, with 56
// bits left for the id. Persia's examples use the same number. Wider tables have more.
const prefixBits = 8

// Dataset is a data set in memory. Its batches are shared and must not be changed.
type Dataset struct {
	Name string
	// Schema names the columns, with the settings of job.Data.Slots. Dim is 0 in every slot,
	// because the job that trains a model decides the dimension: see WithDims.
	Schema      batch.Schema
	Train, Test *batch.Batch
	// LabelValues says what the labels are, as job.Table.LabelValues does.
	LabelValues string
	// Rows are the training rows of data that stay where they are until they are needed, for
	// which Train is empty: generated ones with job.Synthetic.Stream, those of a file with
	// job.Data.Stream. It is nil for all other data.
	Rows RowSource
	// Latest reports that the test rows are the last rows of a file, later in time than Train if the file
	// is in the order of time.
	Latest bool
	// Scaling standardised each numeric column of Schema.Dense. The last ones are those of job.Data.Means.
	Scaling []batch.Scaling
	means   meanColumns
	// TestProbability is the true probability of label 1, test rows × labels. It is known for
	// synthetic data, and nil for all others. No model can reach a better AUC or log loss in
	// expectation than these probabilities.
	TestProbability []float64
	// Provenance is the origin of the rows, in one line.
	Provenance string
	// DroppedRows is the number of bad rows that were skipped, in all files together, and
	// BadRows are the first few of them.
	DroppedRows int
	BadRows     []*BadRowError
	// Notes are problems that change no row, one line each: cached columns that could not be
	// used, or columns that could not be cached.
	Notes []string
}

// RowSource has rows that are made or read when they are asked for. It is safe for concurrent
// use.
type RowSource interface {
	// Samples returns the number of rows.
	Samples() int
	// IsList reports whether a row of a slot can have no ids, or several.
	IsList(slot int) bool
	// Between returns the rows lo to hi−1.
	Between(lo, hi int) (*batch.Batch, error)
	// Gather returns the rows of these numbers, in this order.
	Gather(numbers []int32) (*batch.Batch, error)
}

// generated are the rows of a generator, which never fails.
type generated struct{ *synth.Rows }

// rowsOf returns the rows of a generator as a RowSource, nil if there are none.
func rowsOf(rows *synth.Rows) RowSource {
	if rows == nil {
		return nil
	}
	return generated{rows}
}

// Between implements RowSource.
func (g generated) Between(lo, hi int) (*batch.Batch, error) { return g.Rows.Between(lo, hi), nil }

// Gather implements RowSource.
func (g generated) Gather(numbers []int32) (*batch.Batch, error) { return g.Rows.Gather(numbers), nil }

// TrainRows returns the number of training rows, in memory or not.
func (d *Dataset) TrainRows() int {
	if d.Rows != nil {
		return d.Rows.Samples()
	}
	return d.Train.Samples
}

// TrainChunks returns the training rows in their order, some thousands at a time, in memory or
// not. It ends with the first error.
func (d *Dataset) TrainChunks() iter.Seq2[*batch.Batch, error] {
	const rows = 1 << 14
	return func(yield func(*batch.Batch, error) bool) {
		if d.Rows == nil {
			yield(d.Train, nil)
			return
		}
		for lo := 0; lo < d.Rows.Samples(); lo += rows {
			chunk, err := d.Rows.Between(lo, min(lo+rows, d.Rows.Samples()))
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// InMemory returns d with all of its training rows in memory, for what needs them all at once.
func (d *Dataset) InMemory() (*Dataset, error) {
	if d.Rows == nil {
		return d, nil
	}
	all := *d
	var err error
	all.Train, err = d.Rows.Between(0, d.Rows.Samples())
	all.Rows = nil
	return &all, err
}

// WithDims returns a copy of schema in which the embedding rows of every slot have the length and the class
// that the job gives them: by the slot's setting, or as all others. The argument is not changed.
func WithDims(schema batch.Schema, j *job.Job) batch.Schema {
	schema = WithDim(schema, j.Model.Dim())
	for _, own := range j.SlotRows() {
		for i := range schema.Slots {
			if schema.Slots[i].Name == own.Name {
				schema.Slots[i].Dim, schema.Slots[i].Class = own.Dim, own.Class
			}
		}
	}
	return schema
}

// WithDim returns a copy of schema in which the embedding rows of every slot have length dim.
// The argument is not changed. It panics if dim < 1.
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
// rng.Mix, because FNV mixes the upper bits of short texts poorly. The empty text, a missing
// value, has an id like any other.
//
// Among n distinct values, the probability of a collision is about n²/2⁶⁵: below 10⁻⁵ for ten
// million values.
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
		PrefixBits: max(prefixBits, bits.Len(uint(len(slots)))),
	}
	for i, name := range slots {
		schema.Slots[i].Name = name
	}
	return schema
}
