// Package embedding holds the embedding rows of one PS and applies row gradients to them.
//
// A Shard is a table of rows together with the reads whose gradients have not come yet, so that each
// gradient's staleness, the updates of a row since its read, is known when the gradient is applied. The
// embedding PSs of the executor and the sequential reference share it.
package embedding

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/table"
)

// Shard holds the rows of one embedding PS. It is not safe for concurrent use, except for SignsOf and
// Pending: all other methods belong to the PS's own lane.
type Shard struct {
	rows *table.Table
	// reads holds how rows were found, in the order of the signs, for every batch whose rows were looked up
	// and whose put has not come. readsMu guards it.
	reads   map[BatchKey][]table.Found
	readsMu sync.Mutex
	spare   [][]table.Found // memory of reads that are over
	values  []float32       // scratch
	// missed counts, for every row gradient applied, the updates of the row between the read that the
	// gradient was computed from and the gradient's own.
	missed histogram.Histogram
	first  int      // the global step that batches count as step 0
	now    []uint32 // scratch
	// weight returns the factor on the learning rate of a gradient that has missed a number of updates; a
	// nil weight is 1.
	weight func(missed int) float32
}

// NewTable returns an empty table for the embedding rows of one PS of a job, in memory of an arena. Pool, if
// not nil, shares large batches of rows over goroutines.
func NewTable(t *job.Job, arena table.Arena, pool gemm.Pool) (*table.Table, error) {
	optimizer, err := opt.NewRow(t.Rows.Optimizer)
	if err != nil {
		return nil, err
	}
	precision, err := table.ParsePrecision(t.Rows.Precision)
	if err != nil {
		return nil, fmt.Errorf("rows.precision: %w", err)
	}
	rows, err := table.New(table.Config{
		Dim: t.Model.Dim(), Optimizer: optimizer, Seed: t.Training.Seed, InitBound: float32(t.Rows.Init),
		Admission: t.Rows.Admission, Precision: precision,
		MaxRows: t.Rows.Capacity, MaxBytes: t.Rows.Memory, Evict: t.Rows.Eviction == job.SecondChance,
		Pool: pool,
	}, arena)
	if err != nil {
		return nil, fmt.Errorf("rows of one PS: %w", err)
	}
	return rows, nil
}

// BatchKey names a batch: the part that a rank has of a step.
type BatchKey struct{ Rank, Step int32 }

// BatchPut is a put together with the batch that its gradients are of.
type BatchPut struct {
	BatchKey
	route.Put
}

// NewShard returns the shard of one embedding PS. The learning rate of a gradient that has missed n updates
// of its row is multiplied by weight(n); a nil weight multiplies nothing.
func NewShard(rows *table.Table, weight func(missed int) float32) *Shard {
	return &Shard{rows: rows, weight: weight, reads: map[BatchKey][]table.Found{}}
}

// BeginAt makes a global step the one that batches count as step 0; before the first call that is 0.
func (s *Shard) BeginAt(step int) { s.first = step }

// Table returns the rows.
func (s *Shard) Table() *table.Table { return s.rows }

// Missed returns a count for every row gradient applied: the updates of the row between the read that the
// gradient was computed from and the gradient's own.
func (s *Shard) Missed() histogram.Histogram { return s.missed.Clone() }

// ForgetMissed makes Missed count from here on.
func (s *Shard) ForgetMissed() { s.missed = histogram.Histogram{} }

// Pending returns the number of batches whose rows were looked up and whose puts have not come.
func (s *Shard) Pending() int {
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	return len(s.reads)
}

// Lookup copies the rows of signs to values, len(signs) × dim, creating rows that do not exist. It remembers
// how many updates each row has had, for the put of the batch.
func (s *Shard) Lookup(b BatchKey, signs []uint64, values []float32) error {
	return s.remember(b, len(signs), func(found []table.Found) error {
		return s.rows.LookupStep(s.first+int(b.Step), signs, values, found)
	})
}

