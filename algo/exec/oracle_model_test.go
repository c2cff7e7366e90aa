package exec_test

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
)

// oracle replays the order of a run's events with arithmetic of its own.
type oracle struct {
	set      *setting
	schema   *batch.Schema
	source   batch.Source
	network  *network
	servers  []*denseServer // async-ps, ssp
	replicas []*replica     // async-average: by rank
	rows     map[rowName]*rowState
	batches  map[[2]int32]*rankBatch // by rank and step
	nearest  float64                 // to 0 that the input of a ReLU has come
	stale    staleness
}

// staleness counts the effects of an order of events that a sequential order does not have.
type staleness struct {
	rows     int // updates of rows between a read and the gradient that follows from it
	pushes   int // updates of dense PSs between a pull and the push that follows from it
	averages int // steps of ranks between a copy and the mean that follows from it
}

// denseServer holds the parameters [lo, hi), and the first of them the running statistics.
type denseServer struct {
	lo, hi int
	params []float32
	*optimizer
	running *running // nil: another has it
	pushed  []int    // by rank
}

// replica is the network of one rank of async-average.
type replica struct {
	params []float32
	*optimizer
	running  *running
	copies   []replicaCopy // by averaging round
	folded   int           // rounds
	foldedAt int           // steps trained before the last
}

type replicaCopy struct {
	values  []float32 // parameters, means, variances
	updates int       // before it
}

type rowState struct {
	values []float32
	*optimizer
	owner int // embedding PS
}

// rankBatch is a rank's part of a global batch and its state.
type rankBatch struct {
	rank, step int
	global     *batch.Batch
	groups     [][]int             // samples of the global batch
	samples    []int               // of all groups
	rows       map[rowName]*rowUse // rows that it needs
	params     []float32           // as pulled
	pulled     map[int]int         // by dense PS that has answered: its updates before
	pushed     map[int]bool        // dense PSs that have applied its gradient
	put        map[int]bool        // embedding PSs that have applied its row gradients
	sums       gradients
	gradient   []float64 // mean over the rank's samples, clipped; nil before it is computed
}

// rowUse is a row as a batch has read it, with the resulting gradient sum.
type rowUse struct {
	values  []float32 // nil before it is read
	updates int       // of the row before
	sums    []float64
}

// newOracle returns the oracle of a run before its first event.
func newOracle(s *setting, run *run) *oracle {
	o := &oracle{
		set: s, schema: run.source.Schema(), source: run.source, nearest: 1,
		rows: map[rowName]*rowState{}, batches: map[[2]int32]*rankBatch{},
	}
	for name, values := range run.start.rows {
		o.rows[name] = &rowState{slices.Clone(values), newOptimizer(s.ofRows(name.slot), len(values)),
			run.owners[name]}
	}
	var params []float32
	var statistics *running
	o.network, params, statistics = newNetwork(run.start.networks[0])
	if s.averaged() {
		for rank := range s.ranks {
			_, params, statistics = newNetwork(run.start.networks[rank])
			o.replicas = append(o.replicas, &replica{
				params: params, optimizer: newOptimizer(&s.dense, len(params)), running: statistics,
			})
		}
		return o
	}
	for i := range s.denseServers {
		lo, hi := i*len(params)/s.denseServers, (i+1)*len(params)/s.denseServers
		o.servers = append(o.servers, &denseServer{
			lo: lo, hi: hi, params: params[lo:hi], optimizer: newOptimizer(&s.dense, hi-lo),
			pushed: make([]int, s.ranks),
		})
	}
	o.servers[0].running = statistics
	return o
}

// state returns the model state of the oracle.
func (o *oracle) state() *modelState {
	s := &modelState{rows: map[rowName][]float32{}}
	for name, row := range o.rows {
		s.rows[name] = row.values
	}
	if !o.set.averaged() {
		var params []float32
		for _, d := range o.servers {
			params = append(params, d.params...)
		}
		r := o.servers[0].running
		s.networks = append(s.networks, o.network.named(params, r.mean, r.variance))
		return s
	}
	var all [][]float32
	for _, r := range o.replicas {
		all = append(all, r.flat())
		s.networks = append(s.networks, o.network.named(r.params, r.running.mean, r.running.variance))
	}
	mean, n, hidden := meanOf(all), o.network.params, len(o.replicas[0].running.mean)
	s.networks = append(s.networks, o.network.named(mean[:n], mean[n:n+hidden], mean[n+hidden:]))
	return s
}

