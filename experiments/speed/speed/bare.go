package speed

import (
	"context"
	"fmt"
	"math"
	"time"
	"unsafe"

	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/table"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/speed/speed/bare"
)

// rowTask is the part of one goroutine in a lookup or update: adjacent slots, whose rows are in a table of
// their own and, for the limit, in a plain array.
type rowTask struct {
	rows   *table.Table
	array  []float32  // rows of dim values and dim sums of squares, in the order of their places
	signs  [][]uint64 // by batch
	places [][]int32  // by batch
	values []float32  // of a batch: results of a lookup, gradients of an update
}

// rowTasks divides a case into one task per goroutine.
func rowTasks(p *prepared) []*rowTask {
	schema := (&pytorch.Network{Slots: p.Rows.Slots, Dim: p.Rows.Dim}).Schema()
	var tasks []*rowTask
	for g := range p.Threads {
		lo, hi := g*p.Rows.Slots/p.Threads, (g+1)*p.Rows.Slots/p.Threads
		t := &rowTask{values: make([]float32, (hi-lo)*p.Batch*p.Rows.Dim)}
		for i := range t.values {
			t.values[i] = 1e-3
		}
		for b := range batches {
			var signs []uint64
			var places []int32
			for slot := lo; slot < hi; slot++ {
				signer := schema.Signer(slot)
				for _, id := range p.ids[(b*p.Rows.Slots+slot)*p.Batch:][:p.Batch] {
					signs, places = append(signs, signer.Sign(uint64(id), 0)), append(places,
						int32((slot-lo)*p.Rows.Each+int(id)))
				}
			}
			t.signs, t.places = append(t.signs, signs), append(t.places, places)
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// rowStep is the work of a PS on the signs of a batch: a lookup of their rows, or an update with one
// gradient per row.
type rowStep struct {
	tasks  []*rowTask
	pool   gemm.Pool
	update bool
	steps  int
	errs   []error
	// overhead is the bytes per row in addition to embedding and state.
	overhead float64
}

func newRowStep(p *prepared) (*rowStep, error) {
	s := &rowStep{
		tasks:  rowTasks(p),
		pool:   p.pool,
		update: p.Kind == kindUpdate,
		errs:   make([]error, p.Threads),
	}
	schema := (&pytorch.Network{Slots: p.Rows.Slots, Dim: p.Rows.Dim}).Schema()
	j := job.Default()
	j.Model.EmbeddingDim, j.Rows.Optimizer = p.Rows.Dim, p.adagrad()
	memory, rows := 0.0, 0
	for g, t := range s.tasks {
		var err error
		if t.rows, err = embedding.NewTable(&j, p.arena, nil); err != nil {
			return nil, err
		}
		values := make([]float32, p.Rows.Each*p.Rows.Dim)
		signs := make([]uint64, p.Rows.Each)
		for slot := g * p.Rows.Slots / p.Threads; slot < (g+1)*p.Rows.Slots/p.Threads; slot++ {
			signer := schema.Signer(slot)
			for id := range signs {
				signs[id] = signer.Sign(uint64(id), 0)
			}
			if err := t.rows.Lookup(signs, values); err != nil {
				return nil, err
			}
		}
		memory, rows = memory+float64(t.rows.Memory()), rows+t.rows.Len()
	}
	s.overhead = memory/float64(rows) - float64(2*4*p.Rows.Dim)
	return s, nil
}

// run implements stepper.
func (s *rowStep) run(ctx context.Context, steps int) (time.Duration, error) {
	return timed(ctx, steps, s.step)
}

func (s *rowStep) step() error {
	b := s.steps % batches
	s.steps++
	s.pool.ForEach(len(s.tasks), func(g int) {
		t := s.tasks[g]
		if !s.update {
			s.errs[g] = t.rows.Lookup(t.signs[b], t.values)
			return
		}
		if o := t.rows.Apply(t.signs[b], t.values, t.rows.Rate(0), nil); o.Applied != len(t.signs[b]) {
			s.errs[g] = fmt.Errorf("%d of %d rows were updated", o.Applied, len(t.signs[b]))
		}
	})
	for _, err := range s.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// check implements stepper. No other side computes the same value.
func (s *rowStep) check() float64 { return math.NaN() }

// bareRows is the third side of a lookup or update: a bare loop with prefetching over the same rows in an
// array, at known addresses.
type bareRows struct {
	tasks  []*rowTask
	pool   gemm.Pool
	dim    int
	update bool
	steps  int
}

func newBareRows(p *prepared) *bareRows {
	return &bareRows{pool: p.pool, dim: p.Rows.Dim, update: p.Kind == kindUpdate}
}

// open implements side.
func (s *bareRows) open(_ context.Context, p *prepared) (warmState, error) {
	s.tasks = rowTasks(p)
	for g, t := range s.tasks {
		slots := (g+1)*p.Rows.Slots/p.Threads - g*p.Rows.Slots/p.Threads
		n := slots * p.Rows.Each * 2 * p.Rows.Dim
		slab, err := p.arena.Slab(4 * n)
		if err != nil {
			return warmState{}, err
		}
		t.array = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(slab))), n)
		for i := range t.array {
			t.array[i] = 0.01
		}
	}
	return warmState{}, nil
}

// run implements side.
func (s *bareRows) run(ctx context.Context, steps int) (time.Duration, error) {
	return timed(ctx, steps, func() error {
		b := s.steps % batches
		s.steps++
		s.pool.ForEach(len(s.tasks), func(g int) {
			t := s.tasks[g]
			if s.update {
				bare.Adagrad(t.array, t.places[b], t.values, s.dim, 0.01, 1e-10)
			} else {
				bare.Gather(t.values, t.array, t.places[b], s.dim)
			}
		})
		return nil
	})
}

// close implements side.
func (s *bareRows) close(context.Context) error {
	s.tasks = nil
	return nil
}