// LookupPooled is Lookup of all rows of a routed batch, followed by Routed.Pool to dst, for an owner that
// does both: rows go to the model input from the first cache where that is possible. It orders the
// occurrences, which the sums of gradients need, too.
func (s *Shard) LookupPooled(b BatchKey, routed *route.Routed, schema *batch.Schema,
	o *route.Occurrences, dst []float32) error {
	dim := s.rows.Dim()
	routed.Order(o, schema, dim)
	if !routed.Spreads(schema) {
		s.values = slices.Grow(s.values[:0], len(routed.Signs)*dim)[:len(routed.Signs)*dim]
		if err := s.Lookup(b, routed.Signs, s.values); err != nil {
			return err
		}
		routed.PoolOn(o.Pool, dst, schema, s.values, dim)
		return nil
	}
	return s.remember(b, len(routed.Signs), func(found []table.Found) error {
		return s.rows.LookupEach(s.first+int(b.Step), routed.Signs, func(rows []float32, lo, hi int) {
			o.Spread(dst, rows, lo, hi)
		}, found)
	})
}

// Create creates those rows of signs that do not exist, as a Lookup of a step would. It writes the rows to
// values, len(signs) × dim.
func (s *Shard) Create(step int32, signs []uint64, values []float32) error {
	return s.rows.LookupStep(s.first+int(step), signs, values, nil)
}

// remember remembers for the put of a batch how a lookup has found a number of rows.
func (s *Shard) remember(b BatchKey, signs int, lookup func(found []table.Found) error) error {
	found := s.takeSpare(signs)
	if err := lookup(found); err != nil {
		return err
	}
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	s.reads[b] = found
	return nil
}

// takeSpare returns memory for a number of rows, in that of a read that is over if it has room.
func (s *Shard) takeSpare(signs int) []table.Found {
	for i, spare := range s.spare {
		if cap(spare) >= signs && cap(spare) <= 2*signs {
			s.spare = slices.Delete(s.spare, i, i+1)
			return spare[:signs]
		}
	}
	return make([]table.Found, signs)
}

// spareReads is the largest number of reads whose memory is kept: more than most jobs have under way.
const spareReads = 8

// giveSpare keeps the memory of a read that is over, if there was one.
func (s *Shard) giveSpare(found []table.Found) {
	if found == nil {
		return
	}
	if len(s.spare) == spareReads {
		s.spare = slices.Delete(s.spare, 0, 1)
	}
	s.spare = append(s.spare, found)
}

// SignsOf returns the number of signs that a batch has looked up, if its rows were looked up and its put has
// not come. It may be called by any goroutine.
func (s *Shard) SignsOf(b BatchKey) (signs int, known bool) {
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	found, known := s.reads[b]
	return len(found), known
}

// popRead returns how the rows of a put were found, and forgets it; nil if that is not known. It returns an
// error if the put does not have as many signs as were looked up.
func (s *Shard) popRead(b BatchKey, put route.Put) ([]table.Found, error) {
	found, known := s.Forget(b)
	if known && len(found) != len(put.Signs) {
		return nil, fmt.Errorf("put of rank %d, step %d: %d signs, but %d were looked up", b.Rank, b.Step,
			len(put.Signs), len(found))
	}
	return found, nil
}

// Forget removes the read of a batch, because its put has come or will not count, and returns what was known
// of it.
func (s *Shard) Forget(b BatchKey) (found []table.Found, known bool) {
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	found, known = s.reads[b]
	delete(s.reads, b)
	return found, known
}

// SplitRead divides the read of a batch in two, so that its gradients can come in two puts. It moves what is
// known of some signs to the read of another batch: moves reports, for each sign of the read, whether it
// moves.
func (s *Shard) SplitRead(from, to BatchKey, moves []bool) {
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	var kept, moved []table.Found
	for i, found := range s.reads[from] {
		if moves[i] {
			moved = append(moved, found)
		} else {
			kept = append(kept, found)
		}
	}
	s.reads[from], s.reads[to] = kept, moved
}