// batch returns a rank's part of a step. A rank has g groups, the largest power of two up to max(1, V/N). Of
// n samples, group i of the G groups of all ranks has those from ⌊i·n/G⌋ on.
func (o *oracle) batch(e event.Record) *rankBatch {
	if b := o.batches[[2]int32{e.Rank, e.Step}]; b != nil {
		return b
	}
	global, err := o.source.Read(int(e.Step))
	if err != nil {
		panic(err)
	}
	b := &rankBatch{
		rank: int(e.Rank), step: int(e.Step), global: global, rows: map[rowName]*rowUse{},
		params: make([]float32, o.network.params), pulled: map[int]int{}, pushed: map[int]bool{},
		put: map[int]bool{},
	}
	each := 1
	for 2*each*o.set.ranks <= oracleGroups {
		each *= 2
	}
	all := each * o.set.ranks
	for g := b.rank * each; g < (b.rank+1)*each; g++ {
		var group []int
		for i := g * global.Samples / all; i < (g+1)*global.Samples/all; i++ {
			group = append(group, i)
		}
		b.groups, b.samples = append(b.groups, group), append(b.samples, group...)
	}
	for slot, column := range global.Slots {
		for _, i := range b.samples {
			for _, id := range column.SampleIDs(i) {
				if name := (rowName{slot, id}); b.rows[name] == nil {
					b.rows[name] = &rowUse{sums: make([]float64, len(o.rows[name].values))}
				}
			}
		}
	}
	o.batches[[2]int32{e.Rank, e.Step}] = b
	return b
}

// follow applies one event of the run.
func (o *oracle) follow(e event.Record) error {
	server := int(e.Role.Index)
	switch e.Kind {
	case event.LookupServed:
		return o.readRows(o.batch(e), server)
	case event.PutApplied:
		return o.applyRows(o.batch(e), server)
	case event.PullServed:
		return o.pull(o.batch(e), server)
	case event.PushApplied:
		return o.push(o.batch(e), server)
	case event.BackwardStarted:
		// A rank has folded in before this step what it has folded in since the last.
		if o.set.averaged() {
			return o.compute(o.batch(e), o.replicas[e.Rank].params)
		}
	case event.DenseApplied:
		if o.set.averaged() {
			return o.stepReplica(o.batch(e))
		}
	case event.SnapshotTaken:
		return o.copyReplica(e)
	case event.Averaged:
		return o.foldMean(e)
	}
	return nil
}

// readRows copies the rows of a batch that a PS owns.
func (o *oracle) readRows(b *rankBatch, server int) error {
	for name, use := range b.rows {
		row := o.rows[name]
		if row.owner != server {
			continue
		}
		if use.values != nil {
			return errors.New("rows are read a second time")
		}
		use.values, use.updates = slices.Clone(row.values), row.updates
	}
	return nil
}

// compute runs a rank's network forward and backward over its samples.
func (o *oracle) compute(b *rankBatch, params []float32) error {
	for name, use := range b.rows {
		if use.values == nil {
			return fmt.Errorf("%+v is not read", name)
		}
	}
	var groups [][]example
	for _, samples := range b.groups {
		var group []example
		for _, i := range samples {
			group = append(group, example{o.input(b, i), float64(b.global.Labels[i])})
		}
		groups = append(groups, group)
	}
	b.sums = o.network.gradients(params, groups)
	o.nearest = min(o.nearest, b.sums.nearest)
	for _, g := range b.sums.params {
		b.gradient = append(b.gradient, g/float64(len(b.samples)))
	}
	clip(b.gradient, o.set.clip)
	for k, i := range b.samples {
		o.eachRow(b.global, i, func(name rowName, at int) {
			for j := range b.rows[name].sums {
				b.rows[name].sums[j] += b.sums.inputs[k][at+j]
			}
		})
	}
	return nil
}

