// Package work computes what roles ask for. Any driver that has the numbers,
// the runtime first of all, hands it the work items of its roles and carries
// the payloads of their messages through it; a driver that only prices work
// has no use for it.
//
// A Performer is shared by all roles of one process. Work items of different
// (role, lane) may be performed at the same time, those of one lane may not.
package work

import (
	"errors"
	"fmt"
	"math/bits"

	"tandem/algo/batch"
	"tandem/algo/compress"
	"tandem/algo/job"
	"tandem/algo/kernel"
	"tandem/algo/metric"
	"tandem/algo/model"
	"tandem/algo/msg"
	"tandem/algo/opt"
	"tandem/algo/pace"
	"tandem/algo/role"
	"tandem/algo/route"
	"tandem/algo/table"
	"tandem/algo/unit"
)

// Performer computes the work of a run.
type Performer struct {
	training job.Training
	schema   *batch.Schema
	source   batch.Source
	engine   model.Engine
	dim      int         // length of an embedding row
	width    int         // pooled embedding values of a sample
	quorum   bool        // whether the gradients of some ranks may be dropped
	shards   []*rowShard // by PS; nil where it is not here
	dense    denseStrategy
	rounds   rounds  // of all-reduces
	buffers  buffers // of payloads that roles of this process send each other
}

// New returns a performer of all roles on a machine. The errors are those of the
// training's parts.
func New(t job.Training, source batch.Source, m Machine) (*Performer, error) {
	return NewPart(t, source, m, func(msg.Address) bool { return true })
}

// NewPart returns a performer of those roles that are here: of others it keeps
// neither rows nor scratch. Only the data loader's batches are ever read; to
// others the source is its schema.
func NewPart(t job.Training, source batch.Source, m Machine, here func(msg.Address) bool) (*Performer, error) {
	schema := source.Schema()
	engine, err := NewEngine(&t, schema, m)
	if err != nil {
		return nil, err
	}
	p := &Performer{
		training: t, schema: schema, source: source, engine: engine, dim: t.Model.Dim(), width: schema.EmbeddingWidth(),
	}
	rule, err := t.Rule()
	if err != nil {
		return nil, err
	}
	p.quorum = rule.Dense().Quorum > 0
	p.shards = make([]*rowShard, t.ParameterServers)
	for i := range p.shards {
		if !here(msg.Address{Role: msg.ParameterServer, Index: int32(i)}) {
			continue
		}
		rows, err := NewTable(&t, m.arena())
		if err != nil {
			return nil, err
		}
		p.shards[i] = newRowShard(rows)
		if weigher, ok := rule.(pace.Weigher); ok {
			p.shards[i].weight = weigher.Weight
		}
	}
	p.dense, err = newDenseStrategy(denseConfig{&p.training, rule, engine, here, kernel.CrewOf(m.Products)})
	return p, err
}

// NewEngine checks a schema and returns what runs the dense network for it on a
// machine: the machine's own engine, or the built-in one (see model.New).
func NewEngine(t *job.Training, schema *batch.Schema, m Machine) (model.Engine, error) {
	if err := schema.Validate(); err != nil {
		return nil, err
	}
	if m.Engine != nil {
		return m.Engine(schema)
	}
	return model.New(t.Model, schema, m.Multiplier(t))
}

// NewTable returns one empty shard of the embedding rows.
func NewTable(t *job.Training, arena table.Arena) (*table.Table, error) {
	optimizer, err := opt.NewRow(t.Rows)
	if err != nil {
		return nil, err
	}
	precision, err := table.ParsePrecision(t.RowPrecision)
	if err != nil {
		return nil, fmt.Errorf("row-precision: %w", err)
	}
	rows, err := table.New(table.Config{
		Dim: t.Model.Dim(), Optimizer: optimizer, Seed: t.Seed, InitBound: float32(t.RowInit), Admission: t.RowAdmission, Precision: precision,
		MaxRows: t.RowCapacity, MaxBytes: t.RowMemory, Evict: t.RowEviction == job.SecondChance,
	}, arena)
	if err != nil {
		return nil, fmt.Errorf("rows of one PS: %w", err)
	}
	return rows, nil
}

// Layout returns the layout of the dense network.
func (p *Performer) Layout() *model.Layout { return p.engine.Layout() }

// Tables returns the shards that are here, by PS. They belong to the performer's
// roles until the run is over.
func (p *Performer) Tables() []*table.Table {
	var tables []*table.Table
	for _, s := range p.shards {
		if s != nil {
			tables = append(tables, s.rows)
		}
	}
	return tables
}

// Missed returns, likewise, a count for every row gradient applied: the updates
// of the row between the read that the gradient was computed from and the
// gradient's own. It is what staleness comes to where ids meet.
func (p *Performer) Missed() metric.Histogram {
	var all metric.Histogram
	for _, s := range p.shards {
		if s != nil {
			all.Merge(&s.missed)
		}
	}
	return all
}

