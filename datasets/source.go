package datasets

import (
	"fmt"
	"sync"

	"tandem/algo/batch"
	"tandem/algo/rng"
)

// Source deals the rows of a batch out as the global batches of a training
// run. It implements batch.Source and may be read by several goroutines.
type Source struct {
	schema      batch.Schema
	rows        *batch.Batch
	globalBatch int
	epochs      int
	shuffle     bool
	seed        uint64 // of the epoch orders

	// Loaders read ahead, so at the end of an epoch two orders are in use.
	mu     sync.Mutex
	orders [2]epochOrder
}

// epochOrder is the row order of one epoch; rows is nil while unused.
type epochOrder struct {
	epoch int
	rows  []int32
}

// NewSource returns a source of epochs passes over the rows of train in global
// batches of globalBatch samples. Each epoch visits every row once, in an order
// drawn from (*shuffleSeed, epoch), or in the order of train if shuffleSeed is
// nil. The last batch of an epoch is short if globalBatch does not divide the
// rows; batches never span two epochs.
//
// The source reads train, which must not change. It returns an error if a count
// is below 1, a slot of the schema has no dimension, or train does not have the
// columns of the schema.
//
// Memory: 4 bytes a row for each of two epoch orders when shuffling.
func NewSource(schema batch.Schema, train *batch.Batch, globalBatch, epochs int, shuffleSeed *uint64) (*Source, error) {
	if globalBatch < 1 || epochs < 1 {
		return nil, fmt.Errorf("datasets: source: global batch %d, epochs %d: both must be at least 1", globalBatch, epochs)
	}
	if err := checkColumns(&schema, train); err != nil {
		return nil, fmt.Errorf("datasets: source: %w", err)
	}
	s := &Source{schema: schema, rows: train, globalBatch: globalBatch, epochs: epochs}
	if shuffleSeed != nil {
		s.shuffle, s.seed = true, *shuffleSeed
	}
	return s, nil
}

// checkColumns says whether b has at least one sample and the columns of schema.
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
	return nil
}

// Schema describes every batch.
func (s *Source) Schema() *batch.Schema { return &s.schema }

// Steps returns the number of global batches of all epochs.
func (s *Source) Steps() int { return s.epochs * s.stepsPerEpoch() }

func (s *Source) stepsPerEpoch() int { return (s.rows.Samples-1)/s.globalBatch + 1 }

// Samples returns the sample count of a step: the global batch size, or what is
// left of the epoch. It panics if the step is outside the run.
func (s *Source) Samples(step int) int {
	_, lo, hi := s.locate(step)
	return hi - lo
}

// Read returns the global batch of a step; without shuffling it aliases the
// training rows. The error is always nil. It panics if the step is outside the
// run.
func (s *Source) Read(step int) (*batch.Batch, error) {
	epoch, lo, hi := s.locate(step)
	if !s.shuffle {
		return batch.Slice(s.rows, lo, hi), nil
	}
	return batch.Gather(s.rows, s.order(epoch)[lo:hi]), nil
}

// locate returns the epoch of a step and its range of positions in there.
func (s *Source) locate(step int) (epoch, lo, hi int) {
	if step < 0 || step >= s.Steps() {
		panic(fmt.Sprintf("datasets: source: step %d of %d", step, s.Steps()))
	}
	perEpoch := s.stepsPerEpoch()
	lo = step % perEpoch * s.globalBatch
	return step / perEpoch, lo, min(lo+s.globalBatch, s.rows.Samples)
}

// order returns the row order of an epoch. The result is never written again.
func (s *Source) order(epoch int) []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	cached := &s.orders[epoch%len(s.orders)]
	if cached.rows == nil || cached.epoch != epoch {
		*cached = epochOrder{epoch, permutation(s.rows.Samples, s.seed, "epoch order", uint64(epoch))}
	}
	return cached.rows
}

// permutation returns the numbers 0 to n−1 in an order drawn from the stream of
// the purpose and ids, by Fisher–Yates: all n! orders are equally likely.
func permutation(n int, seed uint64, purpose string, ids ...uint64) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	rng.New(seed, purpose, ids...).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
