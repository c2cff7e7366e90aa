package engine

import (
	"cmp"
	"errors"
	"math"
	"runtime"
	"unsafe"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/runtime/cuda"
)

// replica is a model.Replica on a device. Work goes to two streams: compute, and out, which copies finished
// gradients to the host beside it.
type replica struct {
	weights
	groups  []*pass
	stride  int // between the gradients of two groups, in values
	out     *cuda.Stream
	final   []*cuda.Event // by bucket: its sum is on the device
	arrived []*cuda.Event // by bucket: its sum is on the host

	// headWeights are those of the labels' losses, positiveWeights those of positive samples beside them.
	headWeights, positiveWeights cuda.Address
	losses                       cuda.Address // doubles, by group
	found                        cuda.Address // a flag: a gradient is not finite

	staging staging
	alone   bool                 // a single rank, whose gradients are the sum
	graphs  map[string]*recorded // by the sizes of groups
	current *recorded            // of the part in hand
	sums    model.Vector
	loss    float64
	part    *batch.Part
	pooled  []float32 // where Backward writes the gradients of the pooled embeddings
	bare    bool      // without copies of samples and of their gradients: see Measured
	rows    *rows     // nil: PSs have them
	joined  *link     // nil until it meets others
	// gathered has a bucket of every rank, to be summed along the tree.
	gathered cuda.Address
}

// staging is pinned memory of the host, through which copies go. Parts of groups lie one behind the other.
type staging struct {
	pooled, dense, labels []float32
	gradients             []float32 // those of the parameters
	pooledGradients       []float32
	losses                []float32 // two for a double
	stats                 []float32
	found                 []float32 // one
}

func newReplica(d *device, t *trainer, c model.ReplicaConfig) (*replica, error) {
	c.Rows = withCapacity(c.Rows)
	if err := checkRows(&c); err != nil {
		return nil, err
	}
	need := func(samples int) int { return replicaBytes(d, t, c, samples) }
	if c.Rows != nil {
		if err := checkRoomForRows(d, t, c); err != nil {
			return nil, err
		}
	}
	if err := checkRoom(d.Device, c.SamplesMax, need); err != nil {
		return nil, err
	}
	m := &memory{device: d.Device}
	r := &replica{graphs: map[string]*recorded{}}
	r.allocate(m, d, t, c, c.SamplesMax)
	if m.err == nil {
		m.err = r.prepare(m, c)
	}
	if m.err != nil {
		m.free()
		return nil, m.err
	}
	// Trainings of a process follow each other, and each has replicas of its own.
	runtime.AddCleanup(r, func(m *memory) { exchanges.between(m.free) }, m)
	return r, nil
}

// allocate lays the replica out, for groups of up to a number of samples.
func (r *replica) allocate(m *memory, d *device, t *trainer, c model.ReplicaConfig, samplesMax int) {
	l, p := t.program.Layout, placesOf(t.program.Layout, t.operands)
	r.shared = &shared{device: d, memory: m, program: t.program, places: p, operands: t.operands,
		params: m.floats(p.length), inBF16: narrowValues(t.program, t.operands),
		plans: map[cuda.Product]planned{}}
	if t.operands == cuda.BF16 {
		r.narrow = m.raw(2 * p.length)
	}
	for i := range r.partial {
		r.partial[i] = m.doubles(chunksOf(samplesMax) * widest(t.program))
	}
	r.weights.allocate(m, t.engine, c)
	r.stride = p.length
	gradients := m.floats(c.Groups * p.length)
	group := (samplesMax*l.EmbeddingWidth + alignment/4 - 1) / (alignment / 4) * (alignment / 4)
	pooled := m.floats(c.Groups * group)
	for g := range c.Groups {
		r.groups = append(r.groups, newPass(r.shared, m, samplesMax, gradients.Floats(g*p.length),
			pooled.Floats(g*group)))
	}
	if c.Rows != nil {
		r.rows = newRows(r, m, &c, samplesMax, pooled, group)
	}
	if r.summed {
		r.sum, r.alone = gradients, c.Ranks == 1
	}
	if r.summed && c.Ranks > 1 && t.sums == job.NCCLTreeSums {
		r.gathered = m.floats(c.Ranks * r.longestBucket())
	}
	r.headWeights, r.positiveWeights = m.floats(l.Labels), m.floats(l.Labels)
	r.losses, r.found = m.doubles(c.Groups), m.floats(1)

	samples := c.Groups * samplesMax
	r.staging = staging{dense: m.host(samples * l.DenseWidth), labels: m.host(samples * l.Labels),
		losses: m.host(2 * c.Groups), stats: m.host(c.Groups * l.Running), found: m.host(1)}
	r.staging.pooled = m.host(samples * r.hostWidth())
	r.staging.pooledGradients = m.host(samples * r.hostWidth())
	if !r.summed {
		r.staging.gradients = m.host(l.Params)
		r.sums.Values = r.staging.gradients
	}
}

