package reference

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/embedding"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// Ordered is Sequential with the rows read and updated in the order of another run. In a run with a
// synchronous network, such as that of hybrid, nothing else depends on the order of events, so Ordered
// computes the same bits.
type Ordered struct {
	*Sequential
	order   *Order
	at      int // accesses that have been made
	plan    shard.Plan
	batches map[embedding.BatchKey]*orderedBatch
}

// orderedBatch is the part of a step that a rank has, from its first read to its last update.
type orderedBatch struct {
	part     batch.Part
	samples  int // of the step
	routed   route.ByDim
	rows     []float32 // PS after PS
	sums     []float32 // as rows; nil until they are computed
	stats    []float32
	progress []progress // by PS
}

// progress says what has been done to the rows of a batch on a PS.
type progress uint8

const (
	unread progress = iota
	read
	updated
)

// errNotOrdered says what an order cannot be combined with.
var errNotOrdered = errors.New("training in a recorded order needs mode sequential, merge: rank, no " +
	"delays, no hot rows, no rows that expire and no evaluation during training")

// NewOrdered returns the training of a job in the order of a run, before its first step. The order must be of
// a run of the same batches with as many ranks.
func NewOrdered(t job.Job, source batch.Source, m backend.Backend, o *Order) (*Ordered, error) {
	hot := t.Rows.Hot.Any() // which the run reads without an event
	expires := slices.ContainsFunc(t.RowSettings(), func(s job.RowSettings) bool { return s.Expiry > 0 })
	if t.Training.Mode != job.Sequential || t.MergeByStep() || t.Delayed() || hot ||
		t.Training.EvaluateEvery.Any() || expires { // each PS expires rows with a read of its own
		return nil, errNotOrdered
	}
	if o.Ranks != t.Roles.Ranks || o.PSs != t.Roles.EmbeddingPSs {
		return nil, fmt.Errorf("the recorded order has %d ranks and %d embedding PSs, the job %d and %d",
			o.Ranks, o.PSs, t.Roles.Ranks, t.Roles.EmbeddingPSs)
	}
	q, err := NewSequential(t, source, m)
	if err != nil {
		return nil, err
	}
	return &Ordered{Sequential: q, order: o, plan: t.ShardPlan(),
		batches: map[embedding.BatchKey]*orderedBatch{}}, nil
}

// Step makes all accesses up to the first update of a later step, and the network's optimizer step. A batch
// is computed before its first update.
func (o *Ordered) Step(step int) error {
	for ; o.at < len(o.order.Accesses); o.at++ {
		a, err := o.order.decode(o.order.Accesses[o.at], o.source.Steps())
		if err == nil && a.update && a.step > step {
			break
		}
		if err == nil {
			err = o.access(a)
		}
		if err != nil {
			return fmt.Errorf("recorded order, access %d: %w", o.at, err)
		}
	}
	samples := 0
	var parts []*orderedBatch
	for rank := range o.order.Ranks {
		b, err := o.computed(rank, step)
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		parts, samples = append(parts, b), b.samples
	}
	o.stats = o.stats[:0]
	for _, b := range parts {
		o.stats = append(o.stats, b.stats...)
	}
	collective.Tree(o.grads)
	o.applyDense(gradients{dense: o.grads[0], stats: o.stats, samples: samples})
	for rank := range o.order.Ranks {
		o.drop(embedding.BatchKey{Rank: int32(rank), Step: int32(step)})
	}
	if step == o.source.Steps()-1 && len(o.batches) > 0 {
		return fmt.Errorf("recorded order: %d batches are not updated on every PS", len(o.batches))
	}
	return nil
}

// drop forgets a batch that has nothing left to do.
func (o *Ordered) drop(key embedding.BatchKey) {
	b := o.batches[key]
	if int(key.Step) >= o.dense.Steps() {
		return
	}
	for ps, p := range b.progress {
		if p != updated && b.routed.ShardValues(ps) > 0 {
			return
		}
	}
	delete(o.batches, key)
}

