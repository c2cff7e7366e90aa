package datasets

import (
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/order"
)

// Source returns the rows of a batch as the global batches of a training run. It implements
// batch.Source and is safe for concurrent use.
type Source struct {
	schema      batch.Schema
	rows        rows
	globalBatch int
	epochs      int
	order       order.Order // nil: the order of the data
}

// rows are the training rows of a source: a batch in memory, or a RowSource.
type rows interface {
	Samples() int
	Between(lo, hi int) (*batch.Batch, error)
	Gather(numbers []int32) (*batch.Batch, error)
}

// inMemory are the rows of a batch.
type inMemory struct {
	all      *batch.Batch
	gatherer *batch.Gatherer
}

func (m inMemory) Samples() int { return m.all.Samples }

func (m inMemory) Between(lo, hi int) (*batch.Batch, error) { return batch.Slice(m.all, lo, hi), nil }

func (m inMemory) Gather(numbers []int32) (*batch.Batch, error) { return m.gatherer.Rows(numbers), nil }

// stepsAhead is the number of batches that TrainingSource reads ahead. One is not enough,
// because a batch that begins a window or an epoch takes longer to read.
const stepsAhead = 4

// TrainingSource returns the training rows as the global batches of a job: in the order
// and for the epochs that the job sets, read ahead.
func TrainingSource(data *Dataset, j *job.Job) (*ReadAhead, error) {
	schema := WithDims(data.Schema, j)
	t := &j.Training
	var source *Source
	var err error
	if data.Rows == nil {
		source, err = NewSource(schema, data.Train, t.GlobalBatch, t.Epochs, nil)
	} else {
		source, err = newSource(schema, data.Rows, t.GlobalBatch, t.Epochs)
	}
	if err != nil {
		return nil, err
	}
	if t.Shuffle {
		source.shuffle(t.Seed, data.window(t.ShuffleWindow))
	}
	return NewReadAhead(source, stepsAhead), nil
}

// NewSource returns a source of epochs passes over the rows of train in global
// batches of globalBatch samples. Each epoch visits every row once, in an order drawn from
// (*shuffleSeed, epoch), or in the order of train if shuffleSeed is nil. The last batch of an
// epoch is short if globalBatch does not divide the rows; no batch spans two epochs.
//
// The source reads train, which must not change. It returns an error if a count is below 1,
// there are more than 2³¹−1 steps, a slot of the schema has no dimension, train does not
// have the columns of the schema, or the weights of its ids cannot be used (batch.Schema.CheckWeights).
//
// Memory, with shuffling: 4 bytes per row for each of two epoch orders.
func NewSource(schema batch.Schema, train *batch.Batch, globalBatch, epochs int, shuffleSeed *uint64) (
	*Source, error) {
	if err := checkColumns(&schema, train); err != nil {
		return nil, fmt.Errorf("datasets: source: %w", err)
	}
	s, err := newSource(schema, inMemory{train, batch.NewGatherer(train)}, globalBatch, epochs)
	if err == nil && shuffleSeed != nil {
		s.shuffle(*shuffleSeed, 0)
	}
	return s, err
}

// newSource returns a source in the order of the rows.
func newSource(schema batch.Schema, train rows, globalBatch, epochs int) (*Source, error) {
	if globalBatch < 1 || epochs < 1 {
		return nil, fmt.Errorf("datasets: source: global batch %d, epochs %d: both must be at least 1",
			globalBatch, epochs)
	}
	s := &Source{schema: schema, rows: train, globalBatch: globalBatch, epochs: epochs}
	if s.Steps() > math.MaxInt32 { // as roles count
		return nil, fmt.Errorf("datasets: source: %d epochs of %d steps: must be at most %d steps in all: "+
			"train fewer epochs, or larger batches", epochs, s.stepsPerEpoch(), math.MaxInt32)
	}
	return s, nil
}

