package dense

import (
	"slices"

	"tandem/algo/exec/embedding"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
)

// firstRanks is the strategy of backup-workers: reduced, except that the gradients of some ranks do not
// count, and that every rank steps a replica of its own, because a late rank may take a step when others are
// several steps ahead.
type firstRanks struct{ *reduced }

func newFirstRanks(c Config) (*firstRanks, error) {
	c.Pool = nil // no other rank waits for an optimizer step
	own, err := newReplicas(c, replicaKind{optimizer: &c.Job.Model.Optimizer}, c.newWeights)
	return &firstRanks{&reduced{replicas: own}}, err
}

// NewSum returns a new vector for every step: a late rank may read it while others sum later steps.
func (d *firstRanks) NewSum(int32) *model.Vector { return model.NewVector(d.layout()) }

// ApplyGradients steps a rank's replica with the mean over the samples that count.
func (d *firstRanks) ApplyGradients(w role.Work, sum *model.Vector) error {
	own := &model.Vector{Values: slices.Clone(sum.Values), Stats: sum.Stats} // StepSum overwrites it
	return d.byRank[w.Rank].StepSum(own, int(w.StepSamples), d.first+int(w.Step))
}

// ApplyRows numbers the puts that count from 0, because merging needs ranks without gaps.
func (d *firstRanks) ApplyRows(s *embedding.Shard, w role.Work, puts []embedding.BatchPut) error {
	for i := range puts {
		for place := range puts[i].ByDim {
			puts[i].ByDim[place].Rank = i
		}
	}
	return d.replicas.ApplyRows(s, w, puts)
}