// access reads or updates rows.
func (o *Ordered) access(a access) error {
	b, err := o.batch(a.rank, a.step)
	if err != nil {
		return err
	}
	lo := 0
	for ps := range a.ps {
		lo += b.routed.ShardValues(ps)
	}
	hi := lo + b.routed.ShardValues(a.ps)
	signs, key := b.routed.ShardSigns(a.ps), embedding.BatchKey{
		Rank: int32(a.ps*o.order.Ranks + a.rank), Step: int32(a.step), // one for each PS
	}
	want := unread
	if a.update {
		want = read
	}
	if b.progress[a.ps] != want {
		return fmt.Errorf("rank %d, step %d, PS %d: want one read and then one update", a.rank, a.step, a.ps)
	}
	b.progress[a.ps]++
	if !a.update {
		return o.rows.Lookup(key, signs, b.rows[lo:hi])
	}
	if _, err := o.computed(a.rank, a.step); err != nil {
		return err
	}
	put := route.Put{Rank: a.rank, Samples: b.part.Samples, Signs: signs, Sums: b.sums[lo:hi]}
	byDim, err := put.ByDim(o.source.Schema().Dims())
	if err != nil {
		return err
	}
	all := embedding.BatchPut{BatchKey: key, ByDim: byDim}
	if err := o.rows.Apply(all, b.samples, o.job.Training.Scale == job.ScaleRank); err != nil {
		return err
	}
	o.drop(embedding.BatchKey{Rank: int32(a.rank), Step: int32(a.step)})
	return nil
}

// batch returns a batch that is in training, or begins with it.
func (o *Ordered) batch(rank, step int) (*orderedBatch, error) {
	if b := o.batches[embedding.BatchKey{Rank: int32(rank), Step: int32(step)}]; b != nil {
		return b, nil
	}
	if step < o.dense.Steps() {
		return nil, fmt.Errorf("rank %d, step %d: a read after the step's end", rank, step)
	}
	global, err := o.source.Read(step)
	if err != nil {
		return nil, err
	}
	for r, part := range batch.Cut(global, o.job.TotalGroups(), o.order.Ranks) {
		routed := route.RouteByDim(nil, o.source.Schema(), part, o.plan)
		o.batches[embedding.BatchKey{Rank: int32(r), Step: int32(step)}] = &orderedBatch{
			part: part, samples: global.Samples, routed: routed,
			rows:     make([]float32, routed.Values()),
			progress: make([]progress, o.order.PSs),
		}
	}
	return o.batches[embedding.BatchKey{Rank: int32(rank), Step: int32(step)}], nil
}

// computed returns a batch of the network's current step with its gradients, which it computes once.
func (o *Ordered) computed(rank, step int) (*orderedBatch, error) {
	b, err := o.batch(rank, step)
	if err != nil || b.sums != nil {
		return b, err
	}
	for ps, p := range b.progress {
		if p == unread && b.routed.ShardValues(ps) > 0 {
			return nil, fmt.Errorf("rank %d, step %d, PS %d: the rows are not read", rank, step, ps)
		}
	}
	schema := o.source.Schema()
	width := schema.EmbeddingWidth()
	pooled := make([]float32, b.part.Samples*width)
	winners := make([]int32, b.part.Samples*schema.Winners())
	b.routed.Pool(nil, pooled, winners, schema, b.routed.Gather(make([]float32, len(b.rows)), b.rows))
	o.stats = o.stats[:0]
	var pooledGrads []float32
	for group := range b.part.Groups() {
		in := model.GroupInput(&b.part, pooled, width, group)
		grads, err := o.trainGroup(b.part.FirstGroup+group, in)
		if err != nil {
			return nil, err
		}
		pooledGrads = append(pooledGrads, grads...)
	}
	sums := make([]float32, len(b.rows))
	b.routed.Merge(nil, b.routed.Cut(sums), schema, pooledGrads, winners)
	b.sums, b.stats = make([]float32, len(b.rows)), slices.Clone(o.stats)
	b.routed.Scatter(b.sums, sums)
	return b, nil
}

// Missed returns a count for every row gradient applied, as exec.ModelState.Missed does.
func (o *Ordered) Missed() histogram.Histogram { return o.Sequential.rows.Missed() }
