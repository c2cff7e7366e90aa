package cluster

import (
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// chain is a part of what is done for a rank between two instants at which all ranks meet.
type chain int

const (
	computing chain = iota // from the lookup of rows, or from their arrival, to the end of backward
	returning              // of embedding gradients
	chainCount
	noChain chain = -1
)

// chainLink is a piece of work or a message in a chain.
type chainLink struct {
	work    role.WorkKind
	message msg.Kind // instead of work, unless it is 0
	time    unit.Tick
}

// memberOfStep holds the slowest member of classes, by rank and step, plus one; 0: it is not known yet.
type memberOfStep []int32

// chainOfWork returns the chain that a piece of work belongs to.
func (f *folding) chainOfWork(kind role.WorkKind) chain {
	switch kind {
	case role.Forward, role.Backward:
		if f.meets {
			return computing
		}
	case role.ReadRows:
		if f.exposed && f.parallelPS {
			return computing
		}
	case role.Pool:
		if f.exposed && f.parallelWorker {
			return computing
		}
	case role.Merge:
		if f.exposed && f.parallelWorker {
			return returning
		}
	}
	return noChain
}

// chainOfMessage is chainOfWork for messages.
func (f *folding) chainOfMessage(kind msg.Kind) chain {
	switch {
	case !f.exposed:
	case kind == msg.Rows, kind == msg.Embeddings:
		return computing
	case kind == msg.PutGradients, kind == msg.Put:
		return returning
	}
	return noChain
}

// memberOfWork returns the rank of the job whose random factor a piece of work takes.
func (w *simulation) memberOfWork(rank, step int32, kind role.WorkKind) int32 {
	if w.fold == nil || rank < 0 {
		return rank
	}
	return w.fold.member(rank, w.slowestOf(w.fold.chainOfWork(kind), rank, step))
}

// memberOfMessage returns the rank of the job whose random factor a message takes.
func (w *simulation) memberOfMessage(rank, step int32, kind msg.Kind) int32 {
	if w.fold == nil || rank < 0 {
		return rank
	}
	return w.fold.member(rank, w.slowestOf(w.fold.chainOfMessage(kind), rank, step))
}

// slowestOf returns the member of a class whose chain of a step takes longest, by times of idle resources and
// the members' own random factors; the first where no rank waits for others.
func (w *simulation) slowestOf(c chain, rank, step int32) int32 {
	f := w.fold
	if c == noChain || f.ranks[rank].size == 1 || !w.jitters() {
		return 0
	}
	if f.slowest[c] == nil {
		f.slowest[c] = make(memberOfStep, len(f.ranks)*int(w.config.Steps))
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
			sum += float64(l.time) * w.linkJitter(l, f.member(rank, i), step)
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
		if w.fold.chainOfWork(k) == c {
			links = append(links, chainLink{work: k, time: time})
		}
	}
	core := func(cost unit.Tick, s *cost.Service) unit.Tick { return cost / unit.Tick(s.Width) }
	add(role.ReadRows, core(p.ReadRows(b.HottestRows, b.Samples).Core+
		p.CreateRows(b.HottestRows, b.Samples).Core, &p.PSService))
	add(role.Pool, core(b.Pool.Core, &p.EWService))
	add(role.Forward, b.ForwardHost+b.Forward+b.HotForward)
	add(role.Backward, b.BackwardHost+b.Backward+b.HotBackward)
	add(role.Merge, core(p.Merge(b.Samples, b.DistinctRows).Core, &p.EWService))
	far := w.rates.time(latency, p.NetworkWire.Latency)
	message := func(k msg.Kind, bytes unit.Bytes, copied bool) {
		if w.fold.chainOfMessage(k) == c {
			time := far + p.Message(p.EWHost, bytes, true).Core + p.Message(p.ServerHost, bytes, true).Core
			if copied {
				time += p.HostLinkWire.Time(bytes)
			}
			links = append(links, chainLink{message: k, time: time})
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
	first := func(r msg.Role) int32 { return w.roleIndex(msg.Address{Role: r}) }
	worker, ps, nn := first(msg.EmbeddingWorker), first(msg.EmbeddingPS), first(msg.NNWorker)
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
	case role.ReadRows:
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
