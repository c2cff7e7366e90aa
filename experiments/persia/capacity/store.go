package capacity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/experiments/internal/report"
	"tandem/runtime/memory"
	"tandem/runtime/probe"
)

// store is a table of fp16 rows with row-wise Adagrad, as a PS has it, and batches of random signs. The rows
// of all batches of a round together are more than the cache holds, so an update finds its rows in memory,
// as it does in training, where other batches come between a read and its update.
type store struct {
	arena  memory.Arena
	table  *table.Table
	random *rand.Rand
	signs  [][]uint64
	found  [][]table.Found
	values []float32 // of a batch, and its gradients
}

// newStore returns an empty one.
func newStore(p *curvePlan) (*store, error) {
	spec := opt.DefaultRow()
	spec.Kind = opt.RowwiseAdagrad
	rule, err := opt.NewRow(spec)
	if err != nil {
		return nil, err
	}
	s := &store{random: rng.New(p.Seed, "capacity/look-ups"), values: make([]float32, p.Batch*p.Dim)}
	if s.table, err = table.New(table.Config{Dim: p.Dim, Optimizer: rule, Seed: p.Seed, InitBound: 0.01,
		Precision: table.FP16}, &s.arena); err != nil {
		return nil, err
	}
	for range p.Batches {
		s.signs = append(s.signs, make([]uint64, p.Batch))
		s.found = append(s.found, make([]table.Found, p.Batch))
	}
	return s, nil
}

// grow creates rows until there are enough.
func (s *store) grow(ctx context.Context, rows int, show func(rows int)) error {
	signs := s.signs[0]
	dim := s.table.Dim()
	for s.table.Len() < rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(signs), rows-s.table.Len())
		for i := range signs[:n] {
			signs[i] = uint64(s.table.Len() + i)
		}
		if err := s.table.Lookup(signs[:n], s.values[:n*dim]); err != nil {
			return err
		}
		show(s.table.Len())
	}
	return nil
}

// round reads the rows of every batch and then updates them, in the same order, and returns the nanoseconds
// of a row by probe.Undisturbed of the batches.
func (s *store) round() (read, update float64, err error) {
	var reads, updates []float64
	for b, signs := range s.signs {
		for i := range signs {
			signs[i] = s.random.Uint64N(uint64(s.table.Len()))
		}
		start := time.Now()
		if err := s.table.LookupStep(0, signs, s.values, s.found[b]); err != nil {
			return 0, 0, err
		}
		reads = append(reads, time.Since(start).Seconds())
	}
	for i := range s.values {
		s.values[i] = 1e-3
	}
	for b, signs := range s.signs {
		start := time.Now()
		outcome := s.table.Apply(signs, s.values, s.table.Rate(0), &table.Read{Found: s.found[b]})
		updates = append(updates, time.Since(start).Seconds())
		if outcome.Applied != len(signs) {
			return 0, 0, fmt.Errorf("capacity: %d of %d rows updated", outcome.Applied, len(signs))
		}
	}
	perRow := 1e9 / float64(len(s.signs[0]))
	return probe.Undisturbed(reads) * perRow, probe.Undisturbed(updates) * perRow, nil
}

// measuredSize is what the store takes for rows of a table of one size, and what the memory takes beside it.
type measuredSize struct {
	Rows          int       `json:"rows"`
	Bytes         float64   `json:"bytes"`           // of the table
	Huge          float64   `json:"huge_page_share"` // of its memory
	Reads         []float64 `json:"read_ns"`         // of a row, by round
	Updates       []float64 `json:"update_ns"`
	ReferenceHuge float64   `json:"reference_huge_page_share"` // of the reference buffer
	Reference     []float64 `json:"reference_ns"`              // of a step of chains together through it
}

// measureSizes grows a table from size to size, and measures in turns the store and a chase through a buffer
// of its own, because the speed of a machine's memory drifts.
func (p *curvePlan) measureSizes(ctx context.Context, sizes []int, m *report.Meter) (list []measuredSize,
	err error) {
	s, err := newStore(p)
	if err != nil {
		return nil, err
	}
	defer s.arena.Close()
	reference, err := newBuffer(p.Reference, false)
	if err != nil {
		return nil, err
	}
	defer reference.arena.Close()
	for _, rows := range sizes {
		name := millions(rows)
		show := func(have int) { m.Show(have*9/10, rows, "creating "+name) }
		if err := s.grow(ctx, rows, show); err != nil {
			return nil, fmt.Errorf("capacity: %s: %w", name, err)
		}
		size := measuredSize{Rows: rows, Bytes: float64(s.table.Memory()), ReferenceHuge: reference.huge}
		if size.Huge, err = hugeShare(&s.arena); err != nil {
			return nil, err
		}
		for i := range p.Rounds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			read, update, err := s.round()
			if err != nil {
				return nil, err
			}
			chase := probe.Together(p.Reference).Seconds(reference.memory, 1, chaseSteps)
			size.Reads, size.Updates = append(size.Reads, read), append(size.Updates, update)
			size.Reference = append(size.Reference, 1e9*chase)
			m.Show(9*p.Rounds+i, 10*p.Rounds, "measuring "+name)
		}
		list = append(list, size)
		m.Done++
	}
	return list, nil
}
