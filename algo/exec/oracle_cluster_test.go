package exec_test

import (
	"math/rand/v2"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// oracleGroups is V, the number of groups that a global batch is cut into if ranks are a power of two.
const oracleGroups = 4

// idsOfSlot is the number of different ids of a slot.
const idsOfSlot = 20

// samples is a source of random samples with a summed and a raw slot, whose every seventh step is short.
type samples struct {
	batches []*batch.Batch
	class   int // of the rows of the raw slot
}

func (s *samples) Steps() int                          { return len(s.batches) }
func (s *samples) Samples(step int) int                { return s.batches[step].Samples }
func (s *samples) Read(step int) (*batch.Batch, error) { return s.batches[step], nil }
func (s *samples) Schema() *batch.Schema {
	return &batch.Schema{
		Slots: []batch.Slot{
			{Name: "tags", Dim: 3},
			{Name: "history", Dim: 3, Class: s.class, Pooling: batch.Raw, FixedSize: 2},
		},
		Dense: []string{"age", "hours"}, Labels: []string{"click"}, PrefixBits: 8,
	}
}

func newSamples(seed uint64) *samples {
	s, draw := &samples{}, rng.New(seed, "samples")
	for step := range oracleSteps {
		b := &batch.Batch{Samples: 42, Slots: []batch.Jagged{{Offsets: []int32{0}}, {Offsets: []int32{0}}}}
		if step%7 == 6 {
			b.Samples = 27
		}
		for range b.Samples {
			for i := range b.Slots {
				for range draw.IntN(4) {
					b.Slots[i].IDs = append(b.Slots[i].IDs, draw.Uint64N(idsOfSlot))
				}
				b.Slots[i].Offsets = append(b.Slots[i].Offsets, int32(len(b.Slots[i].IDs)))
			}
			b.Dense = append(b.Dense, float32(draw.NormFloat64()), float32(draw.NormFloat64()))
			b.Labels = append(b.Labels, float32(min(draw.IntN(5), 1)))
		}
		s.batches = append(s.batches, b)
	}
	return s
}

// training returns the job of a setting.
func (s *setting) training() job.Job {
	t := job.Default()
	t.Training.Mode, t.Training.Overlap = s.mode, s.overlap
	t.Roles.Ranks, t.Roles.DensePSs = s.ranks, s.denseServers
	t.Training.Prefetch, t.Training.Groups, t.Training.GlobalBatch = 3, oracleGroups, 42
	switch s.mode {
	case job.SSP:
		t.Training.ModeSettings = map[string]int{"slack": s.slack}
	case job.AsyncAverage:
		t.Training.ModeSettings = map[string]int{"every": s.every}
	}
	t.Model.Spec = model.Spec{
		Kind: model.FeedForward, EmbeddingDim: 3, Top: []int{5}, Activation: model.ReLU, BatchNorm: s.norm,
	}
	t.Rows.Init = 0.5
	t.Model.Optimizer = opt.DenseSpec{
		Kind: s.dense.kind, Rate: s.dense.rate, Order: opt.Order(s.dense.order), Epsilon: s.dense.epsilon,
		InitialAccumulator: s.dense.initial, Beta1: s.dense.mean, Beta2: s.dense.root, ClipNorm: s.clip,
		Schedule: s.dense.schedule.spec(),
	}
	t.Rows.Optimizer = s.rows.ofRows()
	if s.own != nil {
		t.Data.Slots = []job.SlotSetting{{Slot: "history", Optimizer: new(s.own.ofRows()), Init: new(0.25)}}
	}
	return t
}

// ofRows returns the setting as an optimizer of rows.
func (o *optimizerSetting) ofRows() opt.RowSpec {
	return opt.RowSpec{Kind: o.kind, Rate: o.rate, Order: opt.Order(o.order), Epsilon: o.epsilon,
		InitialAccumulator: o.initial, Schedule: o.schedule.spec()}
}

func (s scheduleSetting) spec() opt.Schedule {
	return opt.Schedule{WarmUp: s.warmUp, Decay: s.decay, Steps: s.steps, Factor: s.factor}
}

// run is the oracle's input from a training, and the expected result.
type run struct {
	source  *samples
	start   *modelState
	owners  map[rowName]int // the embedding PS of each row
	records []event.Record
	end     *modelState
}

// cluster drives all roles of a training: one possible event at a time, chosen at random.
type cluster struct {
	t        *testing.T
	cfg      *role.Config
	roster   role.Roster
	executor *exec.Executor
	draw     *rand.Rand
	nodes    []*node  // by roster
	able     []func() // what can happen next; a call for each item of a queue
	out      role.Outputs
	barrier  *role.Reduction
	records  []event.Record
	finished int32
}

// node is the role.Driver of one role.
type node struct {
	*cluster
	role    role.Role
	store   *exec.Store
	asked   role.LaneQueues[request]
	done    role.LaneQueues[role.Input]
	reduced role.Queue[role.Input]
	payload exec.Payload // of the message in hand
	free    func()       // of the payload
}

// train runs a training to its end, in the order of events that the seed picks.
func train(t *testing.T, s *setting, seed uint64) *run {
	t.Helper()
	training, source := s.training(), newSamples(seed)
	training.Training.Seed = seed
	for _, slot := range training.SlotRows() {
		source.class = slot.Class
	}
	if err := training.Validate(); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, draw: rng.New(seed, "order")}
	var err error
	if c.executor, err = exec.New(training, source, backend.Backend{}); err != nil {
		t.Fatal(err)
	}
	if c.cfg, err = training.RoleConfig(c.executor.Model().Layout(), 0, source.Steps()); err != nil {
		t.Fatal(err)
	}
	r := &run{source: source, start: &modelState{networks: c.networks(s)}}
	c.roster, c.barrier = c.cfg.Roster(), role.NewReduction(s.ranks, len(c.cfg.Buckets))
	for _, state := range role.New(c.cfg) {
		c.nodes = append(c.nodes, &node{cluster: c, role: state, store: exec.NewStore()})
	}
	for _, n := range c.nodes {
		n.step(role.Input{Kind: role.Start})
	}
	for len(c.able) > 0 {
		i, last := c.draw.IntN(len(c.able)), len(c.able)-1
		next := c.able[i]
		c.able[i], c.able = c.able[last], c.able[:last]
		next()
	}
	if c.finished != c.cfg.Ranks {
		t.Fatalf("%d of %d ranks have finished", c.finished, s.ranks)
	}
	r.records, r.end = c.records, &modelState{networks: c.networks(s)}
	r.readRows(t, c.executor, training)
	return r
}

