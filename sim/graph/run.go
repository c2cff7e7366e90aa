package graph

import (
	"math"

	"tandem/algo/unit"
	"tandem/sim/timeline"
)

// Trace is what running some steps showed. All but Ends and Events leaves out the warm-up.
type Trace struct {
	// Ends has the end of each step: of its last node, apart from work for later batches.
	Ends []unit.Tick
	// Busy is the time that each stream worked.
	Busy [streams]float64
	// Exposed is the time in which a collective ran and no kernel.
	Exposed float64
	// Parts and Resources have the time on the critical path: the chain of nodes, each started by the end of
	// the one before, that ends with the last step.
	Parts, Resources map[string]float64
	Events           int
	timeline         func() timeline.Timeline
}

// Resources that no node names.
const (
	Interference = "interference of collectives"
	Delays       = "delays"
	HostThread   = "rank host thread"
)

// Factors are the factors on the times of the phases of a step on the slowest rank.
type Factors [3]float64

// runner runs the steps.
type runner struct {
	step    *Step
	steps   int
	factors func(step int) Factors
	queues  [streams][]int // nodes by stream; of the host thread: all
	items   []item         // two for each node of each step: its launch and its run
	heads   [streams]head
	now     float64
	left    []int // nodes of each step that have not ended, apart from work for later batches
	trace   Trace
}

// item is the launch or the run of a node in one step. Host nodes have no launch.
type item struct {
	start, end float64 // end < 0: not yet
	cause      int32   // the item whose end let this one start, or −1
}

// head is the next item of a stream.
type head struct {
	at        int // position in the queue, over all steps
	item      int
	node      *Node
	running   bool
	remaining float64
}

// stepsAhead is the number of further steps whose work for later batches can overlap the last step.
const stepsAhead = 2

// Run runs steps of one rank. The first warmup steps fill the pipeline. Factors may be nil, for 1.
func (s *Step) Run(steps, warmup int, factors func(step int) Factors) Trace {
	r := &runner{step: s, steps: steps + stepsAhead, factors: factors}
	own := 0
	for i := range s.Nodes {
		r.queues[Host] = append(r.queues[Host], i)
		if stream := s.Nodes[i].Stream; stream != Host {
			r.queues[stream] = append(r.queues[stream], i)
		}
		if s.Nodes[i].own() {
			own++
		}
	}
	r.items = make([]item, 2*len(s.Nodes)*r.steps)
	for i := range r.items {
		r.items[i] = item{end: -1, cause: -1}
	}
	r.left = make([]int, r.steps)
	for i := range r.left {
		r.left[i] = own
	}
	r.trace.Ends = make([]unit.Tick, 0, steps)
	var warm Trace
	last, from := -1, 0.0
	for len(r.trace.Ends) < steps {
		before := len(r.trace.Ends)
		r.startReady()
		at := r.advance()
		if len(r.trace.Ends) == before {
			continue
		}
		last = at
		if len(r.trace.Ends) == warmup {
			warm, from = r.trace, r.now
		}
	}
	for i := range r.trace.Busy {
		r.trace.Busy[i] -= warm.Busy[i]
	}
	r.trace.Exposed -= warm.Exposed
	to := r.now
	r.walk(last, from)
	r.trace.timeline = func() timeline.Timeline { return r.timeline(from, to) }
	return r.trace
}

// own reports whether the node works for the batch of its step.
func (n *Node) own() bool { return n.Stream != Copies && n.Stream != Inputs }

// startReady starts the heads of idle streams whose conditions hold.
func (r *runner) startReady() {
	for s := range streams {
		h := &r.heads[s]
		if q := r.queues[s]; !h.running && len(q) > 0 && h.at < len(q)*r.steps {
			r.start(s, h.at/len(q), q[h.at%len(q)])
		}
	}
}

