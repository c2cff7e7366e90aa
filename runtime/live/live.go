// Package live drives the roles of algo/role in real time: a goroutine for every
// role instance, which alone touches its state machine, and one for every lane
// of its work. Inside a process messages are direct calls, payloads travel by
// pointer, and none is lost. Run drives a whole cluster in one process; a Part
// drives the roles of one process of several.
package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/unit"
	"tandem/algo/work"
)

// Options are what a run may be watched with. The zero value watches nothing.
type Options struct {
	Observers []event.Observer // see every record, one at a time
	Recorder  Recorder         // if not nil, keeps all that happens to every role
	Stopwatch Stopwatch        // if not nil, is told how long work takes
	// InTurn has one piece of work done at a time in this process, so that a Stopwatch
	// learns what each takes by itself, however many cores there are.
	InTurn bool
	// BeforeStep, if not nil, is called before rank 0's forward pass of every
	// step, which waits for it: the dense network has taken the steps before this
	// one, and in sync mode so have the rows of every PS. The state may be read
	// until BeforeStep returns; of the other roles only a PS whose rows are read
	// waits meanwhile, between two pieces of its work. An error stops the run.
	BeforeStep func(step int, state work.State) error
}

// Run trains every step of cfg, whose roles it makes, on the numbers of p.
//
// It returns the first failure of any role, or the cause of ctx's end; either
// way every goroutine has stopped by then. When it returns nil, every rank has
// trained every step, every put is applied, and no role holds data.
func Run(ctx context.Context, cfg *role.Config, p *work.Performer, o Options) error {
	part, err := NewPart(cfg, p, o, everywhere, nil)
	if err != nil {
		return err
	}
	return part.Run(ctx, time.Now())
}

// run is one run of the roles of a process.
type run struct {
	cfg        *role.Config
	performer  *work.Performer
	elsewhere  Elsewhere // nil if all roles are here
	start      time.Time
	ended      context.Context // of the run
	beforeStep func(step int, state work.State) error
	stopwatch  Stopwatch   // may be nil
	turn       *sync.Mutex // held while work is done; nil: no turns
	fail       context.CancelCauseFunc
	nodes      map[msg.Address]*node

	buckets *queue[bucket] // to be reduced
	fedMu   sync.Mutex
	fed     []int32 // by bucket: ranks here that have handed it over in the step in hand
	ranks   []int32 // that are here

	observersMu sync.Mutex
	observers   []event.Observer
	finished    chan struct{} // one item for each rank here that has finished
}

// newRun makes those roles of a run that are here, and their nodes.
func newRun(cfg *role.Config, p *work.Performer, here func(msg.Address) bool) *run {
	r := &run{
		cfg: cfg, performer: p, nodes: map[msg.Address]*node{},
		buckets: newQueue[bucket](), fed: make([]int32, len(cfg.Buckets)), finished: make(chan struct{}, cfg.Ranks),
	}
	r.ended, r.fail = context.WithCancelCause(context.Background())
	for _, state := range role.New(cfg) {
		at := state.Address()
		if !here(at) {
			continue
		}
		r.nodes[at] = newNode(r, state)
		if at.Role == msg.NNWorker {
			r.ranks = append(r.ranks, at.Index)
		}
	}
	return r
}

// bucket is one all-reduce.
type bucket struct{ step, index int32 }

// errLeak reports data that a role still holds after the run.
var errLeak = errors.New("live: data is held after the run")

// drive starts every goroutine, waits for the ranks to finish or for the run to
// fail, and stops everything.
func (r *run) drive() error {
	var goroutines sync.WaitGroup
	goroutines.Go(r.reduce)
	for _, n := range r.nodes {
		n.start(&goroutines)
	}
	err := r.await()
	for _, n := range r.nodes {
		n.close()
	}
	r.buckets.close()
	goroutines.Wait()
	if err != nil {
		return err
	}
	return r.checkLeaks()
}

// await waits until every rank has finished and every role here has stopped, or
// until the run fails.
func (r *run) await() error {
	for range r.ranks {
		select {
		case <-r.finished:
		case <-r.ended.Done():
			return context.Cause(r.ended)
		}
	}
	if r.elsewhere != nil {
		if err := r.elsewhere.Finished(r.ended); err != nil {
			return err
		}
	}
	// What the roles have sent so far is in the inboxes, before this.
	for _, n := range r.nodes {
		n.inbox.push(delivery{input: role.Input{Kind: role.Stop}})
	}
	for _, n := range r.nodes {
		select {
		case <-n.stopped:
		case <-r.ended.Done():
			return context.Cause(r.ended)
		}
	}
	return nil
}

func (r *run) checkLeaks() error {
	for _, n := range r.nodes {
		if held := n.store.Len(); held > 0 {
			return fmt.Errorf("%w: %v, %d handles", errLeak, n.state.Address(), held)
		}
	}
	return nil
}

func (r *run) now() unit.Tick { return unit.Tick(time.Since(r.start)) }

// observe tells the observers.
func (r *run) observe(e event.Record) {
	r.observersMu.Lock()
	defer r.observersMu.Unlock()
	for _, o := range r.observers {
		o.Observe(e)
	}
}

// feed counts a rank's bucket, and has it reduced when it was the last rank
// here.
func (r *run) feed(step, index int32) {
	r.fedMu.Lock()
	defer r.fedMu.Unlock()
	r.fed[index]++
	if int(r.fed[index]) == len(r.ranks) {
		// No rank feeds this bucket for the next step before all have it back.
		r.fed[index] = 0
		r.buckets.push(bucket{step, index})
	}
}

// reduce is the goroutine that sums buckets over the ranks.
func (r *run) reduce() {
	for {
		b, ok := r.buckets.pop()
		if !ok {
			return
		}
		if r.elsewhere == nil {
			r.timed(func() { r.performer.Reduce(b.index) }, func(took time.Duration) { r.stopwatch.Reduced(b.index, took) })
		} else if err := r.elsewhere.Reduce(r.ended, b.index); err != nil {
			r.fail(err)
			return
		}
		for _, rank := range r.ranks {
			r.nodes[msg.Address{Role: msg.NNWorker, Index: rank}].inbox.push(delivery{input: role.Input{
				Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: b.step}, Bucket: b.index,
			}})
		}
	}
}
