package exec

import (
	"errors"

	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// replicas is what strategies have in common: a replica for every rank of this process. On its own it is the
// strategy that trains each replica by itself: no all-reduce, no averages, no dense PS.
type replicas struct {
	denseConfig
	unserved
	unreduced
	unaveraged
	byRank []*model.Replica // nil where the rank is not here
}

// newReplicas returns replicas on the weights that a function makes, which is called once for every rank of this
// process.
func newReplicas(c denseConfig, weights func() (*model.Weights, error)) (replicas, error) {
	r := replicas{denseConfig: c, byRank: make([]*model.Replica, c.training.Roles.Ranks)}
	for i := range r.byRank {
		if !c.here(nnWorkerAt(int32(i))) {
			continue
		}
		w, err := weights()
		if err != nil {
			return r, err
		}
		r.byRank[i] = model.NewReplica(w, c.training.GroupsPerRank(), (c.training.Training.GlobalBatch-1)/c.training.TotalGroups()+1)
	}
	return r, nil
}

// newWeights returns the initial weights of a training's network.
func (c *denseConfig) newWeights() (*model.Weights, error) {
	optimizer, err := opt.NewDense(c.training.Model.Optimizer)
	if err != nil {
		return nil, err
	}
	return model.NewWeights(c.engine, model.InitialValues(c.engine, c.training.Training.Seed), optimizer, c.pool), nil
}

func nnWorkerAt(rank int32) msg.Address      { return msg.Address{Role: msg.NNWorker, Index: rank} }
func denseServerAt(i int32) msg.Address      { return msg.Address{Role: msg.DensePS, Index: i} }
func (c *denseConfig) layout() *model.Layout { return c.engine.Layout() }

func (r *replicas) replica(rank int32) *model.Replica { return r.byRank[rank] }

func (r *replicas) gradients(w role.Work) *model.Vector { return r.byRank[w.Rank].Gradients() }

// apply gives a rank's replica the optimizer step of its own mean gradient.
func (r *replicas) apply(w role.Work, gradients *model.Vector) error {
	r.byRank[w.Rank].StepSum(gradients, int(max(w.Samples, 1)), int(w.Step))
	return nil
}

// holders returns rank 0: where ranks train in lock step, all others have the same.
func (r *replicas) holders() []msg.Address { return []msg.Address{nnWorkerAt(0)} }

func (r *replicas) weights(at msg.Address) *model.Weights {
	if at.Role != msg.NNWorker || r.byRank[at.Index] == nil {
		return nil
	}
	return r.byRank[at.Index].Weights
}

// join returns the parts one after the other.
func (r *replicas) join(parts []model.Values) (all model.Values) {
	for _, part := range parts {
		all.Params = append(all.Params, part.Params...)
		all.Running = append(all.Running, part.Running...)
	}
	return all
}

// applyRows merges the puts or applies them one after the other, as the training says.
func (r *replicas) applyRows(s *rowShard, w role.Work, puts []batchPut) error {
	return s.applyStep(w.Step, puts, r.training, int(w.StepSamples))
}

// unserved is the part of a strategy without dense PSs.
type unserved struct{}

var errUnserved = errors.New("type: no dense PS holds the network")

func (unserved) load(_ int32, pulled [][]float32) error {
	if len(pulled) > 0 {
		return errUnserved
	}
	return nil
}

func (unserved) readShard(int32) ([]float32, error)      { return nil, errUnserved }
func (unserved) pushOf(*model.Vector, int32) []float32   { return nil }
func (unserved) applyPush(int32, [][]float32) error      { return errUnserved }
func (unserved) checkShard(msg.Message, []float32) error { return errUnserved }
func (unserved) servers() int                            { return 0 }

// unreduced is the part of a strategy without all-reduces.
type unreduced struct{}

func (unreduced) newSum(int32) *model.Vector { return nil }

func (unreduced) reduce(*model.Vector, []*model.Vector, int32, Collective) error {
	return errors.New("exec: the mode has no all-reduce")
}

// unaveraged is the part of a strategy that does not average replicas.
type unaveraged struct{}

var errUnaveraged = errors.New("exec: the mode averages no replicas")

func (unaveraged) snapshot(int32) (*model.Vector, error)             { return nil, errUnaveraged }
func (unaveraged) average(int32, *model.Vector, *model.Vector) error { return errUnaveraged }
