package table

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/opt"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// ErrFull is the error that Lookup wraps if there is no room for a new row.
var ErrFull = errors.New("table is full")

// Optimizer updates one row. The row optimizers of algo/numeric/opt implement it.
type Optimizer interface {
	// StateSize returns the number of state values of a row of dim values.
	StateSize(dim int) int
	// Init writes the state of a row that has never been updated.
	Init(state []float32)
	// Rate returns the learning rate of a training step.
	Rate(step int) float32
	// Apply updates embedding and state, in place, by one gradient at a learning
	// rate. It changes nothing and returns false if the gradient has a NaN or Inf.
	Apply(embedding, state, grad []float32, rate float32) bool
}

// manyOptimizer is an optimizer that may be able to update many rows in one call.
type manyOptimizer interface {
	HasBatch() bool // whether it is
	ApplyBatch(b *opt.Batch)
}

// Config describes a table.
type Config struct {
	Dim       int       // length of an embedding; at least 1
	Optimizer Optimizer // required
	Seed      uint64    // of the rows' initial values; any value
	// InitBound is the limit of the initial values, which are uniform over
	// [−InitBound, InitBound); at least 0 and finite, 0 for all-zero rows.
	InitBound float32
	// Admission is the probability that a LookupStep creates a row that is absent,
	// in [0, 1]; 0 means 1.
	Admission float64
	// AdmissionCount is the number of steps that read an absent row until the last of them creates it, up to
	// AdmissionCountMax; 0 and 1 mean that the first does. It does not go with Admission.
	AdmissionCount int
	// Candidates is the number of signs without rows whose steps are counted, of which at least the half that
	// was read last is known; 0 means CandidatesDefault. Besides Memory, they take up to 43 bytes for
	// each of this number, as soon as there have been as many, and keep them.
	Candidates int
	// Expiry is the number of steps after which ExpireAt removes rows that were not read; 0: never. With it,
	// a row counts as read when it is created. It does not go with Evict, which clears the same marks.
	Expiry int
	// Precision is the format of the embedding values.
	Precision Precision
	// MaxRows is the largest number of rows, up to 2³¹−1; 0 for that limit.
	MaxRows int
	// MaxBytes is the upper limit of Memory; 0 for no limit. New returns an error if
	// the limit leaves no room for LeastRows rows.
	MaxBytes unit.Bytes
	// Evict lets a full table replace a row that has not been read for long by a new
	// row. Otherwise a full table returns ErrFull.
	Evict bool
	// Pool, if not nil, shares the rows of large batches over goroutines: those of LookupStep and Apply whose
	// signs are distinct, because Found comes with them. Values and the order of rows stay what they are. A
	// table that evicts shares nothing, because there the order of reads decides which rows remain. If signs
	// repeat all the same, the table stays sound, but a repeated row may lose updates.
	Pool gemm.Pool
}

// LeastRows is the number of rows for which MaxBytes must leave room: a smaller table
// cannot hold the ids of a small batch.
const LeastRows = 1024

// rowLimit keeps row numbers within an int32.
const rowLimit = math.MaxInt32

// validate names the first field that is out of range.
func (c *Config) validate() error {
	switch {
	case c.Dim < 1:
		return fmt.Errorf("table: dim = %d, want at least 1", c.Dim)
	case c.Optimizer == nil:
		return errors.New("table: no optimizer")
	case !(c.InitBound >= 0 && c.InitBound <= math.MaxFloat32):
		return fmt.Errorf("table: init bound = %v, want at least 0 and finite", c.InitBound)
	case !(c.Admission >= 0 && c.Admission <= 1):
		return fmt.Errorf("table: admission = %v, want 0 to 1", c.Admission)
	case c.AdmissionCount < 0 || c.AdmissionCount > AdmissionCountMax:
		return fmt.Errorf("table: admission count = %d, want 0 to %d", c.AdmissionCount, AdmissionCountMax)
	case c.AdmissionCount > 1 && c.Admission > 0 && c.Admission < 1:
		return errors.New("table: admission by a probability and by a count: choose one")
	case c.Candidates < 0:
		return fmt.Errorf("table: candidates = %d, want at least 0", c.Candidates)
	case c.Expiry < 0:
		return fmt.Errorf("table: expiry = %d, want at least 0", c.Expiry)
	case c.Expiry > 0 && c.Evict:
		return errors.New("table: expiry and eviction: rows go for one reason or the other")
	case c.MaxRows < 0 || c.MaxRows > rowLimit:
		return fmt.Errorf("table: max rows = %d, want 0 to %d", c.MaxRows, rowLimit)
	case c.Precision > FP16:
		return fmt.Errorf("table: precision %d: want fp32, bf16 or fp16", c.Precision)
	case c.MaxBytes < 0:
		return fmt.Errorf("table: memory = %d, want at least 0", c.MaxBytes)
	}
	return nil
}

