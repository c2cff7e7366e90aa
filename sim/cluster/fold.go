package cluster

import (
	"cmp"
	"math"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/station"
)

// Jobs of more than foldAbove ranks are simulated with about foldRanks of them.
const (
	foldAbove = 512
	foldRanks = 128
)

// folding says which ranks and EWs the simulated ones stand for: see the package comment. A nil folding means
// that each stands for itself.
type folding struct {
	config  *role.Config // of the job, with all ranks and EWs
	ranks   []rankClass  // by simulated rank
	mean    float64      // ranks of a class
	workers float64      // EWs that a simulated one stands for

	inStep  bool // ranks meet in every step, so that the slowest of each class decides
	exposed bool // … and a rank waits for everything that is done for it in a step
	// parallelWorker and parallelPS say that EWs and PSs have a thread for every batch. Else batches wait for
	// each other, and it takes the mean of many until a batch is done.
	parallelWorker, parallelPS bool

	weights [chainCount][]chainLink  // what a rank waits for
	slowest [chainCount]memberOfStep // of each class
}

// rankClass is the ranks that a simulated one stands for: the ranks at the same place of several servers.
type rankClass struct{ first, stride, size int32 }

// chain is a part of what is done for a rank between two instants at which all ranks meet.
type chain int

const (
	reading   chain = iota // of rows: PSs answer in the order of the ranks, so that the slowest holds others up
	computing              // from the rows, or the embeddings, to the end of backward
	returning              // of embedding gradients
	chainCount
	noChain chain = -1
)

// chainLink is a piece of work or a message in a chain.
type chainLink struct {
	work    role.WorkKind
	message msg.Kind // instead of work, unless it is 0
	time    unit.Tick
	earlier int32 // how many steps before that of the chain
}

// memberOfStep holds the slowest member of classes, by rank and step, plus one; 0: it is not known yet.
type memberOfStep []int32

// newFolding returns how the ranks of a job are folded, or nil if each of them is simulated.
func newFolding(p *cost.Prices, cfg *role.Config, o *Options) *folding {
	above, ranks := foldAbove, foldRanks
	if o.fold != 0 {
		above, ranks = 0, o.fold
		if o.fold < 0 {
			return nil
		}
	}
	if int(cfg.Ranks) <= above || !foldable(p, cfg, o) {
		return nil
	}
	per := p.Cluster.AcceleratorsPerServer
	full := int(cfg.Ranks) / per
	each := (full*per + ranks - 1) / ranks // servers that one stands for
	servers := (full + each - 1) / each
	if servers < 2 || servers == full {
		return nil
	}
	f := &folding{config: cfg}
	for s := range servers {
		first, end := s*full/servers, (s+1)*full/servers
		for place := range per {
			f.ranks = append(f.ranks, rankClass{int32(first*per + place), int32(per), int32(end - first)})
		}
	}
	for rank := full * per; rank < int(cfg.Ranks); rank++ { // of a server that is not full
		f.ranks = append(f.ranks, rankClass{int32(rank), 0, 1})
	}
	f.mean = float64(cfg.Ranks) / float64(len(f.ranks))
	f.workers = float64(cfg.EmbeddingWorkers) /
		max(1, math.Round(float64(cfg.EmbeddingWorkers)/f.mean))
	f.inStep = cfg.Rule.Dense().Strategy == pace.Reduced
	f.parallelWorker, f.parallelPS = p.EWService.AllCores, p.PSService.AllCores
	f.exposed = f.inStep && (cfg.Rule.InStep() || !cfg.Rule.MayIssue(1))
	return f
}

// foldable reports whether the ranks of a job are alike and nobody asks for each of them, and the rule is one
// under which a rank can stand for several.
func foldable(p *cost.Prices, cfg *role.Config, o *Options) bool {
	d := cfg.Rule.Dense()
	switch {
	case p.Cluster.Unfold, p.Colocated(), len(p.Mixed) > 0, p.PSStates > 1:
		return false
	case cmp.Or(p.Cluster.Topology.Kind, job.TopologyFlat) != job.TopologyFlat:
		return false
	case o.Numerics != nil, o.Observer != nil, o.Timeline != nil, o.DeviceSpread > 0, p.Job.Faults.Any():
		return false
	case d.Coordinator || cfg.Rule.Lead() < pace.Unbounded:
		return false
	}
	for r := msg.DataLoader; r <= msg.Coordinator; r++ {
		if p.Job.Slow.Differ(r) {
			return false
		}
	}
	return d.Strategy == pace.Reduced || d.Strategy == pace.Served
}

