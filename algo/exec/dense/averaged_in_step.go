package dense

import (
	"slices"

	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/model"
)

// averagedInStep is the strategy of local-sgd: averaged, except that ranks wait for the mean and replace
// their replicas by it, so that after a round all replicas are equal, bit for bit.
type averagedInStep struct{ *averaged }

func newAveragedInStep(c Config) (*averagedInStep, error) {
	own, err := newAveraged(c)
	return &averagedInStep{own}, err
}

// Average sets a rank's replica to the mean.
func (d *averagedInStep) Average(rank int32, _, sum *model.Vector) error {
	mean := model.Values{Params: slices.Clone(sum.Values), Running: slices.Clone(sum.Stats)}
	vec.Divide(mean.Params, float32(d.Job.Roles.Ranks))
	vec.Divide(mean.Running, float32(d.Job.Roles.Ranks))
	return d.byRank[rank].Import(0, model.State{Values: mean})
}
