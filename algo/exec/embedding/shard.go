// Package embedding holds the embedding rows of one PS and applies row gradients to them.
//
// A Shard is a table for every kind of rows of the slots, by dimension and class, together with the reads
// whose gradients have not come yet, so that each gradient's staleness, the updates of a row since its read,
// is known when the gradient is applied. The embedding PSs of the executor and the sequential reference share
// it.
//
// Lists of signs, and values of their rows, have one dimension after the other: see batch.Dims.
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
	dims   batch.Dims
	tables []*table.Table // by dimension
	// reads holds the reads of all batches whose rows were looked up and whose puts have not come. readsMu
	// guards it.
	reads   map[BatchKey]read
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

// NewTables returns an empty table for each kind of embedding rows that one PS of a job has, in memory of an
// arena. Pool, if not nil, shares large batches of rows over goroutines.
func NewTables(t *job.Job, dims batch.Dims, arena table.Arena, pool gemm.Pool) ([]*table.Table, error) {
	if len(dims.Lengths()) == 0 { // of no row
		rows, err := NewTable(t, t.Model.Dim(), arena, pool)
		return []*table.Table{rows}, err
	}
	var tables []*table.Table
	settings, one := t.RowSettings(), t
	if len(dims.Lengths()) > 1 {
		unbounded := *t
		unbounded.Rows.Capacity, unbounded.Rows.Memory = 0, 0
		one = &unbounded
	}
	for place, dim := range dims.Lengths() {
		class := dims.Classes()[place]
		if class >= len(settings) {
			return nil, fmt.Errorf("rows of class %d, and the job has settings of %d classes", class,
				len(settings))
		}
		rows, err := newTable(one, settings[class], dim, arena, pool)
		if err != nil {
			return nil, err
		}
		tables = append(tables, rows)
	}
	if err := shareRoom(t, tables); err != nil {
		return nil, fmt.Errorf("rows of one PS: %w (in the job: rows.capacity, rows.memory)", err)
	}
	return tables, nil
}

// shareRoom gives the tables of a PS the bounds of the job, which one table has for itself.
func shareRoom(t *job.Job, tables []*table.Table) error {
	capacity, memory := t.PSLimits()
	if len(tables) < 2 || capacity == 0 && memory == 0 {
		return nil
	}
	return table.NewRoom(capacity, memory, tables)
}

// NewTable returns an empty table for rows of one length with the settings of section rows, as NewTables
// does.
func NewTable(t *job.Job, dim int, arena table.Arena, pool gemm.Pool) (*table.Table, error) {
	return newTable(t, t.RowSettings()[0], dim, arena, pool)
}

// newTable returns an empty table for rows of one length and class.
func newTable(t *job.Job, own job.RowSettings, dim int, arena table.Arena, pool gemm.Pool) (
	*table.Table, error) {
	optimizer, err := opt.NewRow(own.Optimizer)
	if err != nil {
		return nil, err
	}
	precision, err := table.ParsePrecision(own.Precision)
	if err != nil {
		return nil, fmt.Errorf("rows.precision: %w", err)
	}
	capacity, memory := t.PSLimits()
	rows, err := table.New(table.Config{
		Dim: dim, Optimizer: optimizer, Seed: t.Training.Seed, InitBound: float32(own.Init),
		Admission: t.Rows.Admission, AdmissionCount: own.AdmissionCount,
		Candidates: t.Rows.AdmissionCandidates, Expiry: own.Expiry, Precision: precision,
		MaxRows: capacity, MaxBytes: memory, Evict: t.Rows.Eviction == job.SecondChance,
		Pool: pool,
	}, arena)
	if err != nil {
		return nil, fmt.Errorf("rows of one PS: %w", err)
	}
	return rows, nil
}

// read is how the rows of a batch were found, in the order of its signs.
type read struct {
	found []table.Found
	signs []int // numbers of signs, by dimension
}

// ofDim returns how the rows of one dimension were found.
func (r read) ofDim(place int) []table.Found {
	found := r.found
	for _, n := range r.signs[:place] {
		found = found[n:]
	}
	return found[:r.signs[place]]
}

// BatchKey names a batch: the part that a rank has of a step.
type BatchKey struct{ Rank, Step int32 }

// BatchPut is the puts of a batch, one for each dimension.
type BatchPut struct {
	BatchKey
	ByDim []route.Put
}

// NewShard returns the shard of one embedding PS, with the tables of NewTables. The learning rate of a
// gradient that has missed n updates of its row is multiplied by weight(n); a nil weight multiplies nothing.
func NewShard(dims batch.Dims, tables []*table.Table, weight func(missed int) float32) *Shard {
	return &Shard{dims: dims, tables: tables, weight: weight, reads: map[BatchKey]read{}}
}

// BeginAt makes a global step the one that batches count as step 0; before the first call that is 0.
func (s *Shard) BeginAt(step int) { s.first = step }

// expire removes the rows that have to go before the lookups of a step.
func (s *Shard) expire(step int32) {
	for _, t := range s.tables {
		t.ExpireAt(s.first + int(step))
	}
}