// configOf returns the configuration of the simulated roles.
func (f *folding) configOf(cfg *role.Config) *role.Config {
	if f == nil {
		return cfg
	}
	c := *cfg
	c.Ranks = int32(len(f.ranks))
	c.EmbeddingWorkers = int32(math.Round(float64(cfg.EmbeddingWorkers) / f.workers))
	return &c
}

// size returns the number of ranks that a simulated one stands for; 1 for what belongs to no rank.
func (f *folding) size(rank int32) float64 {
	if f == nil || rank < 0 {
		return 1
	}
	return float64(f.ranks[rank].size)
}

// member returns a rank of the job that a simulated one stands for.
func (f *folding) member(rank, i int32) int32 {
	if f == nil || rank < 0 {
		return rank
	}
	c := f.ranks[rank]
	return c.first + i*c.stride
}

// roleOf returns the number that a simulated role has among all roles of the job, where PSs are folded, when
// it works for a batch of one of the job's ranks.
func (f *folding) roleOf(w *simulation, index, rank, step int32) int32 {
	if f == nil {
		return index
	}
	all, at := f.config, w.instances[index].at
	switch at.Role {
	case msg.EmbeddingWorker:
		if rank < 0 {
			return index
		}
		return 1 + int32((int64(step)*int64(all.Ranks)+int64(rank))%int64(all.EmbeddingWorkers))
	case msg.EmbeddingPS:
		return 1 + all.EmbeddingWorkers + at.Index
	case msg.NNWorker:
		return 2 + all.EmbeddingWorkers + rank
	case msg.DensePS:
		return 2 + all.EmbeddingWorkers + all.Ranks + at.Index
	}
	return index
}

// chainOfWork returns the chain that a piece of work belongs to, and the step of the chain.
func (f *folding) chainOfWork(kind role.WorkKind, step int32) (chain, int32) {
	if !f.inStep {
		return noChain, step
	}
	switch kind {
	case role.Forward, role.Backward:
		return computing, step
	}
	if !f.exposed {
		return noChain, step
	}
	switch kind {
	case role.ReadRows, role.Apply:
		if !f.parallelPS {
			return noChain, step
		}
	case role.Pool, role.Merge:
		if !f.parallelWorker {
			return noChain, step
		}
	}
	switch kind {
	case role.ReadRows:
		if f.config.Rule.InStep() {
			return reading, step
		}
		return computing, step
	case role.Pool:
		return computing, step
	case role.Merge, role.Apply:
		return f.back(step)
	}
	return noChain, step
}

// chainOfMessage is chainOfWork for messages.
func (f *folding) chainOfMessage(kind msg.Kind, step int32) (chain, int32) {
	if !f.exposed {
		return noChain, step
	}
	switch kind {
	case msg.Rows, msg.Embeddings:
		return computing, step
	case msg.PutGradients, msg.Put:
		return f.back(step)
	}
	return noChain, step
}

// back returns the chain of the return of gradients. Ranks meet behind it if PSs work step by step. Else the
// next step of the rank follows.
func (f *folding) back(step int32) (chain, int32) {
	if f.config.Rule.InStep() {
		return returning, step
	}
	return computing, step + 1
}

// memberOfWork returns the rank of the job whose random factor a piece of work takes.
func (w *simulation) memberOfWork(rank, step int32, kind role.WorkKind) int32 {
	if w.fold == nil || rank < 0 {
		return rank
	}
	c, at := w.fold.chainOfWork(kind, step)
	return w.fold.member(rank, w.slowestOf(c, rank, at))
}

// memberOfMessage returns the rank of the job whose random factor a message takes.
func (w *simulation) memberOfMessage(rank, step int32, kind msg.Kind) int32 {
	if w.fold == nil || rank < 0 {
		return rank
	}
	c, at := w.fold.chainOfMessage(kind, step)
	return w.fold.member(rank, w.slowestOf(c, rank, at))
}

