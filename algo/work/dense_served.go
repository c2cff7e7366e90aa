package work

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/kernel"
	"tandem/algo/model"
	"tandem/algo/msg"
	"tandem/algo/opt"
	"tandem/algo/role"
	"tandem/algo/unit"
)

// servedDense is the dense network where dense PSs hold it, and the copies that
// ranks have pulled.
type servedDense struct {
	training *job.Training
	engine   model.Engine
	shards   []*denseShard // by dense PS; where one is not here, its part only
	replicas []*Dense      // by rank: parameters and running statistics as pulled; nil where it is not here
}

// denseShard is the numbers of one dense PS. Only the PS's own lane touches it.
type denseShard struct {
	part      model.Bucket
	optimizer opt.Dense
	params    []float32
	state     []float32
	// The running batch-norm statistics live on dense-ps 0. As where ranks reduce,
	// they fold once for as many pushes as there are ranks.
	running []float32
	stats   []float32
	pushes  int
}

func newServedDense(t *job.Training, engine model.Engine, here func(msg.Address) bool) (*servedDense, error) {
	d := &servedDense{training: t, engine: engine, replicas: make([]*Dense, t.Ranks)}
	params, running := engine.Init(t.Seed)
	for i, part := range t.DenseShards(engine.Layout()) {
		if !here(msg.Address{Role: msg.DenseServer, Index: int32(i)}) {
			d.shards = append(d.shards, &denseShard{part: part})
			continue
		}
		optimizer, err := opt.NewDenseShard(t.Dense, t.Ranks)
		if err != nil {
			return nil, err
		}
		s := &denseShard{part: part, optimizer: optimizer, params: params[part.Lo:part.Hi:part.Hi]}
		s.state = make([]float32, optimizer.StateSize(len(s.params)))
		optimizer.Init(s.state)
		if i == 0 {
			s.running = running
		}
		d.shards = append(d.shards, s)
	}
	for i := range d.replicas {
		if here(msg.Address{Role: msg.NNWorker, Index: int32(i)}) {
			d.replicas[i] = &Dense{
				Params: make([]float32, len(params)), Running: make([]float32, len(running)), layout: engine.Layout(),
			}
		}
	}
	return d, nil
}

// read copies a shard: its parameters, and on dense-ps 0 the running statistics
// behind them.
func (d *servedDense) read(server int32) []float32 {
	s := d.shards[server]
	return append(append(make([]float32, 0, len(s.params)+len(s.running)), s.params...), s.running...)
}

// install puts pulled shards into a rank's copy.
func (d *servedDense) install(rank int32, pulled [][]float32) error {
	replica := d.replicas[rank]
	for i, values := range pulled {
		if err := d.check(values, i, d.engine.Layout().Running); err != nil {
			return err
		}
		n := copy(replica.Params[d.shards[i].part.Lo:d.shards[i].part.Hi], values)
		copy(replica.Running, values[n:])
	}
	return nil
}

// check reports values of another length than a shard's, which on dense-ps 0 has
// statistics behind it.
func (d *servedDense) check(values []float32, server, statistics int) error {
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

// gradient returns what a rank pushes: its mean gradient, clipped as the optimizer
// says, divided by the number of ranks; and its groups' batch-norm statistics.
func (d *servedDense) gradient(sums []float32, samples int32, passes []model.Pass) []float32 {
	push := make([]float32, len(sums), len(sums)+len(passes)*d.engine.Layout().Stats)
	copy(push, sums)
	kernel.Divide(push, float32(max(samples, 1)))
	d.training.Dense.Clip(push)
	kernel.Divide(push, float32(d.training.Ranks))
	for _, pass := range passes {
		push = append(push, pass.Stats()...)
	}
	return push
}

// part returns what of a push belongs to a dense PS.
func (d *servedDense) part(push []float32, server int32) []float32 {
	part := d.shards[server].part
	values := push[part.Lo:part.Hi:part.Hi]
	if server == 0 {
		values = append(values, push[d.engine.Layout().Params:]...)
	}
	return values
}

// apply gives a shard the optimizer step of one push.
func (d *servedDense) apply(server int32, values []float32) error {
	groups := d.training.GroupsPerRank()
	if err := d.check(values, int(server), groups*d.engine.Layout().Stats); err != nil {
		return err
	}
	s := d.shards[server]
	s.optimizer.Step(s.params, s.state, values[:len(s.params)], s.pushes)
	s.pushes++
	s.stats = append(s.stats, values[len(s.params):]...)
	if server == 0 && s.pushes%d.training.Ranks == 0 {
		d.engine.UpdateRunning(s.running, s.stats)
		s.stats = s.stats[:0]
	}
	return nil
}

// readDense copies a shard for a rank.
func (p *Performer) readDense(server int32, s *Store, o role.Operands) role.Result {
	values := p.served.read(server)
	s.put(o.Makes[0], values)
	return role.Result{Bytes: unit.Bytes(4 * len(values))}
}

// applyPush gives a shard one rank's optimizer step.
func (p *Performer) applyPush(server int32, s *Store, o role.Operands) error {
	return p.served.apply(server, get[[]float32](s, o.Reads[0]))
}