// Tables returns the rows of every dimension.
func (s *Shard) Tables() []*table.Table { return s.tables }

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

// Lookup copies the rows of signs to values, creating rows that do not exist, after it has removed those that
// expire. It remembers how many updates each row has had, for the put of the batch.
func (s *Shard) Lookup(b BatchKey, signs []uint64, values []float32) error {
	byDim, err := s.dims.Cut(signs)
	if err != nil {
		return err
	}
	s.expire(b.Step)
	err = s.remember(b, countsOf(byDim), func(place int, found []table.Found) (err error) {
		values, err = s.lookup(int(b.Step), place, byDim[place], values, found)
		return err
	})
	if err == nil {
		checkEnd(values)
	}
	return err
}

// checkEnd panics if there are values behind those of the last row.
func checkEnd(rest []float32) {
	if len(rest) > 0 {
		panic(fmt.Sprintf("embedding: room for %d values more than the rows have", len(rest)))
	}
}

// lookup copies the rows of signs of one dimension to values. It returns the values behind them.
func (s *Shard) lookup(step, place int, signs []uint64, values []float32,
	found []table.Found) (rest []float32, err error) {
	t := s.tables[place]
	n := len(signs) * t.Dim()
	return values[n:], t.LookupStep(s.first+step, signs, values[:n], found)
}

// countsOf returns the numbers of signs.
func countsOf(byDim [][]uint64) []int {
	counts := make([]int, len(byDim))
	for place, signs := range byDim {
		counts[place] = len(signs)
	}
	return counts
}

// LookupPooled is Lookup of all rows of a routed batch, followed by route.ByDim.Pool to dst and winners, for
// an owner that does both: rows go to the model input from the first cache where that is possible. It orders
// the occurrences of every dimension, which the sums of gradients need, too.
func (s *Shard) LookupPooled(b BatchKey, routed route.ByDim, schema *batch.Schema,
	occurrences []route.Occurrences, dst []float32, winners []int32) error {
	counts := make([]int, len(routed.Routed))
	for place, r := range routed.Routed {
		counts[place] = len(r.Signs)
	}
	s.expire(b.Step)
	return s.remember(b, counts, func(place int, found []table.Found) error {
		return s.lookupPooled(int(b.Step), place, routed.Routed[place], schema, &occurrences[place], dst,
			winners, found)
	})
}

// lookupPooled is LookupPooled of the rows of one dimension.
func (s *Shard) lookupPooled(step, place int, r *route.Routed, schema *batch.Schema, o *route.Occurrences,
	dst []float32, winners []int32, found []table.Found) error {
	t := s.tables[place]
	dim := t.Dim()
	r.Order(o, schema, dim)
	if !r.Spreads(schema) {
		s.values = slices.Grow(s.values[:0], len(r.Signs)*dim)[:len(r.Signs)*dim]
		if _, err := s.lookup(step, place, r.Signs, s.values, found); err != nil {
			return err
		}
		r.PoolOn(o.Pool, dst, winners, schema, s.values, dim)
		return nil
	}
	return t.LookupEach(s.first+step, r.Signs, func(rows []float32, lo, hi int) {
		o.Spread(dst, rows, lo, hi)
	}, found)
}

// Create creates those rows of signs that do not exist, as a Lookup of a step would. It writes the rows to
// values.
func (s *Shard) Create(step int32, signs []uint64, values []float32) error {
	byDim, err := s.dims.Cut(signs)
	for place := 0; place < len(byDim) && err == nil; place++ {
		values, err = s.lookup(int(step), place, byDim[place], values, nil)
	}
	if err == nil {
		checkEnd(values)
	}
	return err
}

