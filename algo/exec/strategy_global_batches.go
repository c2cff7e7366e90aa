package exec

import (
	"tandem/algo/job"
	"tandem/algo/numeric/distinct"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/route"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

func init() {
	denseStrategies[pace.GlobalBatches] = func(c denseConfig) (denseStrategy, error) {
		pushed, err := newServed(c, 1, 1) // a rank's mean gradient; schedules count global steps
		return &globalBatches{pushed, int(c.rule.Dense().Batches)}, err
	}
}

// globalBatches is served, but the gradients of a global batch are applied as one: of the dense network their sum
// divided by the number of batches, of a row by that of the gradients that contain it.
type globalBatches struct {
	*served
	batches int
}

// applyPush gives a shard one optimizer step for the pushes that count, if there are.
func (d *globalBatches) applyPush(server int32, pushes [][]float32) error {
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

// applyRows gives every row of the puts that count one optimizer step: for the mean of the ranks' means that contain
// the row, or, if gradients are scaled over all, for the mean over the samples of those.
func (d *globalBatches) applyRows(s *rowShard, w role.Work, puts []batchPut) error {
	if len(puts) == 0 {
		return nil
	}
	byRank, dim, rows := d.training.Training.Scale == job.ScaleRank, s.rows.Dim(), 0
	all := make([]route.Put, len(puts))
	for i, put := range puts {
		if err := s.measure(put.batchName, put.Put); err != nil {
			return err
		}
		all[i], rows = put.Put, rows+len(put.Signs)
		all[i].Rank = i // several may be of one rank
	}
	signs, grads := route.Combine(all, 1, dim, byRank)
	var numbers distinct.Table
	numbers.Reset(rows)
	divisors, found, of := make([]float32, len(signs)), []uint64(nil), []int32(nil)
	for _, put := range all {
		of = append(of[:0], make([]int32, len(put.Signs))...)
		found = numbers.Number(of, put.Signs, found)
		for _, row := range of {
			if byRank {
				divisors[row]++
			} else {
				divisors[row] += float32(put.Samples)
			}
		}
	}
	for row, divisor := range divisors { // distinct numbers rows in the order of signs
		vec.Divide(grads[row*dim:(row+1)*dim], divisor)
	}
	return check(s.rows.Apply(signs, grads, s.rows.Rate(int(w.Step)), nil))
}