// widest returns the largest number of columns that are summed.
func widest(p *model.Program) (cols int) {
	for _, part := range p.Parts {
		switch d := part.(type) {
		case model.LayerPart:
			cols = max(cols, d.Out)
		case model.LinearPart:
			cols = max(cols, d.Heads)
		case model.FactorsPart:
			cols = max(cols, p.Widths[model.NumbersValue]*d.Dim)
		}
	}
	return cols
}

// prepare makes streams and events, and writes what never changes and the initial state.
func (r *replica) prepare(m *memory, c model.ReplicaConfig) error {
	r.compute, r.out, r.read, r.blas = m.stream(), m.stream(), m.event(), m.products()
	for range r.program.Layout.Buckets {
		r.final, r.arrived = append(r.final, m.event()), append(r.arrived, m.event())
	}
	if r.rows != nil {
		r.rows.reading = m.stream()
	}
	if m.err != nil {
		return m.err
	}
	r.write(r.headWeights, cuda.Bytes(r.program.LossWeights))
	r.write(r.positiveWeights, cuda.Bytes(r.program.PositiveWeights))
	for _, p := range r.groups {
		for _, part := range p.parts {
			switch l := part.(type) {
			case *linear:
				r.writePlaces(l.rows, l.Rows)
			case *factors:
				r.writePlaces(l.rows, l.Rows)
			}
		}
	}
	// The gaps between tensors take part in sums and optimizer steps, where they have to be finite.
	r.clear(r.shared.params, r.stride)
	for _, p := range r.groups {
		r.clear(p.gradients, r.stride)
	}
	if r.rows != nil {
		r.rows.describe()
	}
	return r.begin(c.Initial)
}

// Forward implements model.Replica.
func (r *replica) Forward(part *batch.Part, pooled, grads []float32) error {
	if r.rows != nil {
		return errors.New("engine: the rows of this replica are on its GPU: see Rows")
	}
	return r.forwardPart(part, pooled, grads)
}

// forwardPart is Forward, of the pooled embeddings that the rows of the device make if there are any.
func (r *replica) forwardPart(part *batch.Part, pooled, grads []float32) error {
	l, s := r.program.Layout, &r.staging
	r.take(part)
	r.pooled, r.current = grads, r.recordedFor(part)
	if r.current == nil || !r.current.launched() {
		r.multiplied = r.multiplied[:0]
	}
	if !r.bare {
		copyValues(s.pooled, pooled)
		copyValues(s.dense, part.Dense)
		copyValues(s.labels, part.Labels)
	}
	r.perform(len(l.Buckets), r.forward)
	if err := r.wait(r.compute); err != nil {
		return err
	}
	r.loss = 0
	for g := range r.groups {
		r.loss += *(*float64)(unsafe.Pointer(&s.losses[2*g]))
	}
	r.sums.Stats = r.sums.Stats[:0]
	for g, p := range r.groups {
		if l.Running > 0 {
			r.sums.Stats = append(r.sums.Stats, float32(p.samples))
			r.sums.Stats = append(r.sums.Stats, s.stats[g*l.Running:][:l.Running]...)
		}
	}
	return nil
}

// take makes a part the one in hand.
func (r *replica) take(part *batch.Part) {
	r.part = part
	for g, p := range r.groups {
		p.samples = part.Bounds[g+1] - part.Bounds[g]
	}
}

// forward appends the forward passes of all groups, with their copies from and to the host.
func (r *replica) forward() {
	l, s := r.program.Layout, &r.staging
	r.clear(r.found, 1)
	r.narrowed = false
	for g, p := range r.groups {
		if !r.bare {
			r.copyPooled(g, p)
		}
	}
	if r.rows != nil { // which may be added to what came from the host
		r.rows.forward()
	}
	for g, p := range r.groups {
		if lo, hi := r.part.Bounds[g], r.part.Bounds[g+1]; !r.bare {
			r.copyIn(p.value(model.NumbersValue), s.dense[lo*l.DenseWidth:hi*l.DenseWidth])
			r.copyIn(p.labels, s.labels[lo*l.Labels:hi*l.Labels])
		}
		p.forward(r.losses.Add(8*g), r.headWeights, r.positiveWeights)
		r.copyOut(r.compute, s.stats[g*l.Running:][:l.Running], p.stats)
	}
	r.copyOut(r.compute, s.losses, r.losses)
}

// copyIn copies pinned values to the device.
func (r *replica) copyIn(to cuda.Address, values []float32) {
	if len(values) > 0 && r.err == nil {
		r.err = r.compute.CopyIn(to, cuda.Bytes(values))
	}
}

// copyOut copies values from the device, on a stream.
func (r *replica) copyOut(s *cuda.Stream, to []float32, from cuda.Address) {
	if len(to) > 0 && r.err == nil {
		r.err = s.CopyOut(cuda.Bytes(to), from)
	}
}

// wait waits for all work of a stream, and returns the first error of the replica.
func (r *replica) wait(s *cuda.Stream) error {
	if r.err == nil {
		r.err = s.Sync()
	}
	return r.err
}

// Loss implements model.Replica.
func (r *replica) Loss() float64 { return r.loss }

// Gradients implements model.Replica.
func (r *replica) Gradients() *model.Vector { return &r.sums }