// Table is one shard of an embedding table. See the package for its contract.
type Table struct {
	config    Config
	arena     Arena
	maxRows   int
	room      *Room  // shared with other tables; nil: none
	rowBytes  int    // header, embedding and state
	stateAt   int    // bytes from a row to its state
	rounding  uint64 // key of the random bits of rounding
	slabShift uint   // a slab holds 1<<slabShift rows
	slabs     []unsafe.Pointer
	rows      int
	evicted   int
	outcomes  Outcome
	hand      int // the row that eviction examines next
	swept     int // the latest step of ExpireAt; 0: none
	index     index
	set       isa.Set // instructions of the kernels
	many      manyOptimizer
	work      []*chunk // of the goroutines that change rows, at least one
	frozen    *Frozen  // nil unless rows are frozen that may not have been read
	notes     int      // freezes that have noted rows
	noted     []uint32 // by row, what the latest of them has noted: see changes.go

	candidates candidates // signs without rows, if steps are counted
}

// slabBytes is about the size of a slab: large enough that a table of millions
// of rows has few, small enough that a nearly empty table wastes little.
const slabBytes = 1 << 20

// HeaderBytes is the size of a row's header, which stands before its embedding; the state
// stands behind. IndexBytes is the most that the index takes for a row, and Overhead the
// most that a row takes besides embedding and state: both together.
const (
	HeaderBytes = headerBytes
	IndexBytes  = 12
	Overhead    = HeaderBytes + IndexBytes
)

// RowBytes returns the memory of the embedding of a row of dim values, in a precision,
// and the memory of its optimizer state.
func RowBytes(dim int, o Optimizer, p Precision) (embedding, state unit.Bytes) {
	return unit.Bytes(p.bytes(dim)), unit.Bytes(4 * o.StateSize(dim))
}

// New returns an empty table whose rows will live in the arena. The error names
// the field of the configuration that is out of range.
func New(config Config, arena Arena) (*Table, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	t := &Table{config: config, arena: arena, maxRows: config.MaxRows, index: newIndex(), set: isa.Best(),
		work: []*chunk{{}}, candidates: newCandidates(&config)}
	if many, ok := config.Optimizer.(manyOptimizer); ok && many.HasBatch() {
		t.many = many
	}
	if t.maxRows == 0 {
		t.maxRows = rowLimit
	}
	embedding, state := RowBytes(config.Dim, config.Optimizer, config.Precision)
	t.stateAt = headerBytes + int(embedding)
	t.rowBytes = t.stateAt + int(state)
	t.rounding = rng.Key(config.Seed, "rounding")
	rowsPerSlab := max(slabBytes/t.rowBytes, 1)
	t.slabShift = uint(bits.Len(uint(rowsPerSlab)) - 1)
	if least := t.leastBytes(); config.MaxBytes > 0 && config.MaxBytes < least {
		return nil, fmt.Errorf("table: memory of %v is less than the %v of the first %d rows: "+
			"raise max bytes, or make rows narrower",
			config.MaxBytes, least, min(LeastRows, t.maxRows))
	}
	return t, nil
}

// Dim returns the length of an embedding.
func (t *Table) Dim() int { return t.config.Dim }

// Evicted returns the number of rows evicted or expired so far.
func (t *Table) Evicted() int { return t.evicted }

// Expires reports whether rows expire. If they do, none are evicted.
func (t *Table) Expires() bool { return t.config.Expiry > 0 }

// Outcomes returns the sum of the outcomes of every Apply so far.
func (t *Table) Outcomes() Outcome { return t.outcomes }

// Len returns the number of rows.
func (t *Table) Len() int { return t.rows }

// Rate returns the learning rate of a training step, which Apply takes.
func (t *Table) Rate(step int) float32 { return t.config.Optimizer.Rate(step) }

// Memory returns the size of slabs and index: at most Overhead a row besides embedding
// and state, and one slab and one segment, about a MiB, that are not yet full.
func (t *Table) Memory() unit.Bytes {
	return unit.Bytes(len(t.slabs)*t.rowBytes<<t.slabShift + t.index.bytes())
}