// input returns the input of a sample: of a summed slot the sum of its rows; of a raw slot the first rows,
// each followed by a 1, and zeros in the place of missing ones; then the numeric features.
func (o *oracle) input(b *rankBatch, sample int) []float64 {
	input := make([]float64, o.network.inputs)
	o.eachRow(b.global, sample, func(name rowName, at int) {
		for j, v := range b.rows[name].values {
			input[at+j] += float64(v)
		}
		if slot := o.schema.Slots[name.slot]; slot.Pooling == batch.Raw {
			input[at+slot.Dim] = 1
		}
	})
	numeric := len(o.schema.Dense)
	for j := range numeric {
		input[o.network.inputs-numeric+j] = float64(b.global.Dense[sample*numeric+j])
	}
	return input
}

// eachRow visits the rows of a sample that are part of its input, and where.
func (o *oracle) eachRow(global *batch.Batch, sample int, visit func(name rowName, at int)) {
	first := 0
	for s, slot := range o.schema.Slots {
		for k, id := range global.Slots[s].SampleIDs(sample) {
			switch {
			case slot.Pooling == batch.Sum:
				visit(rowName{s, id}, first)
			case k < slot.FixedSize:
				visit(rowName{s, id}, first+k*(slot.Dim+1))
			}
		}
		if slot.Pooling == batch.Sum {
			first += slot.Dim
		} else {
			first += slot.FixedSize * (slot.Dim + 1)
		}
	}
}

// applyRows updates the rows that a PS owns by a rank's gradient sums, divided by the samples of the whole
// step, at the rate of the batch's step.
func (o *oracle) applyRows(b *rankBatch, server int) error {
	if b.put[server] {
		return errors.New("row gradients are applied a second time")
	}
	b.put[server] = true
	if err := o.computePulled(b); err != nil {
		return err
	}
	for name, use := range b.rows {
		row := o.rows[name]
		if row.owner != server {
			continue
		}
		gradient := make([]float64, len(use.sums))
		for j, sum := range use.sums {
			gradient[j] = sum / float64(b.global.Samples)
		}
		o.stale.rows += row.updates - use.updates
		row.apply(row.values, gradient, o.set.ofRows(name.slot).rateAt(b.step))
	}
	return nil
}

// computePulled computes the gradients of a batch from the parameters that its rank has pulled. Ranks of
// async-average have computed them before, from their replicas.
func (o *oracle) computePulled(b *rankBatch) error {
	switch {
	case b.gradient != nil:
		return nil
	case o.set.averaged() || len(b.pulled) < len(o.servers):
		return fmt.Errorf("the rank has no gradient: %d dense PSs have answered its pull", len(b.pulled))
	}
	return o.compute(b, b.params)
}

// pull copies the shard of a dense PS. Without overlap a rank sees all its own pushes. In ssp every rank has
// pushed all steps but the last few.
func (o *oracle) pull(b *rankBatch, server int) error {
	d := o.servers[server]
	if o.set.overlap == "none" && d.pushed[b.rank] != b.step {
		return fmt.Errorf("the pull sees %d of %d pushes of its own rank", d.pushed[b.rank], b.step)
	}
	slowest, least := slices.Min(d.pushed), b.step-o.set.slack
	if o.set.mode == "ssp" && slowest < least {
		return fmt.Errorf("the slowest rank has pushed %d steps, want at least %d", slowest, least)
	}
	copy(b.params[d.lo:d.hi], d.params)
	b.pulled[server] = d.updates
	return nil
}

// push applies 1/N of a rank's mean gradient. N pushes are one step of the schedule, and of the running
// statistics.
func (o *oracle) push(b *rankBatch, server int) error {
	if b.pushed[server] {
		return errors.New("dense gradients are applied a second time")
	}
	b.pushed[server] = true
	if err := o.computePulled(b); err != nil {
		return err
	}
	d := o.servers[server]
	share := make([]float64, d.hi-d.lo)
	for i := range share {
		share[i] = b.gradient[d.lo+i] / float64(o.set.ranks)
	}
	o.stale.pushes += d.updates - b.pulled[server]
	d.apply(d.params, share, o.set.dense.rateAt(d.updates/o.set.ranks))
	d.pushed[b.rank]++
	if d.running != nil && o.network.norm {
		d.running.pending = append(d.running.pending, b.sums.hidden...)
		if d.updates%o.set.ranks == 0 {
			d.running.fold()
		}
	}
	return nil
}

