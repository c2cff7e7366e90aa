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

// Numerics holds the samples, rows, parameters and gradients of a run, and computes with them. Its methods
// are called by one goroutine.
type Numerics struct {
	source   batch.Source
	loss     string // of the network
	executor *exec.Executor
	stores   map[msg.Address]*exec.Store
	pool     *pool
}

// New returns the Numerics of a run before its first step, and starts that number of workers. Close ends
// them. New returns an error if the job is invalid or workers is less than 1.
func New(t job.Job, source batch.Source, m backend.Backend, workers int) (*Numerics, error) {
	if workers < 1 {
		return nil, fmt.Errorf("numerics: %d workers; want at least 1", workers)
	}
	e, err := exec.New(t, source, m)
	if err != nil {
		return nil, err
	}
	return &Numerics{source: source, loss: t.Model.Loss, executor: e, stores: map[msg.Address]*exec.Store{},
		pool: newPool(workers)}, nil
}

// Close waits for the work in progress and ends the workers. Afterwards only results may be read.
func (n *Numerics) Close() { n.pool.close() }

// store returns the store of a role.
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

// Do does work of a role.
func (n *Numerics) Do(at msg.Address, w role.Work, o role.Operands) (role.Result, error) {
	return n.executor.Execute(at, n.store(at), w, o, func(int32) {})
}

// Start makes a worker do work of a role. It returns a function that waits for the result.
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

// Payload returns the payload of a message.
func (n *Numerics) Payload(m msg.Message, h role.Handle) exec.Payload {
	return n.executor.Payload(n.store(m.From), m, h)
}

// Keep stores the payload of a message at its receiver.
func (n *Numerics) Keep(m msg.Message, h role.Handle, payload exec.Payload) {
	n.executor.Keep(n.store(m.To), m, h, payload, nil)
}

// Feed notes what a rank feeds to the all-reduce.
func (n *Numerics) Feed(at msg.Address, c role.Contribution) { n.executor.Feed(n.store(at), c) }

// Release releases a handle of a role.
func (n *Numerics) Release(at msg.Address, h role.Handle) { n.store(at).Release(h) }

// Crash drops all data of a role. Work of the role that a worker is doing ends on the dropped data.
func (n *Numerics) Crash(at msg.Address) { delete(n.stores, at) }

// Reduce sums a bucket of a step over all ranks, in the memory of the host, where this cannot fail.
func (n *Numerics) Reduce(step, bucket int32) {
	if err := n.executor.Reduce(step, bucket); err != nil {
		panic(err)
	}
}

// Held returns the number of handles that roles hold. It is 0 after a complete run.
func (n *Numerics) Held() int {
	held := 0
	for _, s := range n.stores {
		held += s.Len()
	}
	return held
}

// Trained is the result of a run.
type Trained struct {
	// DenseDigest and RowsDigest are digests of the trained parameters. Equal bits have equal digests, for
	// any number of PSs.
	DenseDigest, RowsDigest uint64
	Rows                    int // embedding rows
	// Missed counts, for every row gradient that was applied, the updates of its row since the read from
	// which the gradient was computed.
	Missed       histogram.Histogram
	HotGradients uint64 // how many of these gradients were of hot rows
}

// errHeld says that roles or driver have violated the contract.
var errHeld = errors.New("numerics: a role holds data after the run")

// Trained returns the result of the run, or an error if a role still holds data.
func (n *Numerics) Trained() (Trained, error) {
	if held := n.Held(); held > 0 {
		return Trained{}, fmt.Errorf("%w: %d handles", errHeld, held)
	}
	t := Trained{DenseDigest: n.executor.Model().DenseDigest()}
	t.Missed, t.HotGradients = n.executor.Model().Missed()
	for _, shard := range n.executor.Model().Tables() {
		t.RowsDigest += shard.Digest()
		t.Rows += shard.Len()
	}
	return t, nil
}