// Weights returns the weights of the dense network that a role holds: a dense PS its shard, an NN worker its
// replica, as last pulled if it has to; nil if the role has none, or is not here. They must not be read while
// the role is at work.
func (p *Performer) Weights(at msg.Address) *model.Weights { return p.dense.weights(at) }

// DenseDigest returns, likewise, a fingerprint of the dense network: of what its
// holders have, folded.
func (p *Performer) DenseDigest() uint64 {
	var digests []uint64
	for _, at := range p.DenseHolders() {
		digests = append(digests, p.Digest(at))
	}
	return FoldDigests(digests)
}

// FoldDigests returns one digest for those of all of DenseHolders, in order; of
// one, itself.
func FoldDigests(digests []uint64) (folded uint64) {
	for _, d := range digests {
		folded = bits.RotateLeft64(folded, 1) ^ d
	}
	return folded
}

// Digest returns, likewise, a fingerprint of the parameters that a role holds: a PS of its rows, others of their
// Weights, 0 if there are none.
func (p *Performer) Digest(at msg.Address) uint64 {
	if at.Role == msg.ParameterServer {
		return p.shards[at.Index].rows.Digest()
	}
	if w := p.Weights(at); w != nil {
		return w.Digest()
	}
	return 0
}

// Engine returns the engine of the dense network.
func (p *Performer) Engine() model.Engine { return p.engine }

// Do performs one work item of a role on operands that s holds or will hold. part is
// called for every bucket that Backward finishes, in order; a bucket may be fed from then on.
func (p *Performer) Do(at msg.Address, s *Store, w role.Work, o role.Operands, part func(bucket int32)) (role.Result, error) {
	switch w.Kind {
	case role.Read:
		return p.read(s, w, o)
	case role.Split:
		return p.split(s, o)
	case role.ReadRows:
		return p.readRows(at, s, w, o)
	case role.Pool:
		return p.pool(s, o)
	case role.Forward:
		return p.forward(s, w, o)
	case role.Backward:
		return p.backward(s, w, o, part), nil
	case role.Merge:
		return p.merge(s, w, o)
	case role.Apply, role.ApplyStep:
		for _, h := range o.Drops {
			p.shards[at.Index].forget(batchName{h.Rank, h.Step})
		}
		if w.Kind == role.ApplyStep {
			return p.applyStep(at, s, w, o)
		}
		return p.apply(at, s, w, o)
	case role.DenseApply:
		return role.Result{}, p.dense.apply(w, get[*model.Vector](s, o.Reads[0]))
	case role.ReadDense:
		return p.readDense(at, s, o)
	case role.ApplyPush:
		return role.Result{}, p.dense.applyPush(at.Index, getAll[[]float32](s, o.Reads))
	case role.Snapshot:
		return role.Result{}, p.snapshot(s, w, o)
	case role.Average:
		return role.Result{}, p.dense.average(w.Rank, get[*model.Vector](s, o.Reads[0]), get[*model.Vector](s, o.Reads[1]))
	}
	return role.Result{}, fmt.Errorf("work: unknown kind %d", w.Kind)
}

// read cuts the global batch of a step into the parts of the ranks.
func (p *Performer) read(s *Store, w role.Work, o role.Operands) (role.Result, error) {
	b, err := p.source.Read(int(w.Step))
	if err != nil {
		return role.Result{}, err
	}
	if b.Samples < 1 {
		return role.Result{}, errors.New("the batch is empty")
	}
	parts := batch.Cut(b, p.training.TotalGroups(), p.training.Ranks)
	all := &dealt{parts: parts}
	var r role.Result
	for i := range parts {
		part := &parts[i]
		ids := newIDs(part, p.training.Index == job.IndexCompressed)
		all.ids = append(all.ids, ids)
		r.Samples = append(r.Samples, int32(part.Samples))
		r.IDBytes = append(r.IDBytes, unit.Bytes(ids.Size()))
		r.SampleBytes = append(r.SampleBytes, unit.Bytes(4*(len(part.Dense)+len(part.Labels))))
	}
	s.put(o.Makes[0], all)
	return r, nil
}

// split resolves the ids of a batch to signs by PS.
func (p *Performer) split(s *Store, o role.Operands) (role.Result, error) {
	ids := get[*IDs](s, o.Reads[0])
	part, err := ids.part(len(p.schema.Slots))
	if err != nil {
		return role.Result{}, err
	}
	routed := &resolved{Routed: route.Route(p.schema, part, p.training.ShardPlan())}
	var r role.Result
	for shard := range p.shards {
		own := routed.Of(shard)
		signs := compress.Signs{Plain: own}
		if p.training.Index == job.IndexCompressed {
			signs = compress.PackSigns(own, p.schema.PrefixBits)
		}
		routed.signs = append(routed.signs, signs)
		r.Rows = append(r.Rows, int32(len(own)))
		r.SignBytes = append(r.SignBytes, unit.Bytes(signs.Size()))
		r.ValueBytes = append(r.ValueBytes, unit.Bytes(p.training.Wire.Size(len(own)*p.dim)))
	}
	s.put(o.Makes[0], routed)
	return r, nil
}

