package reference

import (
	"tandem/algo/exec/frequent"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
)

// hotRows are the rows whose gradients take effect without delay.
type hotRows struct {
	signs     map[uint64]struct{}
	gradients uint64 // gradients of these rows so far
}

// findHotRows returns the rows that at least a share of the samples of a run contain. It reads every batch
// once.
func findHotRows(source batch.Source, leastShare float64) (*hotRows, error) {
	steps := make([]int, source.Steps())
	for i := range steps {
		steps[i] = i
	}
	signs, err := frequent.Rows(source, steps, leastShare)
	if err != nil {
		return nil, err
	}
	hot := &hotRows{signs: map[uint64]struct{}{}}
	for _, sign := range signs {
		hot.signs[sign] = struct{}{}
	}
	return hot, nil
}

// divide divides the gradients of a step, and the reads that they come from, in those of hot rows and those
// of the other rows.
func (d *Delayed) divide(g gradients) (hot, cold gradients) {
	hot, cold = g, g
	hot.puts, cold.puts = make([][]route.Put, len(g.puts)), make([][]route.Put, len(g.puts))
	cold.part = 1
	for rank, byDim := range g.puts {
		var moves []bool
		for i, put := range byDim {
			hotPart, coldPart, isCold := d.dividePut(put, d.Rows()[i].Dim())
			hot.puts[rank] = append(hot.puts[rank], hotPart)
			cold.puts[rank] = append(cold.puts[rank], coldPart)
			moves = append(moves, isCold...)
		}
		d.rows.SplitRead(hot.keyOf(rank), cold.keyOf(rank), moves)
	}
	return hot, cold
}

// dividePut divides a put of rows of one dimension, and reports which of them are cold.
func (d *Delayed) dividePut(put route.Put, dim int) (hot, cold route.Put, isCold []bool) {
	hot = route.Put{Rank: put.Rank, Samples: put.Samples}
	cold, isCold = hot, make([]bool, len(put.Signs))
	for i, sign := range put.Signs {
		part := &cold
		if _, isHot := d.hot.signs[sign]; isHot {
			part = &hot
			d.hot.gradients++
		} else {
			isCold[i] = true
		}
		part.Signs = append(part.Signs, sign)
		part.Sums = append(part.Sums, put.Sums[i*dim:(i+1)*dim]...)
	}
	return hot, cold, isCold
}

// rows returns the number of row gradients.
func (g *gradients) rows() (n int) {
	for _, byDim := range g.puts {
		for _, put := range byDim {
			n += len(put.Signs)
		}
	}
	return n
}