// stepReplica takes an optimizer step of a rank's own along its mean gradient.
func (o *oracle) stepReplica(b *rankBatch) error {
	r := o.replicas[b.rank]
	if b.step != r.updates || b.gradient == nil {
		return fmt.Errorf("the rank has trained %d steps", r.updates)
	}
	r.apply(r.params, b.gradient, o.set.dense.rateAt(b.step))
	if o.network.norm {
		r.running.pending = b.sums.hidden
		r.running.fold()
	}
	return nil
}

// flat returns parameters and running statistics in one.
func (r *replica) flat() []float32 {
	return slices.Concat(r.params, r.running.mean, r.running.variance)
}

// copyReplica gives a copy of a rank's replica to an averaging round: after every interval of steps, and
// after the last; later only if the mean of the round before was late.
func (o *oracle) copyReplica(e event.Record) error {
	r := o.replicas[e.Rank]
	if int(e.Step) != len(r.copies) {
		return fmt.Errorf("the rank has given %d copies", len(r.copies))
	}
	due := min((int(e.Step)+1)*o.set.every, oracleSteps)
	if r.updates < due || r.updates > max(due, r.foldedAt+1) {
		return fmt.Errorf("the rank has trained %d steps, want %d or the next after a late mean", r.updates,
			due)
	}
	r.copies = append(r.copies, replicaCopy{r.flat(), r.updates})
	return nil
}

// foldMean adds the mean of the copies of a round less the rank's own to its replica.
func (o *oracle) foldMean(e event.Record) error {
	r, round := o.replicas[e.Rank], int(e.Step)
	var copies [][]float32
	for _, other := range o.replicas {
		if len(other.copies) <= round {
			return errors.New("a copy of the round is missing")
		}
		copies = append(copies, other.copies[round].values)
	}
	mean, i := meanOf(copies), 0
	for _, values := range [][]float32{r.params, r.running.mean, r.running.variance} {
		for j := range values {
			values[j] = float32(float64(values[j]) + float64(mean[i]) - float64(r.copies[round].values[i]))
			i++
		}
	}
	o.stale.averages += r.updates - r.copies[round].updates
	r.folded++
	r.foldedAt = r.updates
	return nil
}

// meanOf returns the mean of vectors.
func meanOf(all [][]float32) []float32 {
	mean := make([]float32, len(all[0]))
	for i := range mean {
		sum := 0.0
		for _, values := range all {
			sum += float64(values[i])
		}
		mean[i] = float32(sum / float64(len(all)))
	}
	return mean
}

// finished returns an error if something is missing at the end of a run, or if the order of events proves
// little.
func (o *oracle) finished() error {
	rounds := (oracleSteps + o.set.every - 1) / o.set.every // the last one after the last step
	for rank := range o.set.ranks {
		for step := range oracleSteps {
			b := o.batches[[2]int32{int32(rank), int32(step)}]
			if b == nil || !o.set.averaged() && len(b.pushed) != len(o.servers) {
				return fmt.Errorf("rank %d has not pushed step %d to every dense PS", rank, step)
			}
			for name := range b.rows {
				if !b.put[o.rows[name].owner] {
					return fmt.Errorf("rank %d step %d: row gradients are not applied", rank, step)
				}
			}
		}
	}
	for rank, r := range o.replicas {
		if r.updates != oracleSteps || r.folded != rounds {
			return fmt.Errorf("rank %d has trained %d steps and folded in %d averages, want %d and %d",
				rank, r.updates, r.folded, oracleSteps, rounds)
		}
	}
	dense := o.stale.pushes
	if o.set.averaged() {
		dense = o.stale.averages
	}
	if o.stale.rows == 0 || dense == 0 {
		return fmt.Errorf("nothing is stale that could be: %+v", o.stale)
	}
	return nil
}