// networks returns the dense network of each of its holders.
func (c *cluster) networks(s *setting) (all [][]tensor) {
	layout := c.executor.Model().Layout()
	named := func(v model.Values) (tensors []tensor) {
		for _, t := range layout.Tensors {
			tensors = append(tensors, tensor{t.Name, t.Shape, v.Params[t.Lo:t.Hi]})
		}
		if n := len(v.Running) / 2; n > 0 {
			tensors = append(tensors, tensor{runningMean, []int{n}, v.Running[:n]})
			tensors = append(tensors, tensor{runningVariance, []int{n}, v.Running[n:]})
		}
		return tensors
	}
	if s.averaged() {
		for _, at := range c.executor.Model().DenseHolders() {
			replica, err := c.executor.Model().Weights(at).Snapshot()
			if err != nil {
				c.t.Fatal(err)
			}
			all = append(all, named(replica))
		}
	}
	joined, err := c.executor.Model().ReadDense()
	if err != nil {
		c.t.Fatal(err)
	}
	return append(all, named(joined))
}

// readRows returns the rows of the training with their PS and their initial values, which it reads from a
// training that has not begun.
func (r *run) readRows(t *testing.T, p *exec.Executor, training job.Job) {
	fresh, err := exec.New(training, r.source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	schema := r.source.Schema()
	kinds := len(schema.Dims().Lengths())
	r.start.rows, r.end.rows, r.owners = map[rowName][]float32{}, map[rowName][]float32{}, map[rowName]int{}
	for slot := range schema.Slots {
		for id := range uint64(idsOfSlot) {
			name, sign := rowName{slot, id}, []uint64{schema.Signer(slot).Sign(id, 0)}
			for i, table := range p.Model().Tables() {
				values, initial := make([]float32, table.Dim()), make([]float32, table.Dim())
				if table.Snapshot(sign, values) > 0 {
					continue
				}
				if _, twice := r.owners[name]; twice {
					t.Fatalf("%+v is on two PSs", name)
				}
				if err := fresh.Model().Tables()[i].Lookup(sign, initial); err != nil {
					t.Fatal(err)
				}
				r.start.rows[name], r.end.rows[name], r.owners[name] = initial, values, i/kinds
			}
			if r.end.rows[name] == nil {
				t.Fatalf("%+v is on no PS", name)
			}
		}
	}
}

// step passes one input to a role and executes its outputs.
func (n *node) step(in role.Input) {
	n.out.Reset()
	n.role.HandleInput(0, in, &n.out)
	if err := role.Dispatch(&in, &n.out, n); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) Send(m msg.Message, from role.Handle) error {
	i, _ := n.roster.Index(m.To)
	to := n.nodes[i]
	payload, free := n.executor.Lend(n.store, m, from)
	n.able = append(n.able, func() {
		to.payload, to.free = payload, free
		to.step(role.Input{Kind: role.Received, Message: m})
	})
	return nil
}

func (n *node) QueueWork(w role.Work, operands role.Operands) error {
	queue := n.asked.Lane(w.Kind)
	queue.Push(request{w, operands})
	n.able = append(n.able, func() { n.perform(queue.Pop()) })
	return nil
}

// request is work that a role has asked for.
type request struct {
	work     role.Work
	operands role.Operands
}

// perform executes work; the role receives the result later.
func (n *node) perform(r request) {
	w := r.work
	queue := n.done.Lane(w.Kind)
	push := func(in role.Input) {
		queue.Push(in)
		n.able = append(n.able, func() { n.step(queue.Pop()) })
	}
	result, err := n.executor.Execute(n.role.Address(), n.store, w, r.operands, func(bucket int32) {
		push(role.Input{Kind: role.WorkPart, Work: w, Bucket: bucket})
	})
	if err != nil {
		n.t.Fatal(err)
	}
	push(role.Input{Kind: role.WorkDone, Work: w, Result: result})
}

func (n *node) Feed(c role.Contribution) error {
	n.executor.Feed(n.store, c)
	fed, err := n.barrier.Feed(int(c.Rank), c.Step, c.Bucket)
	if err != nil || fed != role.Complete {
		return err
	}
	n.executor.Reduce(c.Step, c.Bucket)
	for rank := range n.cfg.Ranks {
		i, _ := n.roster.Index(msg.Address{Role: msg.NNWorker, Index: rank})
		to := n.nodes[i]
		to.reduced.Push(role.Input{
			Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: c.Step}, Bucket: c.Bucket,
		})
		n.able = append(n.able, func() { to.step(to.reduced.Pop()) })
	}
	return nil
}

func (n *node) Keep(m msg.Message, as role.Handle) error {
	n.executor.Keep(n.store, m, as, n.payload, n.free)
	return nil
}

func (n *node) Release(h role.Handle) error {
	n.store.Release(h)
	return nil
}

func (n *node) Observe(e event.Record) error {
	n.records = append(n.records, e)
	return nil
}

func (n *node) Finish() error {
	n.finished++
	return nil
}

func (n *node) SetTimer(unit.Tick) error { return nil } // none is set: no message is lost
func (n *node) Halt(reason error) error  { return reason }