// slowestOf returns the member of a class whose chain of a step takes longest, by times of idle resources and
// the members' own random factors; the first where no rank waits for others.
func (w *simulation) slowestOf(c chain, rank, step int32) int32 {
	f := w.fold
	if c == noChain || f.ranks[rank].size == 1 || !w.jitters() {
		return 0
	}
	if f.slowest[c] == nil {
		f.slowest[c] = make(memberOfStep, len(f.ranks)*int(w.config.Steps+1))
		f.weights[c] = w.chainLinks(c)
	}
	known := &f.slowest[c][int(step)*len(f.ranks)+int(rank)]
	if *known > 0 {
		return *known - 1
	}
	longest := -1.0
	for i := range f.ranks[rank].size {
		sum := 0.0
		for k := range f.weights[c] {
			l := &f.weights[c][k]
			sum += float64(l.time) * w.linkJitter(l, f.member(rank, i), step-l.earlier)
		}
		if sum > longest {
			longest, *known = sum, i+1
		}
	}
	return *known - 1
}

// chainLinks returns what the slowest member of a class is chosen by.
func (w *simulation) chainLinks(c chain) (links []chainLink) {
	p := w.prices
	b := p.Batch(p.Samples(0, p.Job.Training.GlobalBatch))
	add := func(k role.WorkKind, time unit.Tick) {
		if at, step := w.fold.chainOfWork(k, 1); at == c {
			links = append(links, chainLink{work: k, time: time, earlier: step - 1})
		}
	}
	core := func(cost unit.Tick, s *cost.Service) unit.Tick { return cost / unit.Tick(s.Width) }
	add(role.ReadRows, core(p.ReadRows(b.HottestRows, b.Samples).Core+
		p.CreateRows(b.HottestRows, b.Samples).Core, &p.PSService))
	add(role.Pool, core(b.Pool.Core, &p.EWService))
	add(role.Forward, b.ForwardHost+b.Forward+b.HotForward)
	add(role.Backward, b.BackwardHost+b.Backward+b.HotBackward)
	add(role.Merge, core(p.Merge(b.Samples, b.DistinctRows).Core, &p.EWService))
	if !w.config.Rule.InStep() { // else the puts of a step are applied together
		add(role.Apply, core(p.Apply(b.HottestRows, b.Samples).Core, &p.PSService))
	}
	far := w.rates.time(latency, p.NetworkWire.Latency)
	message := func(k msg.Kind, bytes unit.Bytes, copied bool) {
		if at, step := w.fold.chainOfMessage(k, 1); at == c {
			time := far + p.Message(p.EWHost, bytes, true).Core + p.Message(p.ServerHost, bytes, true).Core
			if copied {
				time += p.HostLinkWire.Time(bytes)
			}
			links = append(links, chainLink{message: k, time: time, earlier: step - 1})
		}
	}
	message(msg.Rows, b.Routed.ValueBytes[0], false)
	message(msg.Embeddings, b.EmbeddingBytes, true)
	message(msg.PutGradients, b.GradientBytes, true)
	message(msg.Put, b.Routed.SignBytes[0]+b.Routed.ValueBytes[0], false)
	return links
}

// linkJitter returns the random factor that one of the job's ranks has at a link of a chain.
func (w *simulation) linkJitter(l *chainLink, rank, step int32) float64 {
	if step < 0 {
		return 1
	}
	worker, ps := int32(1), 1+w.config.EmbeddingWorkers // simulated roles of the kind
	nn := ps + w.config.EmbeddingPSs
	switch l.message {
	case msg.Rows:
		return w.messageFactor(ps, worker, rank, step, l.message)
	case msg.Embeddings:
		return w.messageFactor(worker, nn, rank, step, l.message)
	case msg.PutGradients:
		return w.messageFactor(nn, worker, rank, step, l.message)
	case msg.Put:
		return w.messageFactor(worker, ps, rank, step, l.message)
	}
	switch l.work {
	case role.ReadRows, role.Apply:
		return w.workFactor(ps, rank, step, l.work)
	case role.Pool, role.Merge:
		return w.workFactor(worker, rank, step, l.work)
	}
	return w.launchFactor(rank, step, l.work)
}

// jitters reports whether the run has random factors.
func (w *simulation) jitters() bool {
	return w.options.SystemJitter || w.options.Jitter > 0 || w.options.HostJitter > 0
}

// share is how much one of several like pieces stands for. Shared resources see work as large as the mean of
// all pieces, while the piece itself takes as long as that of one member: its threads are as many as make
// both true.
type share struct{ work, threads float64 }

// whole is the share of a piece that stands for itself.
var whole = share{1, 1}

