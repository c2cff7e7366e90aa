package work

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/collective"
	"tandem/algo/model"
	"tandem/algo/msg"
	"tandem/algo/opt"
	"tandem/algo/role"
)

// replicas is what strategies have in common: a replica for every rank that is here. As a strategy it trains each
// for itself, with nobody else: it sums nothing, and has no dense PS.
type replicas struct {
	denseConfig
	byRank []*model.Replica // nil where the rank is not here
}

// newReplicas returns replicas on the weights that a function makes, which is called for every rank that is here.
func newReplicas(c denseConfig, weights func() (*model.Weights, error)) (replicas, error) {
	r := replicas{denseConfig: c, byRank: make([]*model.Replica, c.training.Ranks)}
	for i := range r.byRank {
		if !c.here(nnWorkerAt(int32(i))) {
			continue
		}
		w, err := weights()
		if err != nil {
			return r, err
		}
		r.byRank[i] = model.NewReplica(w, c.training.GroupsPerRank(), (c.training.GlobalBatch-1)/c.training.TotalGroups()+1)
	}
	return r, nil
}

// newWeights returns the initial weights of a training's network.
func (c *denseConfig) newWeights() (*model.Weights, error) {
	optimizer, err := opt.NewDense(c.training.Dense)
	if err != nil {
		return nil, err
	}
	return model.NewWeights(c.engine, model.InitialValues(c.engine, c.training.Seed), optimizer, c.crew), nil
}

func nnWorkerAt(rank int32) msg.Address   { return msg.Address{Role: msg.NNWorker, Index: rank} }
func denseServerAt(i int32) msg.Address   { return msg.Address{Role: msg.DenseServer, Index: i} }
func (r *replicas) layout() *model.Layout { return r.engine.Layout() }
func (r *replicas) refuse(what any) error {
	return fmt.Errorf("work: mode %s has no %v", r.rule.Name(), what)
}

func (r *replicas) replica(rank int32) *model.Replica { return r.byRank[rank] }

func (r *replicas) load(_ int32, pulled [][]float32) error {
	if len(pulled) > 0 {
		return r.refuse("parameters to pull")
	}
	return nil
}

func (r *replicas) gradients(w role.Work) *model.Vector { return r.byRank[w.Rank].Gradients() }

// apply gives a rank's replica the optimizer step of its own mean gradient.
func (r *replicas) apply(w role.Work, gradients *model.Vector) error {
	r.byRank[w.Rank].StepSum(gradients, int(max(w.Samples, 1)), int(w.Step))
	return nil
}

func (r *replicas) snapshot(int32) (*model.Vector, error) { return nil, r.refuse(role.Snapshot) }

func (r *replicas) average(int32, *model.Vector, *model.Vector) error { return r.refuse(role.Average) }

func (r *replicas) newSum(int32) *model.Vector { return nil }

func (r *replicas) reduce(*model.Vector, []*model.Vector, int32, Collective) error {
	return r.refuse("all-reduce")
}

func (r *replicas) readShard(int32) ([]float32, error)    { return nil, r.refuse(role.ReadDense) }
func (r *replicas) pushOf(*model.Vector, int32) []float32 { return nil }
func (r *replicas) applyPush(int32, [][]float32) error    { return r.refuse(role.ApplyPush) }
func (r *replicas) checkShard(msg.Message, []float32) error {
	return errors.New("type: no dense PS holds the network")
}

func (r *replicas) servers() int { return 0 }

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

// bucketOf returns a bucket of what every rank here has given, zeros for nothing. Copies leave what was given as
// it is.
func bucketOf(given []*model.Vector, b model.Bucket, copies bool) [][]float32 {
	values := make([][]float32, len(given))
	for i, v := range given {
		switch {
		case v == nil:
			values[i] = make([]float32, b.Hi-b.Lo)
		case copies:
			values[i] = slices.Clone(v.Bucket(b))
		default:
			values[i] = v.Bucket(b)
		}
	}
	return values
}

// together is the Collective of ranks that are all in this process.
type together struct{}

// Sum implements Collective.
func (together) Sum(given [][]float32) error {
	collective.Tree(given)
	return nil
}

// Gather implements Collective.
func (together) Gather(given [][]float32) ([]float32, error) { return slices.Concat(given...), nil }