// shuffle sets the order of NewWindowedSource, or that of NewSource if window is 0.
func (s *Source) shuffle(seed uint64, window int) {
	if window == 0 {
		s.order = order.NewFull(s.rows.Samples(), seed)
	} else {
		s.order = order.NewWindowed(s.rows.Samples(), window, seed)
	}
}

// NewWindowedSource is NewSource with an order that reads only few places of the data at a
// time, for rows that do not fit in memory. The data are cut into blocks of window/64 rows,
// rounded up. Each epoch visits the blocks in an order drawn from (seed, epoch), 64 blocks at a
// time, and the rows of these 64 blocks in a random order, so a run reads in 64 places at any
// time. A row is followed by a row of its own block in about one of 64 cases. Window must be at
// least 1; with a window of all rows, the order is as good as that of NewSource.
//
// Memory: 4 bytes per row for each of two windows, and 4 bytes per block.
func NewWindowedSource(schema batch.Schema, train *batch.Batch, globalBatch, epochs int, seed uint64,
	window int) (*Source, error) {
	if window < 1 {
		return nil, fmt.Errorf("datasets: source: window of %d rows: must be at least 1", window)
	}
	s, err := NewSource(schema, train, globalBatch, epochs, nil)
	if err == nil {
		s.shuffle(seed, window)
	}
	return s, err
}

// checkColumns returns an error unless b has at least one sample and the columns of schema.
func checkColumns(schema *batch.Schema, b *batch.Batch) error {
	if b.Samples < 1 {
		return ErrNoRows
	}
	if len(b.Slots) != len(schema.Slots) {
		return fmt.Errorf("%d id columns, schema has %d slots", len(b.Slots), len(schema.Slots))
	}
	for i, slot := range schema.Slots {
		if slot.Dim < 1 {
			return fmt.Errorf("slot %q has dimension %d: set it with WithDim", slot.Name, slot.Dim)
		}
		if n := len(b.Slots[i].Offsets); n != b.Samples+1 {
			return fmt.Errorf("slot %q has %d offsets, want %d", slot.Name, n, b.Samples+1)
		}
	}
	if got, want := len(b.Dense), b.Samples*len(schema.Dense); got != want {
		return fmt.Errorf("%d dense values, want %d", got, want)
	}
	if got, want := len(b.Labels), b.Samples*len(schema.Labels); got != want {
		return fmt.Errorf("%d labels, want %d", got, want)
	}
	if got := len(b.Weights); b.Weights != nil && got != b.Samples {
		return fmt.Errorf("%d weights, want %d", got, b.Samples)
	}
	return schema.CheckWeights(b.Slots)
}

// Schema describes every batch.
func (s *Source) Schema() *batch.Schema { return &s.schema }

// Steps returns the number of global batches of all epochs.
func (s *Source) Steps() int { return s.epochs * s.stepsPerEpoch() }

func (s *Source) stepsPerEpoch() int { return (s.rows.Samples()-1)/s.globalBatch + 1 }

// Samples returns the number of samples of a step: the global batch size, or the rest of the
// epoch. It panics if the step is outside the run.
func (s *Source) Samples(step int) int {
	_, lo, hi := s.locate(step)
	return hi - lo
}

// Read returns the global batch of a step, which aliases the training rows unless they are
// shuffled. Only rows of a file can fail. It panics if the step is outside the run.
func (s *Source) Read(step int) (*batch.Batch, error) {
	epoch, lo, hi := s.locate(step)
	if s.order == nil {
		return s.rows.Between(lo, hi)
	}
	return s.rows.Gather(s.order.RowsBetween(epoch, lo, hi))
}

// locate returns the epoch of a step and its range of positions in the epoch.
func (s *Source) locate(step int) (epoch, lo, hi int) {
	if step < 0 || step >= s.Steps() {
		panic(fmt.Sprintf("datasets: source: step %d of %d", step, s.Steps()))
	}
	perEpoch := s.stepsPerEpoch()
	lo = step % perEpoch * s.globalBatch
	return step / perEpoch, lo, min(lo+s.globalBatch, s.rows.Samples())
}