// shareOf returns the share of a piece of work or a message for the batch of a rank on the host of a role. The
// time of the piece has a random factor, and at most so many of the pieces have a thread at once; 0: all.
func (f *folding) shareOf(at *place, rank int32, factor, threads float64) share {
	if f == nil || rank < 0 || f.ranks[rank].size == 1 {
		return whole
	}
	size := float64(f.ranks[rank].size)
	switch work := size / factor; {
	case at.own:
		return share{1 / factor, 1 / factor}
	case threads == 0:
		return share{work, work}
	case size <= threads: // each has a thread, which does nothing else meanwhile
		return share{size, size}
	default:
		return share{work, min(work, threads)}
	}
}

// busyShare returns the share of the time of a piece that takes a random factor that counts as busy on a
// station of a rank: that of the mean member of its class.
func (f *folding) busyShare(rank int32, factor float64) float64 {
	if f == nil || f.ranks[rank].size == 1 {
		return 1
	}
	return 1 / factor
}

// laneOf returns how many pieces of work at once are in service in a lane of a role whose instances have a
// number of threads, and notes how many of the threads each piece has. Where threads are cores, the cores are
// the bound.
func (f *folding) laneOf(at *place, r msg.Role, threads int) int {
	if f == nil || r != msg.EmbeddingWorker && r != msg.EmbeddingPS && r != msg.DensePS {
		return threads
	}
	all := float64(threads)
	if r == msg.EmbeddingWorker {
		all *= f.workers
	}
	pieces := max(1, math.Ceil(all/f.mean-1e-9))
	if at.service.AllCores {
		if f.mean < 2*all {
			pieces = max(2, pieces) // a piece alone can leave cores idle: see share
		}
		return int(pieces)
	}
	at.threads = all / pieces
	return int(pieces)
}

// stationOf returns a lane of a simulated role as that of one of the roles that it stands for, and their
// number.
func (f *folding) stationOf(n *instance, lane *station.Lane) (station.Station, float64) {
	if f == nil || n.at.Role == msg.DataLoader {
		return lane, 1
	}
	count := 1.0
	if n.at.Role == msg.EmbeddingWorker {
		count = f.workers
	}
	return &pooled{lane, float64(n.threads), f.mean / count}, count
}

// stalenessOfAll returns the staleness of the reads of simulated ranks, in batches and updates of all ranks.
// Members of a class do everything at the same time.
func (f *folding) stalenessOfAll(s *pace.Staleness) pace.Staleness {
	all := *s
	all.Inflight, all.Dense = histogram.Histogram{}, histogram.Histogram{}
	for n, times := range s.Inflight.All() {
		all.Inflight.AddCount(int(math.Round(f.mean*float64(n+1)))-1, times)
	}
	for n, times := range s.Dense.All() {
		all.Dense.AddCount(int(math.Round(f.mean*float64(n)+(f.mean-1)/2)), times)
	}
	return all
}

// meanTimes follows the passes of a simulated rank, which takes as long for them as the slowest of its class,
// and gives the instants at which the mean member would be as far. The rest of the time it waits for others.
type meanTimes struct {
	since   unit.Tick // the last instant, as it was
	mean    unit.Tick // … and as it would be
	factor  float64   // on the time since then
	running bool      // a pass
}

// adjust changes the time of a record of a rank to that of the mean member of its class.
func (m *meanTimes) adjust(w *simulation, r *event.Record) {
	now := r.At
	switch r.Kind {
	case event.ForwardStarted:
		m.begin(w, now, now, r, role.Forward)
		return
	case event.BackwardStarted, event.BackwardDone, event.SyncStarted:
	default:
		return
	}
	if m.running {
		r.At = m.mean + (now - m.since).Scale(1/m.factor)
	} else {
		r.At = m.mean + now - m.since
	}
	switch r.Kind {
	case event.BackwardStarted:
		m.begin(w, now, r.At, r, role.Backward)
	case event.BackwardDone:
		m.since, m.mean, m.running = now, r.At, false
	}
}

// begin notes that a pass begins.
func (m *meanTimes) begin(w *simulation, now, mean unit.Tick, r *event.Record, kind role.WorkKind) {
	m.since, m.mean, m.running, m.factor = now, mean, true, 1
	if w.fold.ranks[r.Rank].size > 1 {
		m.factor = w.launchJitter(role.Work{Kind: kind, Rank: r.Rank, Step: r.Step})
	}
}
