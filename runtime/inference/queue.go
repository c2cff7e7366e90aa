package inference

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"tandem/algo/exec/evaluation"
	"tandem/algo/numeric/batch"
	"tandem/runtime/checkpoint"
)

// Queue predicts the rows of several requests at a time. While all cores are predicting, requests wait;
// those that wait are then computed together. No request waits for others to come.
type Queue struct {
	model   *Model
	limits  QueueLimits
	waiting chan *pending
	workers sync.WaitGroup
}

// QueueLimits are the limits of a Queue.
type QueueLimits struct {
	// Rows is the number of rows up to which requests are computed together, at least 1. A request of more
	// rows is computed by itself.
	Rows int
	// Waiting is the number of requests that can wait, at least 1.
	Waiting int
	// Computed, if not nil, is called with what has been computed together. Several goroutines call it.
	Computed func(requests, rows int)
}

// ErrBusy says that as many requests wait as can.
var ErrBusy = errors.New("the server is busy: too many requests wait")

// pending is a request that waits.
type pending struct {
	ctx         context.Context
	rows        *batch.Batch
	predictions []float32
	err         error
	done        chan struct{} // closed when predictions or err are there
}

// NewQueue returns a queue that predicts with a model, on every core. It must be closed.
func NewQueue(m *Model, limits QueueLimits) *Queue {
	q := &Queue{model: m, limits: limits, waiting: make(chan *pending, limits.Waiting)}
	for range runtime.GOMAXPROCS(0) {
		q.workers.Go(q.work)
	}
	return q
}

// Predict is Model.Predict. It returns ErrBusy if too many requests wait, and the error of ctx if it ends
// first.
func (q *Queue) Predict(ctx context.Context, rows *batch.Batch) ([]float32, error) {
	p := &pending{ctx: ctx, rows: rows, done: make(chan struct{})}
	select {
	case q.waiting <- p:
	default:
		return nil, ErrBusy
	}
	select {
	case <-p.done:
		return p.predictions, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Waiting returns the number of requests that wait.
func (q *Queue) Waiting() int { return len(q.waiting) }

// Close ends the queue after the requests that wait. Predict must not be called afterwards.
func (q *Queue) Close() {
	close(q.waiting)
	q.workers.Wait()
}

// work computes what waits until the queue is closed.
func (q *Queue) work() {
	joined := new(batch.Batch)
	var next *pending // taken from those that wait, and too large for the batch before it
	for {
		first := next
		if next = nil; first == nil {
			var ok bool
			if first, ok = <-q.waiting; !ok {
				return
			}
		}
		if first.rows.Samples < q.limits.Rows {
			runtime.Gosched() // requests that have arrived, and only need a core to be read, join this one
		}
		together, rows := []*pending{first}, first.rows.Samples
		for next == nil && rows < q.limits.Rows {
			p := q.poll()
			if p == nil {
				break
			}
			if rows+p.rows.Samples > q.limits.Rows {
				next = p
				break
			}
			together, rows = append(together, p), rows+p.rows.Samples
		}
		q.compute(together, joined)
	}
}

// poll returns a request that waits, or nil.
func (q *Queue) poll() *pending {
	select {
	case p := <-q.waiting:
		return p // nil if the queue is closed
	default:
		return nil
	}
}

// compute predicts requests together, except those whose context has ended. Joined is memory for their rows.
func (q *Queue) compute(together []*pending, joined *batch.Batch) {
	live := together[:0]
	for _, p := range together {
		if p.err = p.ctx.Err(); p.err != nil {
			close(p.done)
			continue
		}
		live = append(live, p)
	}
	if len(live) == 0 {
		return
	}
	rows := live[0].rows
	if len(live) > 1 {
		rows = joined
		join(joined, q.model.schema.Slots, live)
	}
	predictions, err := q.model.Predict(rows)
	// A damaged row, or a value that the network does not take, fails those alone that have it.
	if some := checkpoint.IsDamage(err) || errors.As(err, new(*evaluation.PassError)); some && len(live) > 1 {
		half := len(live) / 2
		q.compute(live[:half], joined)
		q.compute(live[half:], joined)
		return
	}
	if q.limits.Computed != nil {
		q.limits.Computed(len(live), rows.Samples)
	}
	labels := len(q.model.schema.Labels)
	for _, p := range live {
		if p.err = err; err == nil {
			n := p.rows.Samples * labels
			p.predictions, predictions = predictions[:n:n], predictions[n:]
		}
		close(p.done)
	}
}

// join writes the rows of requests to dst, one after another. Their ids have weights in the slots that say
// so.
func join(dst *batch.Batch, slots []batch.Slot, requests []*pending) {
	first := requests[0].rows
	if dst.Slots == nil {
		dst.Slots = make([]batch.Jagged, len(first.Slots))
	}
	dst.Samples, dst.Dense = 0, dst.Dense[:0]
	for s := range dst.Slots {
		own := &dst.Slots[s]
		own.Offsets, own.IDs, own.Weights = append(own.Offsets[:0], 0), own.IDs[:0], own.Weights[:0]
	}
	for _, p := range requests {
		dst.Samples += p.rows.Samples
		dst.Dense = append(dst.Dense, p.rows.Dense...)
		for s, from := range p.rows.Slots {
			to := &dst.Slots[s]
			begin := int32(len(to.IDs))
			for _, end := range from.Offsets[1:] {
				to.Offsets = append(to.Offsets, begin+end)
			}
			to.IDs = append(to.IDs, from.IDs...)
			if from.Weights != nil || !slots[s].Weighted {
				to.Weights = append(to.Weights, from.Weights...)
				continue
			}
			for range from.IDs { // without weights, all are 1
				to.Weights = append(to.Weights, 1)
			}
		}
	}
}