// Backward implements model.Replica. It appends the work of all buckets first, and then waits for one after
// the other: while a bucket travels to the host and over ranks, the device computes the next. Nothing travels
// from a single rank, whose backward pass is one piece of work.
func (r *replica) Backward(done func(bucket int32)) (pooled []float32, notFinite string, err error) {
	buckets := r.program.Layout.Buckets
	ready := r.arrived
	if r.summed {
		ready = r.final
	}
	if r.alone {
		r.perform(0, func() {
			for b := range buckets {
				r.backward(b)
			}
			r.finishBackward()
		})
		_ = r.wait(r.compute)
	} else {
		for b := range buckets {
			r.perform(b, func() { r.backward(b) })
			r.sendBucket(b)
		}
		r.finishBackward()
	}
	for b := range buckets {
		if r.err == nil && !r.alone {
			r.err = ready[b].Sync()
		}
		if r.err != nil {
			return nil, "", r.err
		}
		done(int32(b))
	}
	if err := r.wait(r.compute); err != nil {
		return nil, "", err
	}
	if !r.bare {
		copyValues(r.pooled, r.staging.pooledGradients)
	}
	if r.staging.found[0] != 0 || math.IsNaN(r.loss) || math.IsInf(r.loss, 0) {
		notFinite = r.notFinite()
	}
	return r.pooled, notFinite, r.err
}

// finishBackward appends the copies of what the host needs of a backward pass besides its buckets.
func (r *replica) finishBackward() {
	r.copyPooledGradients()
	if r.rows != nil && r.rows.exchange == nil {
		r.rows.backward()
	}
	r.copyOut(r.compute, r.staging.found, r.found)
}

// notFinite names what is not finite in the latest step: see model.Replica.
func (r *replica) notFinite() string {
	l := r.program.Layout
	pooled, grads := r.staging.pooled, r.staging.pooledGradients
	if r.rows != nil {
		pooled, grads = r.downloadPooled()
	}
	in := model.Input{Dense: r.part.Dense, Embeddings: pooled[:r.part.Samples*l.EmbeddingWidth]}
	s := model.Suspects{Params: r.download(r.params), Input: in, Loss: r.loss,
		Gradients: r.download(r.groups[0].gradients), PooledGradients: grads}
	return cmp.Or(s.NotFinite(l), "a gradient that stayed on the device") // see bare
}

// downloadPooled returns copies of the pooled embeddings and of their gradients.
func (r *replica) downloadPooled() (pooled, grads []float32) {
	width := r.program.Layout.EmbeddingWidth
	pooled, grads = make([]float32, r.part.Samples*width), make([]float32, r.part.Samples*width)
	for g, p := range r.groups {
		lo, hi := r.part.Bounds[g]*width, r.part.Bounds[g+1]*width
		r.copyOut(r.compute, pooled[lo:hi], p.value(model.PooledValue))
		r.copyOut(r.compute, grads[lo:hi], p.grad(model.PooledValue))
	}
	_ = r.wait(r.compute)
	return pooled, grads
}

// backward appends the backward passes of all groups through the parts whose parameters are those of a
// bucket, and sums their gradients.
func (r *replica) backward(b int) {
	bucket, from, to := r.program.Layout.Buckets[b], r.program.Ends[b], len(r.program.Parts)
	if b > 0 {
		to = r.program.Ends[b-1]
	}
	for _, p := range r.groups {
		p.backward(from, to, bucket)
	}
	lo, hi := r.places.span(bucket.Lo, bucket.Hi)
	sum := r.groups[0].gradients.Floats(lo)
	if len(r.groups) > 1 {
		r.each("tree_sum", hi-lo, cuda.Pointer(sum), cuda.Int(r.stride), cuda.Int(len(r.groups)),
			cuda.Int(hi-lo))
	}
	r.findNotFinite(sum, hi-lo)
}

// sendBucket copies the gradients of a bucket to the host, when they are final, unless they are summed on
// devices.
func (r *replica) sendBucket(b int) {
	if r.err == nil {
		r.err = r.compute.Record(r.final[b])
	}
	if r.err == nil {
		r.err = r.out.Wait(r.final[b])
	}
	if r.summed {
		return // it stays
	}
	bucket := r.program.Layout.Buckets[b]
	r.places.each(bucket.Lo, bucket.Hi, func(at, lo, hi int) {
		r.copyOut(r.out, r.staging.gradients[lo:hi], r.groups[0].gradients.Floats(at))
	})
	if r.err == nil {
		r.err = r.out.Record(r.arrived[b])
	}
}

// copyPooledGradients copies the gradients of the pooled embeddings to the host.
func (r *replica) copyPooledGradients() {
	width := r.program.Layout.EmbeddingWidth
	for g, p := range r.groups {
		grad, ok := p.cleared(model.PooledValue)
		if n := p.samples * width; ok && n > 0 {
			r.findNotFinite(grad, n)
			if !r.bare {
				r.sendPooledGradients(g, p, grad)
			}
		}
	}
}

func (r *replica) findNotFinite(at cuda.Address, n int) {
	r.each("find_not_finite", n, cuda.Pointer(r.found), cuda.Pointer(at), cuda.Int(n))
}