// putValues packs the values that work has made, and has no more use for.
func (p *Performer) putValues(s *Store, h role.Handle, values []float32) unit.Bytes {
	packed := compress.Pack(p.training.Wire, values)
	p.packedAway(values)
	s.put(h, packed)
	return unit.Bytes(packed.Size())
}

// packedAway lends values out again that have been packed, unless what they were
// packed to is these values.
func (p *Performer) packedAway(values []float32) {
	if p.training.Wire != compress.FP32 {
		p.buffers.put(values)
	}
}

// readRows looks signs up on a PS.
func (p *Performer) readRows(at msg.Address, s *Store, w role.Work, o role.Operands) (role.Result, error) {
	signs, err := get[compress.Signs](s, o.Reads[0]).Unpack()
	if err != nil {
		return role.Result{}, err
	}
	rows := p.buffers.get(len(signs) * p.dim)
	if err := p.shards[at.Index].read(batchName{w.Rank, w.Step}, signs, rows); err != nil {
		return role.Result{}, p.advise(err)
	}
	return role.Result{Bytes: p.putValues(s, o.Makes[0], rows)}, nil
}

// pool gathers the rows of all PSs and pools them.
func (p *Performer) pool(s *Store, o role.Operands) (role.Result, error) {
	routed := get[*resolved](s, o.Reads[0])
	var rows []float32
	for shard := range p.shards {
		n := len(routed.Of(shard))
		if n == 0 {
			continue // it may not have been asked
		}
		answers := get[[]compress.Values](s, o.Reads[1])
		part, err := answers[shard].Unpack(n * p.dim)
		if err != nil {
			return role.Result{}, err
		}
		if n == len(routed.Signs) {
			rows = part
			continue
		}
		if rows == nil {
			joined := p.buffers.get(len(routed.Signs) * p.dim)
			defer p.buffers.put(joined)
			rows = joined[:0]
		}
		rows = append(rows, part...)
	}
	pooled := p.buffers.get(routed.Samples() * p.width)
	routed.Pool(pooled, p.schema, rows, p.dim)
	return role.Result{Bytes: p.putValues(s, o.Makes[0], pooled)}, nil
}

// merge turns gradients of pooled embeddings into row gradient sums by PS.
func (p *Performer) merge(s *Store, w role.Work, o role.Operands) (role.Result, error) {
	routed := get[*resolved](s, o.Reads[0])
	packed := get[compress.Values](s, o.Reads[1])
	grads, err := packed.Unpack(routed.Samples() * p.width)
	if err != nil {
		return role.Result{}, err
	}
	sums := p.buffers.get(len(routed.Signs) * p.dim)
	routed.Merge(sums, p.schema, grads, p.dim)
	puts := make([]*Put, len(p.shards))
	for shard := range puts {
		lo, hi := int(routed.Bounds[shard]), int(routed.Bounds[shard+1])
		puts[shard] = &Put{
			Samples: int(w.Samples), Signs: routed.signs[shard], Sums: compress.Pack(p.training.Wire, sums[lo*p.dim:hi*p.dim:hi*p.dim]),
		}
	}
	p.packedAway(sums)
	s.put(o.Makes[0], puts)
	return role.Result{}, nil
}

// put returns a rank's put as its PS applies it.
func (p *Performer) put(s *Store, h role.Handle) (route.Put, error) {
	return get[*Put](s, h).unpack(int(h.Rank), p.dim)
}

// apply gives the rows of one rank's put their optimizer steps.
func (p *Performer) apply(at msg.Address, s *Store, w role.Work, o role.Operands) (role.Result, error) {
	put, err := p.put(s, o.Reads[0])
	if err != nil {
		return role.Result{}, err
	}
	byRank := p.training.Scale == job.ScaleRank
	return role.Result{}, p.advise(p.shards[at.Index].apply(batchName{w.Rank, w.Step}, put, int(w.StepSamples), byRank))
}

// applyStep gives the rows of a step's puts their optimizer steps.
func (p *Performer) applyStep(at msg.Address, s *Store, w role.Work, o role.Operands) (role.Result, error) {
	puts := make([]batchPut, len(o.Reads))
	for i, h := range o.Reads {
		put, err := p.put(s, h)
		if err != nil {
			return role.Result{}, err
		}
		puts[i] = batchPut{batchName{h.Rank, h.Step}, put}
	}
	return role.Result{}, p.advise(p.dense.applyRows(p.shards[at.Index], w, puts))
}

// advise adds which settings of the job may help.
func (p *Performer) advise(err error) error {
	if errors.Is(err, table.ErrFull) {
		return fmt.Errorf("%w (in the job: row-capacity, row-memory; row-eviction: second-chance; parameter-servers)", err)
	}
	if p.training.Wire == compress.FP16 && errors.Is(err, errGradients) {
		return fmt.Errorf("%w, or use wire fp16-block: fp16 has no numbers beyond 65,504", err)
	}
	return err
}
