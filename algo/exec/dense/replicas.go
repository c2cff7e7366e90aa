package dense

import (
	"errors"

	"tandem/algo/exec/embedding"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// replicas is the base of all strategies: a replica for every rank of this process. Without overrides it
// trains each replica by itself, with no all-reduce, no averaging and no dense PS.
type replicas struct {
	Config
	unserved
	unreduced
	unaveraged
	byRank []model.Replica // nil where the rank is not here
	first  int             // the global step that roles count as step 0
}

// replicaKind is what the replicas of a strategy have in common.
type replicaKind struct {
	optimizer *opt.DenseSpec // nil: copies of what dense PSs train
	summed    bool           // see model.ReplicaConfig
}

// newReplicas returns the replicas of the ranks of this process. In the memory of the host it calls weights
// once for each of them.
func newReplicas(c Config, kind replicaKind, weights func() (*model.HostWeights, error)) (replicas, error) {
	r := replicas{Config: c, byRank: make([]model.Replica, c.Job.Roles.Ranks)}
	for i := range r.byRank {
		if !c.Here(nnWorkerAt(int32(i))) {
			continue
		}
		var err error
		r.byRank[i], err = c.newReplica(model.ReplicaConfig{
			Rank: i, Ranks: c.Job.Roles.Ranks, Optimizer: kind.optimizer, Summed: kind.summed,
			Groups:     c.Job.GroupsPerRank(),
			SamplesMax: (c.Job.Training.GlobalBatch-1)/c.Job.TotalGroups() + 1, Rows: c.Rows,
		}, weights)
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// newReplica returns a replica that the Trainer makes, or one on the given weights if there is no Trainer.
func (c *Config) newReplica(
	of model.ReplicaConfig, weights func() (*model.HostWeights, error),
) (model.Replica, error) {
	if c.Trainer == nil {
		w, err := weights()
		if err != nil {
			return nil, err
		}
		return model.NewHostReplica(w, of.Rank, of.Groups, of.SamplesMax), nil
	}
	of.Initial = c.zeros()
	if of.Optimizer != nil {
		var err error
		if of.Initial, err = model.InitialValues(c.Engine, c.Job.Training.Seed); err != nil {
			return nil, err
		}
	}
	return c.Trainer.NewReplica(of)
}

// zeros returns values of the lengths that the whole network has.
func (c *Config) zeros() model.Values {
	return model.Values{
		Params: make([]float32, c.layout().Params), Running: make([]float32, c.layout().Running),
	}
}

// newWeights returns the initial weights of a training's network.
func (c *Config) newWeights() (*model.HostWeights, error) {
	optimizer, err := model.OptimizerOf(c.Engine, c.Job.Model.Optimizer)
	if err != nil {
		return nil, err
	}
	initial, err := model.InitialValues(c.Engine, c.Job.Training.Seed)
	if err != nil {
		return nil, err
	}
	return model.NewHostWeights(c.Engine, initial, optimizer, c.Pool), nil
}

func nnWorkerAt(rank int32) msg.Address { return msg.Address{Role: msg.NNWorker, Index: rank} }
func denseServerAt(i int32) msg.Address { return msg.Address{Role: msg.DensePS, Index: i} }
func (c *Config) layout() *model.Layout { return c.Engine.Layout() }

func (r *replicas) BeginAt(step int) { r.first = step }

func (r *replicas) Replica(rank int32) model.Replica { return r.byRank[rank] }

func (r *replicas) Gradients(w role.Work) *model.Vector { return r.byRank[w.Rank].Gradients() }

// ApplyGradients takes an optimizer step on a rank's replica with its own mean gradient.
func (r *replicas) ApplyGradients(w role.Work, gradients *model.Vector) error {
	return r.byRank[w.Rank].StepSum(gradients, int(max(w.Samples, 1)), r.first+int(w.Step))
}

// HolderRoles returns rank 0: ranks that train in lock step all have the same values.
func (r *replicas) HolderRoles() []msg.Address { return []msg.Address{nnWorkerAt(0)} }

func (r *replicas) Weights(at msg.Address) model.Weights {
	if at.Role != msg.NNWorker || r.byRank[at.Index] == nil {
		return nil
	}
	return r.byRank[at.Index]
}

// Export implements Holders for ranks.
func (r *replicas) Export(at msg.Address) (Part, error) {
	state, err := r.byRank[at.Index].Export()
	return Part{At: at, State: state, PerStep: 1}, err
}

// Import implements Holders for ranks that hold the network: all of them hold the same.
func (r *replicas) Import(at msg.Address, parts []Part) error { return r.importFrom(at, parts, 1) }

// importFrom is Import, in a mode in which a number of roles hold the network.
func (r *replicas) importFrom(at msg.Address, parts []Part, holders int) error {
	w := r.Weights(at)
	if w == nil {
		return nil
	}
	like := Part{At: at, State: model.State{Values: r.zeros()}, PerStep: 1}
	return w.Restore(convert(parts, like, holders, r.layout()).State)
}

// Join returns the parts one after the other.
func (r *replicas) Join(parts []model.Values) (all model.Values) {
	for _, part := range parts {
		all.Params = append(all.Params, part.Params...)
		all.Running = append(all.Running, part.Running...)
	}
	return all
}

// ApplyRows merges the puts or applies them one after the other, as the job says.
func (r *replicas) ApplyRows(s *embedding.Shard, w role.Work, puts []embedding.BatchPut) error {
	return s.ApplyStep(w.Step, puts, r.Job, int(w.StepSamples))
}

// unserved implements Servers for strategies without dense PSs.
type unserved struct{}

var errUnserved = errors.New("dense: the mode has no dense PS")

func (unserved) LoadPulled(_ int32, pulled [][]float32) error {
	if len(pulled) > 0 {
		return errUnserved
	}
	return nil
}

func (unserved) ReadShard(int32) ([]float32, error)      { return nil, errUnserved }
func (unserved) PushTo(*model.Vector, int32) []float32   { return nil }
func (unserved) ApplyPushes(int32, [][]float32) error    { return errUnserved }
func (unserved) CheckShard(msg.Message, []float32) error { return errUnserved }
func (unserved) ServerCount() int                        { return 0 }

// unreduced implements Reductions for strategies without all-reduces.
type unreduced struct{}

func (unreduced) NewSum(int32) *model.Vector { return nil }

func (unreduced) Reduce(*model.Vector, []*model.Vector, Buckets, Collective) error {
	return errors.New("dense: the mode has no all-reduce")
}

// unaveraged refuses averaging, for strategies that average no replicas.
type unaveraged struct{}

var errUnaveraged = errors.New("dense: the mode averages no replicas")

func (unaveraged) Snapshot(int32) (*model.Vector, error)             { return nil, errUnaveraged }
func (unaveraged) Average(int32, *model.Vector, *model.Vector) error { return errUnaveraged }