// Snapshot copies the rows of signs to dst for evaluation. A row that was never updated reads as zeros, so
// that the result depends on the batches that were trained and not on those that were only looked up.
func (s *Shard) Snapshot(signs []uint64, dst []float32) { s.rows.SnapshotTrained(signs, dst) }

// Apply applies one rank's put to the rows, at the learning rate of the put's step.
func (s *Shard) Apply(b BatchKey, put route.Put, stepSamples int, byRank bool) error {
	found, err := s.popRead(b, put)
	if err != nil {
		return err
	}
	defer s.giveSpare(found)
	var read *table.Read
	if found != nil {
		read = &table.Read{Found: found, Weight: s.weight, Missed: s.addMissed}
	}
	divisor, dim := put.Divisor(stepSamples, byRank), s.rows.Dim()
	return check(s.rows.ApplyFrom(put.Signs, func(scratch []float32, lo, hi int) []float32 {
		put.Quotients(scratch, lo, hi, dim, divisor)
		return scratch
	}, s.rows.Rate(s.first+int(b.Step)), read))
}

func (s *Shard) addMissed(updates uint32, gradients int) {
	s.missed.AddCount(int(updates), uint64(gradients))
}

// CountMissed counts the updates that the gradients of a put have missed, for a put that is applied by
// ApplyMerged. It counts nothing if the rows of the put were not looked up.
func (s *Shard) CountMissed(b BatchKey, put route.Put) error {
	read, err := s.popRead(b, put)
	if err != nil || read == nil {
		return err
	}
	defer s.giveSpare(read)
	s.now = slices.Grow(s.now[:0], len(read))[:len(read)]
	s.rows.UpdateCounts(put.Signs, s.now)
	for i, f := range read {
		if !f.Refused() {
			s.missed.Add(int(f.Missed(s.now[i])))
		}
	}
	return nil
}

// ApplyStep applies all puts of a step to the rows, in rank order: merged or rank by rank, as the job says.
// Merged gradients are not weighted by the updates that they have missed.
func (s *Shard) ApplyStep(step int32, puts []BatchPut, t *job.Job, stepSamples int) error {
	byRank := t.Training.Scale == job.ScaleRank
	if !t.MergeByStep() {
		for _, put := range puts {
			if err := s.Apply(put.BatchKey, put.Put, stepSamples, byRank); err != nil {
				return err
			}
		}
		return nil
	}
	all := make([]route.Put, len(puts))
	for i, put := range puts {
		if err := s.CountMissed(put.BatchKey, put.Put); err != nil {
			return err
		}
		all[i] = put.Put
	}
	c := route.Combine(all, stepSamples, s.rows.Dim(), byRank)
	defer c.Release()
	return s.ApplyMerged(s.first+int(step), c.Signs, c.Gradients)
}

// ApplyMerged applies the merged gradients of distinct signs to the rows, at the learning rate of a global
// step.
func (s *Shard) ApplyMerged(step int, signs []uint64, grads table.Gradients) error {
	return check(s.rows.ApplyFrom(signs, grads, s.rows.Rate(step), nil))
}

// ErrNonFinite is wrapped by the errors of gradients that have NaN or Inf.
var ErrNonFinite = errors.New("gradients are not finite")

// check returns an error if gradients were not finite, or if their rows do not exist although a lookup
// creates rows.
func check(o table.Outcome) error {
	if o.NonFinite > 0 {
		return fmt.Errorf("%d of %d row %w; lower the learning rate or check the data", o.NonFinite, o.Rows(),
			ErrNonFinite)
	}
	if o.Missing > 0 {
		return fmt.Errorf("%d of %d rows with a gradient do not exist, though they were looked up", o.Missing,
			o.Rows())
	}
	return nil
}
