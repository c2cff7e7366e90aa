package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/exec/evaluation"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Options say what observes a run and what disturbs it. The zero value observes and disturbs nothing.
type Options struct {
	// Observers receive every record, one at a time.
	Observers []event.Observer
	// Recorder, if not nil, records the inputs and outputs of every role.
	Recorder Recorder
	// Redo, if not nil, opens the redo log of a role that comes back by it: see role.CanRedo. It must be
	// empty if Incarnation is 0.
	Redo func(at msg.Address) (RedoLog, error)
	// Redone, if not nil, is called when all roles have handled the inputs of their redo logs again, before
	// they handle others: took is how long that was, and of the time in which the roles had received them.
	// Without such logs both are 0.
	Redone func(took, of time.Duration)
	// Stopwatch, if not nil, receives the duration of all work.
	Stopwatch Stopwatch
	// InTurn makes this process do one piece of work at a time. A Stopwatch then measures each piece by
	// itself, on any number of cores.
	InTurn bool
	// Faults, if not nil, are injected into the messages that roles of this process send, and crash these
	// roles. They need role.Config.Retry > 0. Faults are not injected into all-reduces.
	Faults *fault.Plan
	// Slow makes roles of this process slow: each waits after its work, without using a core.
	Slow fault.Slows
	// Incarnation is the number of times that this process was restarted. The roles start with it.
	Incarnation uint32
	// BeforeStep, if not nil, is called before rank 0's forward pass of every step. Rank 0 waits until
	// BeforeStep returns. At that time the dense network has the updates of all earlier steps; in sync mode
	// the rows of all PSs do too. BeforeStep may read state until it returns; reads that it has started by
	// evaluation.StartingState may end later, and have the rows of that time nevertheless. A PS reads rows
	// between two pieces of its work; no other role waits for it. An error ends the run.
	BeforeStep func(step int, state evaluation.State) error
}

// Run trains every step with all roles of cfg in this process. The executor, which must be new, does their
// work.
//
// Run returns the first failure of a role, or the cause of ctx's end. All goroutines have ended when Run
// returns. If Run returns nil, every rank has trained every step, every put is applied, and no role holds
// data.
func Run(ctx context.Context, cfg *role.Config, e *exec.Executor, o Options) error {
	local, err := NewLocal(cfg, e, o, AllLocal, nil)
	if err != nil {
		return err
	}
	return local.Run(ctx, time.Now())
}

// run is the state of one run of the roles of this process.
type run struct {
	cfg         *role.Config
	executor    *exec.Executor
	remote      Remote // nil if all roles are in this process
	options     Options
	start       time.Time
	ended       context.Context    // ends with the run
	sending     context.Context    // ends when messages are no longer sent, before ended does
	stopSending context.CancelFunc // ends sending
	fail        context.CancelCauseFunc
	turns       *sync.Mutex // held during work if Options.InTurn is set, else nil
	roster      role.Roster
	byNumber    []*instance // indexed as the roster; nil for roles of other processes
	instances   []*instance // all role instances of this process
	ranks       []*instance // the NN workers of this process
	workers     int         // number of goroutines of each lane of an embedding worker
	clock       *clock

	ready    *queue[reduction] // to be reduced
	fedMu    sync.Mutex
	fed      *role.Reduction // counts what the ranks of this process have fed
	reducing int             // number of reductions that are ready and not reported to all their ranks
	// together has, for each bucket, those that are reduced with it.
	together []dense.Buckets

	observersMu sync.Mutex
	finished    chan struct{} // receives one item for each finished rank of this process
	draining    atomic.Bool   // the run is requested to end
}

