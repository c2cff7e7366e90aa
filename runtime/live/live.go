// Package live drives the roles of algo/role in real time, inside one process:
// a goroutine for every role instance, which alone touches its state machine,
// and one for every lane of its work. Messages are direct calls, payloads
// travel by pointer, and none is lost.
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
	if err := cfg.Validate(); err != nil {
		return err
	}
	if cfg.Retry != 0 {
		return errors.New("live: no message is lost here; retry must be 0")
	}
	ctx, r := newRun(ctx, cfg, p, o.Observers)
	r.beforeStep = o.BeforeStep
	defer r.fail(nil)
	if err := r.record(o.Recorder); err != nil {
		return err
	}
	if err := r.drive(ctx); err != nil {
		return err
	}
	return r.endRecord()
}

// run is one call of Run.
type run struct {
	cfg        *role.Config
	performer  *work.Performer
	start      time.Time
	ended      context.Context // of the run
	beforeStep func(step int, state work.State) error
	fail       context.CancelCauseFunc
	nodes      map[msg.Address]*node

	buckets *queue[bucket] // to be reduced
	fedMu   sync.Mutex
	fed     []int32 // by bucket: ranks that have handed it over in the step in hand

	observersMu sync.Mutex
	observers   []event.Observer
	finished    chan struct{} // one item for each rank that has finished
}

// newRun makes the roles of a run and their nodes. The context ends when fail is
// called, with its cause.
func newRun(ctx context.Context, cfg *role.Config, p *work.Performer, observers []event.Observer) (context.Context, *run) {
	ctx, fail := context.WithCancelCause(ctx)
	r := &run{
		cfg: cfg, performer: p, observers: observers, start: time.Now(), ended: ctx, fail: fail, nodes: map[msg.Address]*node{},
		buckets: newQueue[bucket](), fed: make([]int32, len(cfg.Buckets)), finished: make(chan struct{}, cfg.Ranks),
	}
	for _, state := range role.New(cfg) {
		r.nodes[state.Address()] = newNode(r, state)
	}
	return ctx, r
}

// bucket is one all-reduce.
type bucket struct{ step, index int32 }

// errLeak reports data that a role still holds after the run.
var errLeak = errors.New("live: data is held after the run")

// drive starts every goroutine, waits for the ranks to finish or for ctx to
// end, and stops everything.
func (r *run) drive(ctx context.Context) error {
	var goroutines sync.WaitGroup
	goroutines.Go(r.reduce)
	for _, n := range r.nodes {
		n.start(&goroutines)
	}
	for _, n := range r.nodes {
		n.inbox.push(delivery{input: role.Input{Kind: role.Start}})
	}
	err := r.await(ctx)
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

// await waits until every rank has finished and every role has stopped, or
// until ctx ends.
func (r *run) await(ctx context.Context) error {
	for range r.cfg.Ranks {
		select {
		case <-r.finished:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// What the roles have sent so far is in the inboxes, before this.
	for _, n := range r.nodes {
		n.inbox.push(delivery{input: role.Input{Kind: role.Stop}})
	}
	for _, n := range r.nodes {
		select {
		case <-n.stopped:
		case <-ctx.Done():
			return context.Cause(ctx)
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

// feed counts a rank's bucket, and has it reduced when it was the last rank.
func (r *run) feed(step, index int32) {
	r.fedMu.Lock()
	defer r.fedMu.Unlock()
	r.fed[index]++
	if r.fed[index] == r.cfg.Ranks {
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
		r.performer.Reduce(b.index)
		for rank := range r.cfg.Ranks {
			r.nodes[msg.Address{Role: msg.NNWorker, Index: rank}].inbox.push(delivery{input: role.Input{
				Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: b.step}, Bucket: b.index,
			}})
		}
	}
}
