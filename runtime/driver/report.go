package driver

import (
	"errors"

	"tandem/algo/histogram"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
)

// Report says what the roles of one process hold, and what happened to them, at the end of a run.
type Report struct {
	// Digests holds, for each role, the digest of its parameters: see exec.ModelState.Digest.
	Digests map[msg.Address]uint64
	// Rows is the number of embedding rows of the process.
	Rows int
	// Missed counts, for every row gradient that was applied, the updates of its row since the row was read.
	Missed histogram.Histogram
	// Faults counts the faults that were injected.
	Faults fault.Counts
}

// Report returns the report of this process, once Run has returned.
func (p *Local) Report() Report {
	model := p.run.executor.Model()
	report := Report{Digests: map[msg.Address]uint64{}, Missed: model.Missed(), Faults: p.Injected()}
	for _, n := range p.run.instances {
		report.Digests[n.address] = model.Digest(n.address)
	}
	for _, t := range model.Tables() {
		report.Rows += t.Len()
	}
	return report
}

// Origin says where a run in several processes begins.
type Origin struct {
	Step int // number of steps that the model has been trained
	// Model is the folder of the model, which all processes can reach under this path; empty: untrained.
	Model string
}

// ErrNotBegun is the error of a run in several processes that is asked to end before all of them have joined.
var ErrNotBegun = errors.New("the run was asked to end before every process had joined")

// Callbacks are the functions that a run in several processes calls while it trains, from one goroutine. None
// is nil.
type Callbacks struct {
	// Started is called when training begins.
	Started func()
	// Progress is called with the number of steps that nn-worker 0 has trained.
	Progress func(steps int)
	// Loss is called with the sum of the training losses of some samples, in nats, and their number: those of
	// the ranks in the process of nn-worker 0.
	Loss func(sum float64, samples int)
	// BeforeStep is called before those steps of nn-worker 0 at which the job may ask for an evaluation.
	// nn-worker 0 waits until it returns. An error ends the run.
	BeforeStep func(step int) error
	// Observe is called with the records of all roles, in an order that respects causality, as event.Observer
	// requires.
	Observe func(event.Record)
}