// remember remembers for the put of a batch how lookups of numbers of rows, one of each dimension, have found
// them.
func (s *Shard) remember(b BatchKey, signs []int, lookup func(place int, found []table.Found) error) error {
	all := 0
	for _, n := range signs {
		all += n
	}
	own := read{s.takeSpare(all), signs}
	for place := range signs {
		if err := lookup(place, own.ofDim(place)); err != nil {
			return err
		}
	}
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	s.reads[b] = own
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

// giveSpare keeps the memory of a read that is over.
func (s *Shard) giveSpare(found []table.Found) {
	if len(s.spare) == spareReads {
		s.spare = slices.Delete(s.spare, 0, 1)
	}
	s.spare = append(s.spare, found)
}

// SignsOf returns the numbers of signs of each dimension that a batch has looked up, if its rows were looked
// up and its put has not come. It may be called by any goroutine. The caller must not change the result.
func (s *Shard) SignsOf(b BatchKey) (signs []int, known bool) {
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	own, known := s.reads[b]
	return own.signs, known
}

// popRead returns the read of a put, if it is known, and forgets it. It returns an error if the put does not
// have as many signs of each dimension as were looked up.
func (s *Shard) popRead(b BatchPut) (own read, known bool, err error) {
	own, known = s.pop(b.BatchKey)
	for place, looked := range own.signs {
		if put := len(b.ByDim[place].Signs); put != looked {
			return own, false, fmt.Errorf("put of rank %d, step %d: %d signs, but %d were looked up", b.Rank,
				b.Step, put, looked)
		}
	}
	return own, known, nil
}

// Forget removes the read of a batch, because its put will not count.
func (s *Shard) Forget(b BatchKey) { s.pop(b) }

// pop removes and returns the read of a batch.
func (s *Shard) pop(b BatchKey) (own read, known bool) {
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	own, known = s.reads[b]
	delete(s.reads, b)
	return own, known
}

// SplitRead divides the read of a batch in two, so that its gradients can come in two puts. It moves what is
// known of some signs to the read of another batch: moves reports, for each sign of the read, whether it
// moves.
func (s *Shard) SplitRead(from, to BatchKey, moves []bool) {
	s.readsMu.Lock()
	defer s.readsMu.Unlock()
	var kept, moved read
	all := s.reads[from]
	for place, n := range all.signs {
		before := len(moved.found)
		for i, found := range all.ofDim(place) {
			if moves[i] {
				moved.found = append(moved.found, found)
			} else {
				kept.found = append(kept.found, found)
			}
		}
		moves = moves[n:]
		of := len(moved.found) - before
		kept.signs, moved.signs = append(kept.signs, n-of), append(moved.signs, of)
	}
	s.reads[from], s.reads[to] = kept, moved
}

// Snapshot copies the rows of signs to dst for evaluation. A row that was never updated reads as zeros, so
// that the result depends on the batches that were trained and not on those that were only looked up. It
// returns an error if the signs are not in the order of dimensions.
func (s *Shard) Snapshot(signs []uint64, dst []float32) error {
	byDim, err := s.dims.Cut(signs)
	if err != nil {
		return err
	}
	for i, signs := range byDim {
		end := len(signs) * s.tables[i].Dim()
		s.tables[i].SnapshotTrained(signs, dst[:end])
		dst = dst[end:]
	}
	checkEnd(dst)
	return nil
}

// Apply applies one rank's put to the rows, at the learning rate of the put's step.
func (s *Shard) Apply(b BatchPut, stepSamples int, byRank bool) error {
	own, known, err := s.popRead(b)
	if err != nil {
		return err
	}
	for place, t := range s.tables {
		put := &b.ByDim[place]
		var read *table.Read
		if known {
			read = &table.Read{Found: own.ofDim(place), Weight: s.weight, Missed: s.addMissed}
		}
		divisor, dim := put.Divisor(stepSamples, byRank), t.Dim()
		if err := check(t.ApplyFrom(put.Signs, func(scratch []float32, lo, hi int) []float32 {
			put.Quotients(scratch, lo, hi, dim, divisor)
			return scratch
		}, t.Rate(s.first+int(b.Step)), read)); err != nil {
			return err
		}
	}
	if known {
		s.giveSpare(own.found)
	}
	return nil
}

func (s *Shard) addMissed(updates uint32, gradients int) {
	s.missed.AddCount(int(updates), uint64(gradients))
}

// CountMissed counts the updates that the gradients of a put have missed, for a put that is applied by
// ApplyMerged. It counts nothing if the rows of the put were not looked up.
func (s *Shard) CountMissed(b BatchPut) error {
	own, known, err := s.popRead(b)
	if err != nil || !known {
		return err
	}
	for place, t := range s.tables {
		found, signs := own.ofDim(place), b.ByDim[place].Signs
		s.now = slices.Grow(s.now[:0], len(found))[:len(found)]
		t.UpdateCounts(signs, s.now)
		for i, f := range found {
			if !f.Refused() {
				s.missed.Add(int(f.Missed(s.now[i])))
			}
		}
	}
	s.giveSpare(own.found)
	return nil
}

// ApplyStep applies all puts of a step to the rows, in rank order: merged or rank by rank, as the job says.
// Merged gradients are not weighted by the updates that they have missed.
func (s *Shard) ApplyStep(step int32, puts []BatchPut, t *job.Job, stepSamples int) error {
	byRank := t.Training.Scale == job.ScaleRank
	if !t.MergeByStep() {
		for _, put := range puts {
			if err := s.Apply(put, stepSamples, byRank); err != nil {
				return err
			}
		}
		return nil
	}
	for _, put := range puts {
		if err := s.CountMissed(put); err != nil {
			return err
		}
	}
	all := make([]route.Put, len(puts))
	for i := range s.tables {
		for rank, put := range puts {
			all[rank] = put.ByDim[i]
		}
		c := route.Combine(all, stepSamples, s.tables[i].Dim(), byRank)
		err := s.ApplyMerged(s.first+int(step), i, c.Signs, c.Gradients)
		c.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// ApplyMerged applies the merged gradients of distinct signs to the rows of one dimension, given by its place
// in batch.Dims, at the learning rate of a global step.
func (s *Shard) ApplyMerged(step, place int, signs []uint64, grads table.Gradients) error {
	t := s.tables[place]
	return check(t.ApplyFrom(signs, grads, t.Rate(step), nil))
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
