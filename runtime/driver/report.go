package driver

import (
	"errors"
	"time"

	"tandem/algo/histogram"
	"tandem/algo/numeric/shard"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
)

// Report says what happened to the roles of one process in a run.
type Report struct {
	// Rows is the number of embedding rows of the process; hot rows count where rank 0 is.
	Rows int
	// Missed counts, for every row gradient that was applied, the updates of its row since the row was read.
	Missed       histogram.Histogram
	HotGradients uint64 // how many of these gradients were of hot rows
	// Faults counts the faults that were injected.
	Faults fault.Counts
}

// Report returns the report of this process, once Run has returned.
func (p *Local) Report() Report {
	model := p.run.executor.Model()
	report := Report{Faults: p.Injected()}
	report.Missed, report.HotGradients = model.Missed()
	for _, t := range model.Tables() {
		report.Rows += t.Len()
	}
	return report
}

// Digests are the digests of what the roles of one process hold. Equal bits have equal digests.
type Digests struct {
	Roles map[msg.Address]uint64 // by role: see exec.ModelState.Digest
	Hot   uint64                 // of the hot rows; 0 if the process has no ranks or no row is hot
}

// Digests returns the digests of this process, once Run has returned. Cost: a pass over the model.
func (p *Local) Digests() Digests {
	model := p.run.executor.Model()
	hot := msg.Address{Role: msg.EmbeddingPS, Index: p.run.cfg.EmbeddingPSs}
	d := Digests{map[msg.Address]uint64{}, model.Digest(hot)}
	for _, n := range p.run.instances {
		d.Roles[n.address] = model.Digest(n.address)
	}
	return d
}

// Origin says where a run in several processes begins.
type Origin struct {
	Step int // number of steps that the model has been trained
	// Model is the folder of the model, which all processes can reach under this path; empty: untrained.
	Model string
	// Held says that the processes of the run before hold this model at its end, and go on without reading
	// it. The folder may then still be written.
	Held bool
	Hot  *shard.Hot // the hot rows, which only a process with the data can find; nil: none
}

// ErrNotBegun is the error of a run in several processes that is asked to end before all of them have joined.
var ErrNotBegun = errors.New("the run was asked to end before every process had joined")

// LostError is the error of a run in several processes that has lost one of them: the process died, hung, or
// could not be reached. Another run may succeed, from the model that was saved last.
type LostError struct {
	Reason string
	Absent bool // the run has not begun: a process that was lost before has not come back in time
}

// Error implements error.
func (e *LostError) Error() string { return e.Reason }

// ModelError is the error of a run in several processes that cannot read the model that it begins with.
// Another run may succeed, from an earlier model.
type ModelError struct{ Reason string }

// Error implements error.
func (e *ModelError) Error() string { return e.Reason }

// Callbacks are the functions that a run in several processes calls while it trains, from one goroutine. None
// is nil.
type Callbacks struct {
	// Started is called when training begins. Drain makes this run, and no later one, end as soon as
	// possible; it may be called from any goroutine.
	Started func(drain func())
	// Progress is called with the number of steps that nn-worker 0 has trained.
	Progress func(steps int)
	// Loss is called with the sum of the training losses of some samples, in nats, and their number: those of
	// the ranks in the process of nn-worker 0.
	Loss func(sum float64, samples int)
	// BeforeStep is called before those steps of nn-worker 0 at which the job may ask for an evaluation.
	// nn-worker 0 waits until it returns. An error ends the run.
	BeforeStep func(step int) error
	// Redone, if not nil, is called when a process has come back by its redo logs: it took a time to handle
	// again what it had received in a time.
	Redone func(took, of time.Duration)
	// Observe is called with the records of all roles, in an order that respects causality, as event.Observer
	// requires.
	Observe func(event.Record)
}
