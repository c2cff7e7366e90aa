package dense

import (
	"fmt"
	"slices"
	"sync"

	"tandem/algo/job"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// served is the strategy of async-ps and ssp: dense PSs hold the network, and a rank's replica holds the
// parameters that the rank has pulled last.
type served struct {
	replicas
	shards []*denseShard // by dense PS
	// share is the divisor of a rank's mean gradient before a push.
	share int
	// perStep is the number of optimizer steps of a dense PS that the schedule counts as one.
	perStep int
}

// denseShard is the data of one dense PS. Only the PS's own lane uses it.
type denseShard struct {
	part               model.Bucket
	*model.HostWeights // nil where the PS is not here
	// stats has the batch-norm statistics of groups that are not yet folded into the running statistics,
	// which live on dense-ps 0. They fold once for every N pushes of N ranks, as often as in a mode that
	// reduces gradients.
	stats []float32
}

// newServed returns a strategy in which a rank divides its mean gradient by share before it pushes, and the
// learning rate's schedule counts stepsPerStep optimizer steps of a dense PS as one.
func newServed(c Config, share, stepsPerStep int) (*served, error) {
	layout := c.Engine.Layout()
	d := &served{share: share, perStep: stepsPerStep}
	var err error
	d.replicas, err = newReplicas(c, replicaKind{}, func() (*model.HostWeights, error) {
		return model.NewHostWeights(c.Engine, c.zeros(), nil, nil), nil
	})
	if err != nil {
		return nil, err
	}
	if err := CheckOptimizer(c.Engine, c.Job); err != nil {
		return nil, err
	}
	initial := sync.OnceValues(func() (model.Values, error) {
		return model.InitialValues(c.Engine, c.Job.Training.Seed)
	})
	for i, part := range c.Job.DenseShards(layout) {
		s := &denseShard{part: part}
		d.shards = append(d.shards, s)
		if !c.Here(denseServerAt(int32(i))) {
			continue
		}
		optimizer, err := opt.NewDenseShard(c.Job.Model.Optimizer, stepsPerStep)
		if err != nil {
			return nil, err
		}
		whole, err := initial()
		if err != nil {
			return nil, err
		}
		own := model.Values{Params: whole.Params[part.Lo:part.Hi:part.Hi]}
		if i == 0 {
			own.Running = whole.Running
		}
		s.HostWeights = model.NewHostWeights(c.Engine, own, optimizer, nil)
	}
	return d, nil
}

// CheckOptimizer refuses a network with an optimizer of its own in modes with dense PSs.
func CheckOptimizer(e model.Engine, j *job.Job) error {
	rule, err := j.Rule()
	if err != nil || !rule.Dense().DensePSs { // sequential training has no rule
		return nil
	}
	if o, ok := e.(model.OwnOptimizer); ok && o.Optimizer(j.Model.Optimizer) != nil {
		return fmt.Errorf("mode %s: the network has an optimizer of its own, which takes steps of the whole "+
			"network, and each dense PS has a part of it: choose another mode, or leave it out",
			j.Training.Mode)
	}
	return nil
}

func (d *served) ServerCount() int { return len(d.shards) }

// ReadShard copies a shard: its parameters, followed on dense-ps 0 by the running statistics.
func (d *served) ReadShard(server int32) ([]float32, error) {
	v := d.shards[server].Host()
	return append(append(make([]float32, 0, len(v.Params)+len(v.Running)), v.Params...), v.Running...), nil
}

// LoadPulled copies pulled shards into a rank's replica.
func (d *served) LoadPulled(rank int32, pulled [][]float32) error {
	for i, values := range pulled {
		if err := d.check(values, i, d.layout().Running); err != nil {
			return err
		}
		part := d.shards[i].part
		n := part.Hi - part.Lo
		state := model.State{Values: model.Values{Params: values[:n], Running: values[n:]}}
		if err := d.byRank[rank].Import(part.Lo, state); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error unless values has the length of a shard, followed on dense-ps 0 by the given
// number of statistics.
func (d *served) check(values []float32, server, statistics int) error {
	part := d.shards[server].part
	want := part.Hi - part.Lo
	if server == 0 {
		want += statistics
	}
	if len(values) != want {
		return fmt.Errorf("%d values of dense-ps %d, whose shard has %d", len(values), server, want)
	}
	return nil
}

func (d *served) CheckShard(m msg.Message, values []float32) error {
	server, statistics := int(m.From.Index), d.layout().Running
	if m.Kind == msg.Push {
		server, statistics = int(m.To.Index), d.pushedStats()
	}
	if server < 0 || server >= len(d.shards) {
		return fmt.Errorf("server: %d, want 0 to %d", server, len(d.shards)-1)
	}
	return d.check(values, server, statistics)
}

// pushedStats is the length of the statistics in a push to dense-ps 0.
func (d *served) pushedStats() int { return d.Job.GroupsPerRank() * d.layout().Stats }

// Gradients returns what a rank pushes: its mean gradient, clipped as the optimizer says and divided by
// share, and the batch-norm statistics of its groups.
func (d *served) Gradients(w role.Work) *model.Vector {
	sums := d.byRank[w.Rank].Gradients()
	n := len(sums.Values)
	push := append(append(make([]float32, 0, n+len(sums.Stats)), sums.Values...), sums.Stats...)
	mean := push[:n]
	vec.Divide(mean, float32(max(w.Samples, 1)))
	d.Job.Model.Optimizer.Clip(mean)
	vec.Divide(mean, float32(d.share))
	return &model.Vector{Values: mean, Stats: push[n:]}
}

func (d *served) PushTo(push *model.Vector, server int32) []float32 {
	part := d.shards[server].part
	values := push.Values[part.Lo:part.Hi:part.Hi]
	if server == 0 {
		values = append(values, push.Stats...)
	}
	return values
}

// ApplyPushes takes an optimizer step on a shard for each push.
func (d *served) ApplyPushes(server int32, pushes [][]float32) error {
	s := d.shards[server]
	for _, values := range pushes {
		if err := d.check(values, int(server), d.pushedStats()); err != nil {
			return err
		}
		n := s.Params()
		s.Step(values[:n])
		s.stats = append(s.stats, values[n:]...)
		if s.Steps()%d.Job.Roles.Ranks == 0 {
			s.foldStats()
		}
	}
	return nil
}

// foldStats folds the collected statistics into the running statistics, as one step.
func (s *denseShard) foldStats() {
	s.FoldStats(s.stats)
	s.stats = s.stats[:0]
}

// HolderRoles returns the dense PSs.
func (d *served) HolderRoles() (all []msg.Address) {
	for i := range d.shards {
		all = append(all, denseServerAt(int32(i)))
	}
	return all
}

func (d *served) Weights(at msg.Address) model.Weights {
	if at.Role != msg.DensePS {
		return d.replicas.Weights(at)
	}
	if s := d.shards[at.Index]; s.HostWeights != nil {
		return s
	}
	return nil
}

// Export implements Holders for dense PSs.
func (d *served) Export(at msg.Address) (Part, error) {
	s := d.shards[at.Index]
	state, err := s.HostWeights.Export()
	return Part{At: at, Lo: s.part.Lo, State: state, PerStep: d.perStep, Pending: slices.Clone(s.stats)}, err
}

// Import implements Holders. Ranks hold nothing: they pull before every forward pass.
func (d *served) Import(at msg.Address, parts []Part) error {
	if at.Role != msg.DensePS || d.shards[at.Index].HostWeights == nil {
		return nil
	}
	s := d.shards[at.Index]
	like := Part{At: at, Lo: s.part.Lo, State: model.State{Values: s.Host()}, PerStep: d.perStep}
	found := convert(parts, like, len(d.shards), d.layout())
	if err := s.Restore(found.State); err != nil {
		return err
	}
	s.stats = found.Pending
	return nil
}
