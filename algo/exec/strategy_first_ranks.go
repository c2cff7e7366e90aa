package exec

import (
	"slices"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

func init() {
	denseStrategies[pace.FirstRanks] = func(c denseConfig) (denseStrategy, error) {
		sums, err := newReduced(c)
		if err != nil {
			return nil, err
		}
		c.pool = nil
		sums.replicas, err = newReplicas(c, c.newWeights)
		return &firstRanks{sums}, err
	}
}

// firstRanks is reduced, but not all ranks give gradients, and every rank steps a replica of its own, because a late
// rank may take a step when others are several steps ahead.
type firstRanks struct{ *reduced }

// newSum returns a vector that is the step's alone: a late rank reads it when others sum later steps.
func (d *firstRanks) newSum(int32) *model.Vector { return model.NewVector(d.layout()) }

// apply steps a rank's replica with the mean over the samples that count.
func (d *firstRanks) apply(w role.Work, sum *model.Vector) error {
	own := &model.Vector{Values: slices.Clone(sum.Values), Stats: sum.Stats} // stepping uses it up
	d.byRank[w.Rank].StepSum(own, int(w.StepSamples), int(w.Step))
	return nil
}

// applyRows numbers the puts that count from 0: merging wants ranks without gaps.
func (d *firstRanks) applyRows(s *rowShard, w role.Work, puts []batchPut) error {
	for i := range puts {
		puts[i].Put.Rank = i
	}
	return d.replicas.applyRows(s, w, puts)
}