// start starts a node or, on the host thread, its launch if its conditions hold.
func (r *runner) start(s Stream, step, node int) {
	n, h := &r.step.Nodes[node], &r.heads[s]
	size := len(r.step.Nodes)
	cause := -1
	// ready reports whether an item has ended. Items before the first step have.
	ready := func(at int) bool {
		if at < 0 {
			return true
		}
		if r.items[at].end < 0 {
			return false
		}
		if cause < 0 || r.items[at].end >= r.items[cause].end {
			cause = at
		}
		return true
	}
	at := 2 * (step*size + node)
	work := float64(n.Launch)
	if h.node != nil {
		ready(h.item) // the item before in the stream, which has ended
	}
	if launch := s == Host && n.Stream != Host; !launch {
		if s != Host && !ready(at) {
			return
		}
		for _, j := range n.After {
			if !ready(2*(step*size+j) + 1) {
				return
			}
		}
		for _, j := range n.AfterPrevious {
			if !ready(2*((step-1)*size+j) + 1) {
				return
			}
		}
		work = float64(n.Time)
		if n.Phase != Even && r.factors != nil {
			work *= r.factors(step)[n.Phase]
		}
		at++
	}
	r.items[at].start, r.items[at].cause = r.now, int32(cause)
	h.item, h.node, h.running, h.remaining = at, n, true, work
}

// rates returns the speeds of what runs.
func (r *runner) rates() (rates [streams]float64, kernels, collectives int) {
	for s := Compute; s < streams; s++ {
		if h := &r.heads[s]; h.running && h.node.Kind == Kernel {
			kernels++
		} else if h.running && h.node.Kind == Collective {
			collectives++
		}
	}
	for s := range streams {
		rates[s] = 1
		switch h := &r.heads[s]; {
		case !h.running || s == Host:
		case h.node.Kind == Kernel && collectives > 0:
			rates[s] = (1 - r.step.Interference) / float64(kernels)
		case h.node.Kind == Kernel:
			rates[s] = 1 / float64(kernels)
		case h.node.Kind == Collective:
			rates[s] = 1 / float64(collectives)
		}
	}
	return rates, kernels, collectives
}

// advance runs what is running until something ends, and returns one of the items that ended.
func (r *runner) advance() (last int) {
	rates, kernels, collectives := r.rates()
	wait := math.Inf(1)
	for s := range streams {
		if h := &r.heads[s]; h.running {
			wait = min(wait, h.remaining/rates[s])
		}
	}
	if math.IsInf(wait, 1) {
		panic("graph: nothing can run; the step is not valid")
	}
	r.now += wait
	if collectives > 0 && kernels == 0 {
		r.trace.Exposed += wait
	}
	for s := range streams {
		h := &r.heads[s]
		if !h.running {
			continue
		}
		r.trace.Busy[s] += wait
		if h.remaining -= wait * rates[s]; h.remaining > roundingNanos {
			continue
		}
		r.items[h.item].end = r.now
		r.trace.Events++
		h.running = false
		h.at++
		last = h.item
		if step := h.item / 2 / len(r.step.Nodes); h.item%2 == 1 && h.node.own() {
			if r.left[step]--; r.left[step] == 0 {
				r.trace.Ends = append(r.trace.Ends, unit.Tick(math.Round(r.now)))
			}
		}
	}
	return last
}

// roundingNanos is the remaining work that counts as none.
const roundingNanos = 1e-6

// walk adds up the critical path that ends with an item, back to a time.
func (r *runner) walk(last int, from float64) {
	r.trace.Parts, r.trace.Resources = map[string]float64{}, map[string]float64{}
	for at := last; at >= 0 && r.items[at].end > from; at = int(r.items[at].cause) {
		it, n := &r.items[at], &r.step.Nodes[at/2%len(r.step.Nodes)]
		took := it.end - it.start
		part := it.end - max(it.start, from)
		if at%2 == 0 {
			r.trace.Parts[PartHost] += part
			r.trace.Resources[HostThread] += part
			continue
		}
		r.trace.Parts[n.Part] += part
		alone := 1.0 // share of the time that the kernel would take alone; slow collectives need faster wires
		if took > 0 && n.Kind == Kernel {
			alone = min(1, float64(n.Time)/took)
			if n.Phase != Even && r.factors != nil {
				alone = min(1, float64(n.Time)*r.factors(at / 2 / len(r.step.Nodes))[n.Phase]/took)
			}
		}
		rest := 1.0
		for _, need := range n.Needs {
			r.trace.Resources[need.Resource] += part * alone * need.Share
			rest -= need.Share
		}
		r.trace.Resources[Delays] += part * alone * max(0, rest)
		r.trace.Resources[Interference] += part * (1 - alone)
	}
}
