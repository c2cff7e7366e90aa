// Package numerics does the numbers of a simulated run on the cores at hand. It is
// what the simulator calls cluster.Numerics, and lies here because neither algo
// nor sim may start a goroutine.
//
// The simulator decides what happens before what, on one goroutine; only work
// that nobody else can see meanwhile is done by others. So the bits of a run are
// the same for any number of workers, and for any speed of the machine.
package numerics

import (
	"errors"
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Numerics holds the samples, rows, parameters and gradients of a run. Its
// methods are called by one goroutine.
type Numerics struct {
	source   batch.Source
	executor *exec.Executor
	stores   map[msg.Address]*exec.Store
	pool     *pool
}

// New returns the numbers of a run before its first step, computed on a machine,
// and starts as many goroutines as workers says. Close ends them. The errors are
// those of the training's parts.
func New(t job.Job, source batch.Source, m backend.Backend, workers int) (*Numerics, error) {
	if workers < 1 {
		return nil, fmt.Errorf("numerics: %d workers; want at least 1", workers)
	}
	e, err := exec.New(t, source, m)
	if err != nil {
		return nil, err
	}
	return &Numerics{source: source, executor: e, stores: map[msg.Address]*exec.Store{}, pool: newPool(workers)}, nil
}

// Close waits for the work under way and ends the goroutines. Nothing but
// results may be asked for afterwards.
func (n *Numerics) Close() { n.pool.close() }

// store returns what a role holds.
func (n *Numerics) store(at msg.Address) *exec.Store {
	s := n.stores[at]
	if s == nil {
		s = exec.NewStore()
		n.stores[at] = s
	}
	return s
}

// Steps returns the number of global batches of the run.
func (n *Numerics) Steps() int { return n.source.Steps() }

// Samples returns the size of a global batch.
func (n *Numerics) Samples(step int) int { return n.source.Samples(step) }

// Do performs work of a role.
func (n *Numerics) Do(at msg.Address, w role.Work, o role.Operands) (role.Result, error) {
	return n.executor.Execute(at, n.store(at), w, o, func(int32) {})
}

// Start has a goroutine perform work of a role, and returns a function that waits
// for it.
func (n *Numerics) Start(at msg.Address, w role.Work, o role.Operands) (wait func() (role.Result, error)) {
	var result role.Result
	var err error
	done := make(chan struct{})
	store := n.store(at)
	n.pool.tasks <- func() {
		result, err = n.executor.Execute(at, store, w, o, func(int32) {})
		close(done)
	}
	return func() (role.Result, error) {
		<-done
		return result, err
	}
}

// Payload returns the data of a message.
func (n *Numerics) Payload(m msg.Message, h role.Handle) exec.Payload {
	return n.executor.Payload(n.store(m.From), m, h)
}

// Keep has the receiver of a message hold its data.
func (n *Numerics) Keep(m msg.Message, h role.Handle, payload exec.Payload) {
	n.executor.Keep(n.store(m.To), m, h, payload)
}

// Feed notes what a rank hands to the all-reduce.
func (n *Numerics) Feed(at msg.Address, c role.Contribution) { n.executor.Feed(n.store(at), c) }

// Release lets go of what a role holds.
func (n *Numerics) Release(at msg.Address, h role.Handle) { n.store(at).Release(h) }

// Crash lets go of all that a role holds. Work of the role that a goroutine has in hand ends on what was let
// go of.
func (n *Numerics) Crash(at msg.Address) { delete(n.stores, at) }

// Reduce sums a bucket of a step over all ranks.
func (n *Numerics) Reduce(step, bucket int32) { n.executor.Reduce(step, bucket) }

// Held returns the number of handles that roles hold; 0 after a whole run.
func (n *Numerics) Held() int {
	held := 0
	for _, s := range n.stores {
		held += s.Len()
	}
	return held
}

// Trained is what a run leaves behind.
type Trained struct {
	// DenseDigest and RowsDigest are fingerprints of the trained parameters:
	// equal bits, equal digests, however many PSs held the rows.
	DenseDigest, RowsDigest uint64
	Rows                    int // embedding rows
	// Missed has, for every row gradient applied, the updates of its row since the
	// read that it was computed from.
	Missed histogram.Histogram
}

// errHeld says that roles and driver have broken the contract.
var errHeld = errors.New("numerics: data is held after the run")

// Trained returns what the run has left behind, or an error if a role still
// holds data.
func (n *Numerics) Trained() (Trained, error) {
	if held := n.Held(); held > 0 {
		return Trained{}, fmt.Errorf("%w: %d handles", errHeld, held)
	}
	t := Trained{DenseDigest: n.executor.Model().DenseDigest(), Missed: n.executor.Model().Missed()}
	for _, shard := range n.executor.Model().Tables() {
		t.RowsDigest += shard.Digest()
		t.Rows += shard.Len()
	}
	return t, nil
}