// leastBytes returns the memory of a table of LeastRows rows, or as many as it
// may have.
func (t *Table) leastBytes() unit.Bytes {
	slabs := (min(LeastRows, t.maxRows) + 1<<t.slabShift - 1) >> t.slabShift
	return unit.Bytes(slabs*t.rowBytes<<t.slabShift + segmentBytes) // a segment holds 6,656
}

// create adds the row of an absent sign, with its initial values, and returns its number, which may be the
// number of an evicted row.
func (t *Table) create(sign, hash uint64) (int, error) {
	defer t.lockChanges()()
	row, err := t.claim(sign, hash)
	if err == nil {
		t.initialize(row, sign)
		if t.config.Expiry > 0 {
			t.header(row)[2] |= mark
		}
	}
	return row, err
}

// claim is create without values. The caller holds lockChanges.
func (t *Table) claim(sign, hash uint64) (int, error) {
	row := t.rows
	switch err := t.reserve(); {
	case err == nil:
		t.rows++
	case err == ErrFull && t.config.Evict && t.rows > 0:
		row = t.evict()
	case err == ErrFull:
		return 0, fmt.Errorf("%w, with no row for sign %#x: %s", err, sign, t.limit())
	default:
		return 0, fmt.Errorf("%w, none for sign %#x", err, sign)
	}
	t.replace(row)
	setHeader(t.header(row), sign)
	t.index.insert(hash, row)
	return row, nil
}

// limit describes what keeps a full table from growing.
func (t *Table) limit() string {
	if t.room != nil {
		return t.room.limit(t)
	}
	if t.rows == t.maxRows {
		return fmt.Sprintf("%d rows of at most %d; raise max rows, let it evict, or use more shards",
			t.rows, t.maxRows)
	}
	return fmt.Sprintf("%d rows in %v, and more would take more than %v; "+
		"raise max bytes, let it evict, or use more shards",
		t.rows, t.Memory(), t.config.MaxBytes)
}

// reserve makes room for one more row. The error is ErrFull itself, since a table that
// evicts gets it for every new row, or the error of the arena.
func (t *Table) reserve() error {
	if t.rows == t.maxRows || !t.room.hasRow(t) {
		return ErrFull
	}
	need, slabBytes := 0, t.rowBytes<<t.slabShift
	fullSlabs := t.rows>>t.slabShift == len(t.slabs)
	if fullSlabs {
		need += slabBytes
	}
	if t.index.full() {
		_, bytes := t.index.growth()
		need += bytes
	}
	if most := t.config.MaxBytes; most > 0 && t.Memory()+unit.Bytes(need) > most {
		return ErrFull
	}
	if need > 0 && !t.room.hasBytes(t, need) {
		return ErrFull
	}
	if t.index.full() {
		if err := t.index.grow(t.arena); err != nil {
			return err
		}
	}
	if fullSlabs {
		fresh, err := newSlab(t.arena, slabBytes)
		if err != nil {
			return err
		}
		t.slabs = append(t.slabs, fresh)
	}
	return nil
}

// initialize writes the values of a row that has never been updated: each of
// the embedding is −InitBound + 2·InitBound·u, with u in [0, 1) the value of
// the stream (seed, "row", sign) at its place.
func (t *Table) initialize(row int, sign uint64) {
	key, bound := rng.Key(t.config.Seed, "row", sign), t.config.InitBound
	embedding := t.open(t.work[0], row)
	for i := range embedding {
		embedding[i] = float32(2*bound*rng.Unit(key, i)) - bound
	}
	t.close(row, embedding)
	t.config.Optimizer.Init(t.state(row))
}

// Clone returns a table of the same rows that shares no memory with t except
// the optimizer. Its rows, present and future, live on the heap. It is in no Room.
func (t *Table) Clone() *Table {
	clone := *t
	clone.arena, clone.work, clone.frozen, clone.noted, clone.room = Heap{}, []*chunk{{}}, nil, nil, nil
	clone.index, clone.candidates = t.index.clone(), t.candidates.clone()
	clone.slabs = slices.Clone(t.slabs)
	size := t.rowBytes << t.slabShift
	for i, from := range t.slabs {
		clone.slabs[i], _ = newSlab(Heap{}, size) // the heap never fails
		copy(unsafe.Slice((*byte)(clone.slabs[i]), size), unsafe.Slice((*byte)(from), size))
	}
	return &clone
}