// newRun makes the instances of those roles for which isLocal returns true.
func newRun(cfg *role.Config, e *exec.Executor, o Options, isLocal func(msg.Address) bool,
	remote Remote) *run {
	r := &run{
		cfg: cfg, executor: e, remote: remote, options: o, roster: cfg.Roster(),
		ready: newQueue[reduction](), finished: make(chan struct{}, cfg.Ranks),
	}
	r.ended, r.fail = context.WithCancelCause(context.Background())
	r.sending, r.stopSending = context.WithCancel(r.ended)
	r.clock = newClock(r.now)
	if o.InTurn {
		r.turns = new(sync.Mutex)
	}
	r.byNumber = make([]*instance, r.roster.Len())
	embeddingWorkers := 0
	for i, state := range role.New(cfg) {
		if !isLocal(state.Address()) {
			continue
		}
		n := newInstance(r, state)
		r.byNumber[i] = n
		r.instances = append(r.instances, n)
		switch n.address.Role {
		case msg.NNWorker:
			n.rank = len(r.ranks)
			r.ranks = append(r.ranks, n)
		case msg.EmbeddingWorker:
			embeddingWorkers++
		}
	}
	r.workers = workersOf(embeddingWorkers, runtime.GOMAXPROCS(0))
	r.fed = role.NewReduction(len(r.ranks), len(cfg.Buckets))
	most := TogetherMost
	if r.hasAllRanks() {
		most = 0
	}
	r.together = groupBuckets(cfg.Buckets, most, len(e.Model().Layout().Buckets))
	return r
}

// instance returns the instance with an address, or nil if that role is in another process.
func (r *run) instance(at msg.Address) *instance {
	if i, ok := r.roster.Index(at); ok {
		return r.byNumber[i]
	}
	return nil
}

// deliver passes a message to its receiver, in this process or another one.
func (r *run) deliver(m msg.Message, payload exec.Payload) error {
	if to := r.instance(m.To); to != nil {
		to.receive(m, payload, nil)
		return nil
	}
	return r.remote.Send(r.sending, []exec.Letter{{Message: m, Payload: payload}})
}

// errLeak reports data that a role holds after the run.
var errLeak = errors.New("driver: a role holds data after the run")

// redo makes all roles handle the inputs of their redo logs again.
func (r *run) redo() error {
	start, of := time.Now(), unit.Tick(0)
	for _, n := range r.instances {
		if err := n.redoInputs(); err != nil {
			return err
		}
		of = max(of, n.redoAt)
	}
	if r.options.Redone != nil {
		took := time.Duration(0)
		if of > 0 {
			took = time.Since(start)
		}
		r.options.Redone(took, time.Duration(of))
	}
	return nil
}

// drive starts all goroutines, waits until the ranks finish or the run fails, and stops all goroutines.
func (r *run) drive() error {
	if err := r.redo(); err != nil {
		return err
	}
	var goroutines sync.WaitGroup
	goroutines.Go(r.reduce)
	goroutines.Go(r.clock.run)
	for _, n := range r.instances {
		n.start(&goroutines)
	}
	err := r.await()
	if err != nil {
		exec.GiveUp(r.executor) // a rank may wait for one that has failed
	}
	r.clock.close()
	r.stopSending() // a delayed message may be in flight
	for _, n := range r.instances {
		n.close()
	}
	r.ready.close()
	goroutines.Wait()
	if err != nil {
		return err
	}
	return r.checkLeaks()
}

// await waits until every rank has finished and every role of this process has stopped, or until the run
// fails.
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
	// All messages that were sent so far are in the inboxes, ahead of Stop.
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

// checkLeaks returns an error if a role holds data after the run.
func (r *run) checkLeaks() error {
	for _, n := range r.instances {
		if held := n.store.Len(); held > 0 {
			return fmt.Errorf("%w: %v, %d handles", errLeak, n.address, held)
		}
	}
	return nil
}

func (r *run) now() unit.Tick { return unit.Tick(time.Since(r.start)) }

// observe passes a record to the observers.
func (r *run) observe(e event.Record) {
	r.observersMu.Lock()
	defer r.observersMu.Unlock()
	for _, o := range r.options.Observers {
		o.Observe(e)
	}
}
