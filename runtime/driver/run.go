// Package driver drives the roles of algo/protocol/role in real time: a goroutine for every
// role instance, which alone touches its state machine, one for every lane
// of its work, and one for the timers of all. Inside a process messages are direct
// calls and payloads travel by pointer. Run drives a whole cluster in one process;
// a Local drives the roles of one process of several.
package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/evaluation"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Options are what a run may be watched with. The zero value watches nothing.
type Options struct {
	Observers []event.Observer // see every record, one at a time
	Recorder  Recorder         // if not nil, keeps all that happens to every role
	Stopwatch Stopwatch        // if not nil, is told how long work takes
	// InTurn has one piece of work done at a time in this process, so that a Stopwatch
	// learns what each takes by itself, however many cores there are.
	InTurn bool
	// Faults, if not nil, are injected into the messages that the roles of this process send to other roles,
	// and crash them. Retry of the configuration must be above 0 then. All-reduces have no faults.
	Faults *fault.Plan
	// Incarnation is how often the roles of this process have crashed before: they start with it.
	Incarnation uint32
	// BeforeStep, if not nil, is called before rank 0's forward pass of every
	// step, which waits for it: the dense network has taken the steps before this
	// one, and in sync mode so have the rows of every PS. The state may be read
	// until BeforeStep returns; of the other roles only a PS whose rows are read
	// waits meanwhile, between two pieces of its work. An error stops the run.
	BeforeStep func(step int, state evaluation.State) error
}

// Run makes the roles of cfg and trains every step. An executor, which must be new, computes their work.
//
// It returns the first failure of any role, or the cause of ctx's end; either
// way every goroutine has stopped by then. When it returns nil, every rank has
// trained every step, every put is applied, and no role holds data.
func Run(ctx context.Context, cfg *role.Config, e *exec.Executor, o Options) error {
	part, err := NewLocal(cfg, e, o, AllLocal, nil)
	if err != nil {
		return err
	}
	return part.Run(ctx, time.Now())
}

// run is one run of the roles of a process.
type run struct {
	cfg         *role.Config
	executor    *exec.Executor
	remote      Remote // nil if all roles are here
	options     Options
	start       time.Time
	ended       context.Context    // of the run
	sending     context.Context    // ends before
	stopSending context.CancelFunc // ends sending
	fail        context.CancelCauseFunc
	turns       *sync.Mutex // held while work is done; nil: no turns
	roster      role.Roster
	byNumber    []*instance // by number in the roster; nil where the role is not here
	instances   []*instance // those that are here
	ranks       []*instance // the NN workers here
	clock       *clock

	buckets *queue[bucket] // to be reduced
	fedMu   sync.Mutex
	fed     *role.Reduction // over the ranks here

	observersMu sync.Mutex
	finished    chan struct{} // one item for each rank here that has finished
}

// newRun makes those roles of a run that are here, and their nodes.
func newRun(cfg *role.Config, e *exec.Executor, o Options, here func(msg.Address) bool, elsewhere Remote) *run {
	r := &run{
		cfg: cfg, executor: e, remote: elsewhere, options: o, roster: cfg.Roster(),
		buckets: newQueue[bucket](), finished: make(chan struct{}, cfg.Ranks),
	}
	r.ended, r.fail = context.WithCancelCause(context.Background())
	r.sending, r.stopSending = context.WithCancel(r.ended)
	r.clock = newClock(r.now)
	if o.InTurn {
		r.turns = new(sync.Mutex)
	}
	r.byNumber = make([]*instance, r.roster.Len())
	for i, state := range role.New(cfg) {
		if !here(state.Address()) {
			continue
		}
		n := newInstance(r, state)
		r.byNumber[i] = n
		r.instances = append(r.instances, n)
		if n.address.Role == msg.NNWorker {
			n.rank = len(r.ranks)
			r.ranks = append(r.ranks, n)
		}
	}
	r.fed = role.NewReduction(len(r.ranks), len(cfg.Buckets))
	return r
}

// instance returns the node of a role; nil if the role is not here.
func (r *run) instance(at msg.Address) *instance {
	if i, ok := r.roster.Index(at); ok {
		return r.byNumber[i]
	}
	return nil
}

// deliver hands a message to its receiver, here or elsewhere.
func (r *run) deliver(m msg.Message, payload exec.Payload) error {
	if to := r.instance(m.To); to != nil {
		to.inbox.push(delivery{input: role.Input{Kind: role.Received, Message: m}, payload: payload})
		return nil
	}
	return r.remote.Send(r.sending, m, payload)
}

// bucket is one all-reduce.
type bucket struct{ step, index int32 }

// errLeak reports data that a role still holds after the run.
var errLeak = errors.New("driver: data is held after the run")

// drive starts every goroutine, waits for the ranks to finish or for the run to fail, and stops everything.
func (r *run) drive() error {
	var goroutines sync.WaitGroup
	goroutines.Go(r.reduce)
	goroutines.Go(r.clock.run)
	for _, n := range r.instances {
		n.start(&goroutines)
	}
	err := r.await()
	r.clock.close()
	r.stopSending() // a delayed message may be under way
	for _, n := range r.instances {
		n.close()
	}
	r.buckets.close()
	goroutines.Wait()
	if err != nil {
		return err
	}
	return r.checkLeaks()
}

// await waits until every rank has finished and every role here has stopped, or until the run fails.
func (r *run) await() error {
	for range r.ranks {
		select {
		case <-r.finished:
		case <-r.ended.Done():
			return context.Cause(r.ended)
		}
	}
	if r.remote != nil {
		if err := r.remote.Finished(r.ended); err != nil {
			return err
		}
	}
	// The inboxes hold what the roles have sent so far, before this.
	for _, n := range r.instances {
		n.inbox.push(delivery{input: role.Input{Kind: role.Stop}})
	}
	for _, n := range r.instances {
		select {
		case <-n.stopped:
		case <-r.ended.Done():
			return context.Cause(r.ended)
		}
	}
	return nil
}

func (r *run) checkLeaks() error {
	for _, n := range r.instances {
		if held := n.store.Len(); held > 0 {
			return fmt.Errorf("%w: %v, %d handles", errLeak, n.address, held)
		}
	}
	return nil
}

func (r *run) now() unit.Tick { return unit.Tick(time.Since(r.start)) }

// observe shows a record to the observers.
func (r *run) observe(e event.Record) {
	r.observersMu.Lock()
	defer r.observersMu.Unlock()
	for _, o := range r.options.Observers {
		o.Observe(e)
	}
}

// reduce is the goroutine that sums buckets over the ranks.
func (r *run) reduce() {
	for {
		b, ok := r.buckets.pop()
		if !ok {
			return
		}
		if r.remote == nil {
			r.timed(func() { r.executor.Reduce(b.step, b.index) },
				func(took time.Duration) { r.options.Stopwatch.Reduced(b.index, took) })
		} else if err := r.remote.Reduce(r.ended, b.step, b.index); err != nil {
			r.fail(err)
			return
		}
		for _, n := range r.ranks {
			n.inbox.push(delivery{input: role.Input{
				Kind: role.BucketReduced, Work: role.Work{Rank: n.address.Index, Step: b.step}, Bucket: b.index,
			}})
		}
	}
}
