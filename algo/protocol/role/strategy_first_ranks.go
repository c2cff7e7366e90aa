package role

import (
	"errors"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

var firstRanksStrategy = strategy{
	worker: func(*Config) denseSync { return &firstRanks{} },
	puts: func(cfg *Config) accessOrder {
		return &firstPuts{ranks: cfg.Ranks, quorum: cfg.Rule.Dense().Quorum}
	},
	coordinator: func(cfg *Config) Role {
		return &quorumCoordinator{cfg: cfg, offers: make([]offer, cfg.Ranks)}
	},
	irreplaceable: true,
}

// firstRanks is dense synchronisation by an all-reduce of the gradients that count: those of the first ranks
// of a step, as the coordinator decides (quorumCoordinator). A rank reports to the coordinator when it has
// computed its gradients. When it receives the decision, it feeds its gradients to the all-reduce, or nothing
// if they do not count. It does so at once, even while it computes, because the other ranks wait.
type firstRanks struct {
	noMessages
	decided   int32      // number of steps with a decision
	decisions []decision // for the current step and, if the rank is late, for later steps
	ended     int32      // number of buckets of these steps that are summed
	reported  bool       // whether the gradients of the current step are reported
}

// decision is the decision of the coordinator on the gradients of a rank in one step.
type decision struct {
	counts  bool
	samples int32 // of all gradients that count
}

func (f *firstRanks) receive(w *NNWorker, _ unit.Tick, m msg.Message, out *Outputs) {
	counts := m.Kind == msg.GradientsCount
	if !counts && m.Kind != msg.GradientsDropped || m.Step != f.decided || counts && !f.computed(w, m.Step) {
		return // a late duplicate
	}
	f.decided++
	f.decisions = append(f.decisions, decision{counts, m.StepSamples})
	source := Handle{}
	if counts {
		source = w.handle(DenseGradients, m.Step)
	}
	for i, bytes := range w.cfg.Buckets {
		out.feed(Contribution{
			Rank: w.rank, Step: m.Step, Bucket: int32(i), Bytes: bytes, Source: source,
			Sum: w.handle(ReducedGradients, m.Step),
		})
	}
}

// computed reports whether the gradients of a step are here.
func (f *firstRanks) computed(w *NNWorker, step int32) bool {
	return step == w.nextTrain && w.phase == backward && w.computed
}

func (f *firstRanks) bucketReduced(*NNWorker, Input) { f.ended++ }

// advance reports computed gradients. When the gradients of a step are summed, it starts the dense optimizer,
// and PEG if the gradients of this rank count. If a step closed before this rank has begun it, the rank makes
// the optimizer step only.
func (f *firstRanks) advance(w *NNWorker, now unit.Tick, out *Outputs) {
	if f.computed(w, w.nextTrain) && !f.reported {
		f.reported = true
		out.record(w.event(now, event.SyncStarted, w.nextTrain))
		f.report(w, out)
	}
	b := w.find(w.nextTrain)
	if len(f.decisions) == 0 || int(f.ended) < len(w.cfg.Buckets) || b == nil || !b.issued {
		return
	}
	if w.phase != idle && !f.computed(w, b.step) {
		return
	}
	b.stepSamples = f.decisions[0].samples
	if w.computed {
		out.record(w.event(now, event.SyncDone, b.step))
	}
	if f.decisions[0].counts {
		w.putGradients(now, b, out)
	} else {
		w.dropBatch(b, out)
	}
	w.denseApply(b, ReducedGradients, out)
}

// report sends the coordinator the number of computed steps and the number of decisions that have arrived.
func (f *firstRanks) report(w *NNWorker, out *Outputs) {
	m := msg.Message{
		Kind: msg.ReportClock, From: w.Address(), To: coordinator, Rank: w.rank, Step: w.nextTrain,
		Floor: f.decided,
		Bytes: msg.HeaderBytes,
	}
	if b := w.find(w.nextTrain); b != nil && f.computed(w, b.step) {
		m.Step, m.Samples, m.StepSamples = b.step+1, b.samples, b.stepSamples
	}
	out.send(m, Handle{})
}

func (f *firstRanks) workDone(w *NNWorker, now unit.Tick, _ Work, out *Outputs) {
	f.ended -= int32(len(w.cfg.Buckets))
	f.decisions = f.decisions[1:]
	f.reported = false
	if w.computed {
		w.denseApplied(now, out, DenseGradients, ReducedGradients)
	} else {
		w.denseApplied(now, out, ReducedGradients)
	}
}

func (f *firstRanks) ready(*NNWorker, *trainingBatch, *Outputs) bool { return len(f.decisions) == 0 }

func (f *firstRanks) resend(w *NNWorker, out *Outputs) { f.report(w, out) }

func (f *firstRanks) finished(*NNWorker) bool { return true }

func (f *firstRanks) clone() denseSync {
	c := *f
	c.decisions = slices.Clone(f.decisions)
	return &c
}

func (f *firstRanks) appendState(dst []byte) []byte {
	dst = appendInts(dst, f.decided, f.ended, int32(len(f.decisions)))
	for _, v := range f.decisions {
		dst = appendFlags(appendInts(dst, v.samples), v.counts)
	}
	return appendFlags(dst, f.reported)
}

// quorumCoordinator is the coordinator of backup-workers. It decides whose gradients of a step count: those
// of the first ranks that report them. A rank misses at most one decision, because the all-reduce of a step
// needs the contribution of every rank, which waits for the decision, and no rank computes the next step
// before that sum.
type quorumCoordinator struct {
	cfg     *Config
	open    int32   // the first step without a decision
	offers  []offer // by rank, for the open step
	counted []bool  // by rank, for the previous step: whether its gradients count
	samples int32   // number of samples of all gradients that count in the previous step
}

// offer is the report of a rank about the open step.
type offer struct {
	here    bool
	samples int32
}

// Address implements Role.
func (c *quorumCoordinator) Address() msg.Address { return coordinator }

// HandleInput implements Role.
func (c *quorumCoordinator) HandleInput(now unit.Tick, in Input, out *Outputs) {
	switch {
	case in.Kind == Start && in.Incarnation > 0:
		out.halt(errors.New("coordinator 0 has lost its decisions in a crash, and no other role knows " +
			"them; start the run again"))
	case in.Kind == Received && in.Message.Kind == msg.ReportClock:
		c.receiveReport(now, in.Message, out)
	}
}

func (c *quorumCoordinator) receiveReport(now unit.Tick, m msg.Message, out *Outputs) {
	if m.Floor < c.open {
		c.sendDecision(m.Rank, out) // the decision may be lost
	}
	if m.Step <= c.open {
		return
	}
	c.offers[m.Rank] = offer{true, m.Samples}
	here, samples := int32(0), int32(0)
	for _, o := range c.offers {
		if o.here {
			here, samples = here+1, samples+o.samples
		}
	}
	if here < min(c.cfg.Rule.Dense().Quorum, c.cfg.Ranks) {
		return
	}
	c.open++
	c.samples = max(samples, 1) // the ranks may have no sample of the last batch
	c.counted = make([]bool, c.cfg.Ranks)
	for rank := range c.cfg.Ranks {
		if c.counted[rank] = c.offers[rank].here; !c.counted[rank] {
			out.record(event.Record{At: now, Role: coordinator, Kind: event.BatchDropped, Rank: rank,
				Step: c.open - 1})
		}
		c.sendDecision(rank, out)
	}
	clear(c.offers)
}

// sendDecision sends a rank the decision on the last step that has one.
func (c *quorumCoordinator) sendDecision(rank int32, out *Outputs) {
	kind := msg.GradientsDropped
	if c.counted[rank] {
		kind = msg.GradientsCount
	}
	out.send(msg.Message{
		Kind: kind, From: coordinator, To: nnWorker(rank), Rank: rank, Step: c.open - 1,
		StepSamples: c.samples,
		Bytes:       msg.HeaderBytes,
	}, Handle{})
}

// Clone implements Role.
func (c *quorumCoordinator) Clone() Role {
	d := *c
	d.offers, d.counted = slices.Clone(c.offers), slices.Clone(c.counted)
	return &d
}

// AppendState implements Role.
func (c *quorumCoordinator) AppendState(dst []byte) []byte {
	dst = appendInts(dst, c.open, c.samples)
	for _, o := range c.offers {
		dst = appendFlags(appendInts(dst, o.samples), o.here)
	}
	return appendFlags(dst, c.counted...)
}

// firstPuts applies the puts of a step together when those of all ranks that count are here; the other ranks
// send none. It holds the lookups of a step back until the previous step is closed, and drops lookups of
// closed steps.
type firstPuts struct{ ranks, quorum, closed int32 }

func (*firstPuts) buffers() bool { return false }

func (f *firstPuts) nextGroup(waiting []request) (group, bool) {
	first, end := ofStep(waiting, f.closed)
	if int32(end-first) < min(f.quorum, f.ranks) {
		return group{}, false
	}
	g := closing(waiting, first, end, f.closed)
	absent := slices.Repeat([]bool{true}, int(f.ranks))
	for _, r := range waiting[first:end] {
		absent[r.rank] = false
	}
	for rank := range f.ranks {
		if absent[rank] {
			g.absent = append(g.absent, rank)
		}
	}
	f.closed++
	return g, true
}

func (f *firstPuts) mayServe(r *request) bool { return r.step == f.closed }
func (f *firstPuts) outdated(r *request) bool { return r.step < f.closed }
func (*firstPuts) setEnd(int32)               {}

func (f *firstPuts) clone() accessOrder {
	c := *f
	return &c
}

func (f *firstPuts) appendState(dst []byte) []byte { return appendInts(dst, f.closed) }
