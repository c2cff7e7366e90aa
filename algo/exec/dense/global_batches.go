package dense

import (
	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/distinct"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/route"
	"tandem/algo/protocol/role"
)

// globalBatches is the strategy of gba: served, except that the gradients of a global batch are applied as
// one. The dense network takes their sum divided by the number of gradients in a global batch, dropped ones
// included; a row takes its sum divided by the number of gradients that contain the row.
type globalBatches struct {
	*served
	batches int
}

func newGlobalBatches(c Config) (*globalBatches, error) {
	pushed, err := newServed(c, 1, 1) // a rank's mean gradient; schedules count global steps
	return &globalBatches{pushed, int(c.Rule.Dense().Batches)}, err
}

// ApplyPushes takes one optimizer step on a shard for the pushes that count, or none if no push counts.
func (d *globalBatches) ApplyPushes(server int32, pushes [][]float32) error {
	s := d.shards[server]
	sum := make([]float32, s.Params())
	for _, values := range pushes {
		if err := d.check(values, int(server), d.pushedStats()); err != nil {
			return err
		}
		vec.Add(sum, values[:len(sum)])
		s.stats = append(s.stats, values[len(sum):]...)
	}
	if len(pushes) == 0 {
		return nil
	}
	vec.Divide(sum, float32(d.batches))
	s.Step(sum)
	s.foldStats()
	return nil
}

// ApplyRows gives every row of the puts that count one optimizer step. The gradient of a row is the mean over
// the puts that contain it: of the ranks' means with scale: rank, over the samples of these puts with scale:
// global.
func (d *globalBatches) ApplyRows(s *embedding.Shard, w role.Work, puts []embedding.BatchPut) error {
	if len(puts) == 0 {
		return nil
	}
	for _, put := range puts {
		if err := s.CountMissed(put); err != nil {
			return err
		}
	}
	all := make([]route.Put, len(puts))
	for place := range s.Tables() {
		for i, put := range puts {
			all[i] = put.ByDim[place]
			all[i].Rank = i // several may be of one rank
		}
		if err := d.applyDim(s, w, place, all); err != nil {
			return err
		}
	}
	return nil
}

// applyDim is ApplyRows of the rows of one dimension.
func (d *globalBatches) applyDim(s *embedding.Shard, w role.Work, place int, all []route.Put) error {
	byRank, dim, rows := d.Job.Training.Scale == job.ScaleRank, s.Tables()[place].Dim(), 0
	for _, put := range all {
		rows += len(put.Signs)
	}
	c := route.Combine(all, 1, dim, byRank)
	defer c.Release()
	var positions distinct.Table
	positions.Reset(rows)
	divisors, found, of := make([]float32, len(c.Signs)), []uint64(nil), []int32(nil)
	for _, put := range all {
		of = append(of[:0], make([]int32, len(put.Signs))...)
		found = positions.Number(of, put.Signs, found)
		for _, row := range of {
			if byRank {
				divisors[row]++
			} else {
				divisors[row] += float32(put.Samples)
			}
		}
	}
	return s.ApplyMerged(d.first+int(w.Step), place, c.Signs, func(dst []float32, lo, hi int) []float32 {
		c.Gradients(dst, lo, hi)
		for i, divisor := range divisors[lo:hi] { // positions are in the order of c.Signs
			vec.Divide(dst[i*dim:(i+1)*dim], divisor)
		}
		return dst
	})
}
