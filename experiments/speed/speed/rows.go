package speed

import (
	"fmt"
	"unsafe"

	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/table"
	"tandem/experiments/speed/speed/bare"
)

// newTable returns a table with all rows of the slots from lo to hi, whose values are 0.
func (p *prepared) newTable(lo, hi int, pool gemm.Pool) (*table.Table, error) {
	j := job.Default()
	j.Model.EmbeddingDim, j.Rows.Optimizer, j.Rows.Init = p.Rows.Dim, p.adagrad(), 0
	t, err := embedding.NewTable(&j, p.Rows.Dim, p.arena, pool)
	if err != nil {
		return nil, err
	}
	const chunk = 4096
	values, signs := make([]float32, chunk*p.Rows.Dim), []uint64(nil)
	schema := p.schema()
	for slot := lo; slot < hi; slot++ {
		signer := schema.Signer(slot)
		for id := 0; id < p.Rows.Each; {
			for signs = signs[:0]; len(signs) < chunk && id < p.Rows.Each; id++ {
				signs = append(signs, signer.Sign(uint64(id), 0))
			}
			if err := t.Lookup(signs, values[:len(signs)*p.Rows.Dim]); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// rowTask is the part of one goroutine in a lookup or update: adjacent slots, whose rows are in a table of
// their own and, for the limit, in a plain array.
type rowTask struct {
	lo, hi int        // slots
	signs  [][]uint64 // by batch
	places [][]int32  // in the array, by batch
	values []float32  // of a batch: results of a lookup, gradients of an update
	err    error
}

// rowTasks divides a case into one task per goroutine.
func (p *prepared) rowTasks(ids []int64) (tasks []*rowTask) {
	schema := p.schema()
	for g := range p.Threads {
		t := &rowTask{lo: g * p.Rows.Slots / p.Threads, hi: (g + 1) * p.Rows.Slots / p.Threads}
		t.values = make([]float32, (t.hi-t.lo)*p.Batch*p.Rows.Dim)
		for i := range t.values {
			t.values[i] = 1e-3
		}
		for b := range batches {
			var signs []uint64
			var places []int32
			for slot := t.lo; slot < t.hi; slot++ {
				signer := schema.Signer(slot)
				for _, id := range p.of(ids, b, slot) {
					signs = append(signs, signer.Sign(uint64(id), 0))
					places = append(places, int32((slot-t.lo)*p.Rows.Each+int(id)))
				}
			}
			t.signs, t.places = append(t.signs, signs), append(t.places, places)
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// inTurn returns work whose step does the next batch of all tasks side by side.
func (p *prepared) inTurn(tasks []*rowTask, do func(g, b int) error) *work {
	steps := 0
	return stepwise(func() error {
		b := steps % batches
		steps++
		p.pool.ForEach(len(tasks), func(g int) { tasks[g].err = do(g, b) })
		for _, t := range tasks {
			if t.err != nil {
				return t.err
			}
		}
		return nil
	}, nil)
}

// lookupOrUpdate draws ids. A step is the work of a PS on the signs of a batch: a lookup of their rows, or
// an update with one gradient per row. The limit is a bare loop with prefetching over the same rows in an
// array, at known addresses.
func (p *prepared) lookupOrUpdate() error {
	ids, update, dim := p.drawIDs(), p.Kind == kindUpdate, p.Rows.Dim
	p.tandem = func() (*work, error) {
		tasks := p.rowTasks(ids)
		tables, memory, rows := make([]*table.Table, len(tasks)), 0.0, 0
		for g, t := range tasks {
			var err error
			if tables[g], err = p.newTable(t.lo, t.hi, nil); err != nil {
				return nil, err
			}
			memory, rows = memory+float64(tables[g].Memory()), rows+tables[g].Len()
		}
		w := p.inTurn(tasks, func(g, b int) error {
			t, own := tables[g], tasks[g]
			if !update {
				return t.Lookup(own.signs[b], own.values)
			}
			if o := t.Apply(own.signs[b], own.values, t.Rate(0), nil); o.Applied != len(own.signs[b]) {
				return fmt.Errorf("%d of %d rows were updated", o.Applied, len(own.signs[b]))
			}
			return nil
		})
		w.overhead = memory/float64(rows) - float64(2*4*dim)
		return w, nil
	}
	if isa.Best() == isa.Portable { // which has no loops for the limit
		return nil
	}
	p.limit = func() (*work, error) {
		tasks := p.rowTasks(ids)
		arrays := make([][]float32, len(tasks)) // of rows: dim values and dim sums of squares, by place
		for g, t := range tasks {
			n := (t.hi - t.lo) * p.Rows.Each * 2 * dim
			slab, err := p.arena.Slab(4 * n)
			if err != nil {
				return nil, err
			}
			arrays[g] = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(slab))), n)
			for i := range arrays[g] {
				arrays[g][i] = 0.01
			}
		}
		return p.inTurn(tasks, func(g, b int) error {
			if t := tasks[g]; update {
				bare.Adagrad(arrays[g], t.places[b], t.values, dim, 0.01, 1e-10)
			} else {
				bare.Gather(t.values, arrays[g], t.places[b], dim)
			}
			return nil
		}), nil
	}
	return nil
}
