package reference

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
)

// hotRows are the rows whose gradients take effect without delay.
type hotRows struct {
	signs     map[uint64]struct{}
	gradients uint64 // gradients of these rows so far
}

// findHotRows returns the rows that at least a share of the samples of a run contain. It reads every batch
// once. A row that several ids of a sample name counts once for the sample.
func findHotRows(source batch.Source, leastShare float64) (*hotRows, error) {
	schema, counts, samples := source.Schema(), map[uint64]int{}, 0
	for step := range source.Steps() {
		global, err := source.Read(step)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", step, err)
		}
		samples += global.Samples
		routed := route.Route(schema, batch.Cut(global, 1, 1)[0], oneTable)
		for i, n := range samplesWith(routed, schema, global) {
			counts[routed.Signs[i]] += n
		}
	}
	hot := &hotRows{signs: map[uint64]struct{}{}}
	for sign, n := range counts { // order-free: each row is hot or not on its own
		if float64(n)/float64(samples) >= leastShare {
			hot.signs[sign] = struct{}{}
		}
	}
	return hot, nil
}

// samplesWith returns, for each distinct sign of a batch, the number of samples that contain it.
func samplesWith(routed *route.Routed, schema *batch.Schema, b *batch.Batch) []int {
	counts, last := make([]int, len(routed.Signs)), make([]int, len(routed.Signs))
	for sample := range b.Samples {
		for s, slot := range b.Slots {
			rows := int32(schema.Slots[s].RowsPerID())
			for _, sign := range routed.Index[s][rows*slot.Offsets[sample] : rows*slot.Offsets[sample+1]] {
				if last[sign] != sample+1 {
					last[sign] = sample + 1
					counts[sign]++
				}
			}
		}
	}
	return counts
}

// divide divides the gradients of a step, and the reads that they come from, in those of hot rows and those
// of the other rows.
func (d *Delayed) divide(g gradients) (hot, cold gradients) {
	hot, cold = g, g
	hot.puts, cold.puts = make([]route.Put, len(g.puts)), make([]route.Put, len(g.puts))
	cold.part = 1
	dim := d.job.Model.Dim()
	for rank, put := range g.puts {
		isCold := make([]bool, len(put.Signs))
		hot.puts[rank].Rank, hot.puts[rank].Samples = put.Rank, put.Samples
		cold.puts[rank].Rank, cold.puts[rank].Samples = put.Rank, put.Samples
		for i, sign := range put.Signs {
			part := &cold.puts[rank]
			if _, isHot := d.hot.signs[sign]; isHot {
				part = &hot.puts[rank]
				d.hot.gradients++
			} else {
				isCold[i] = true
			}
			part.Signs = append(part.Signs, sign)
			part.Sums = append(part.Sums, put.Sums[i*dim:(i+1)*dim]...)
		}
		d.rows.SplitRead(hot.keyOf(rank), cold.keyOf(rank), isCold)
	}
	return hot, cold
}

// rows returns the number of row gradients.
func (g *gradients) rows() (n int) {
	for _, put := range g.puts {
		n += len(put.Signs)
	}
	return n
}
