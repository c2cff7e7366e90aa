package cluster

import (
	"errors"
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
)

// ErrSequential says that a training has no roles to simulate.
var ErrSequential = errors.New("sequential training has no roles; simulate sync with one rank")

// Options of one run. The zero value is a run at the middle of every range.
type Options struct {
	// Position is where in their ranges quantities are taken: −1 for the worst
	// end for throughput, 0 for the middle, 1 for the best.
	Position float64
	// Jitter is the σ of the lognormal factor, of mean 1, on the time of each
	// forward and backward pass; 0 for none. Seed is that of its draws.
	Jitter float64
	Seed   uint64
	// WarmUp and Measured are numbers of steps; 0 chooses enough for the
	// pipeline to fill and settle, or with faults, for them to show.
	WarmUp, Measured int
	// Observer is told every record of the roles.
	Observer event.Observer
	// Numbers makes the numbers of a run; nil for a run that only takes time. It
	// is given the training with as many EWs and PSs as the cluster has. All steps
	// are simulated then, once, and no role is folded: WarmUp and Measured are
	// ignored.
	Numbers func(job.Job) (Numbers, error)

	audit bool // check credit, handles and conservation
}

// Steps of a run whose options leave them open: the pipeline's depth and
// settleSteps to warm up, measureSteps to measure. A run that drifts by more
// than driftMost is repeated with more steps of both, up to attempts times.
const (
	settleSteps  = 4
	measureSteps = 16
	driftMost    = 0.01
	attempts     = 3
)

// Run simulates a training on a cluster at one point of all ranges. The
// training says mode, ranks, global batch, staleness and the like; the numbers
// of EWs and PSs are the cluster's.
//
// It returns ErrSequential for sequential training, and an error that wraps
// ErrMemory for a job that does not fit. Cost: about 50 µs for each rank and step.
func Run(h *Hardware, t job.Job, layout *model.Layout, w Workload, o Options) (Answer, error) {
	if t.Training.Mode == job.Sequential {
		return Answer{}, fmt.Errorf("cluster: %w", ErrSequential)
	}
	if err := t.Validate(); err != nil {
		return Answer{}, fmt.Errorf("cluster: training: %w", err)
	}
	if err := w.validate(); err != nil {
		return Answer{}, err
	}
	if t.Wire.Index == job.IndexCompressed && w.Packed == nil {
		return Answer{}, errors.New("cluster: workload: no sizes of compressed ids, and the training's index is compressed")
	}
	if err := CheckFaults(h, t, o.Position, o.Numbers != nil); err != nil {
		return Answer{}, fmt.Errorf("cluster: faults.%w", err)
	}
	r := h.resolve(o.Position)
	if err := checkMemory(r, &t, layout, &w); err != nil {
		return Answer{}, err
	}
	faulty := t.Faults.Any()
	p := newPrices(r, &t, layout, &w, h.fold && o.Numbers == nil && !faulty)
	if o.Numbers != nil {
		a, err := train(p, o)
		a.Assumptions = h.assumptions(len(t.DenseShards(layout)))
		return a, err
	}
	warmUp, measured := t.Depth()+settleSteps, measureSteps
	for attempt := 1; ; attempt++ {
		if o.WarmUp > 0 {
			warmUp = o.WarmUp
		}
		if o.Measured > 0 {
			measured = o.Measured
		}
		steps := span{warmUp, warmUp + measured, warmUp + measured + t.Depth()} // the last keep the pipeline full
		if faulty && o.WarmUp == 0 && o.Measured == 0 {
			steps = spanWithFaults(&t, warmUp)
		}
		a, err := runOnce(p, o, nil, steps)
		settled := a.Drift < driftMost && a.Drift > -driftMost
		if err != nil || settled || faulty || attempt == attempts || o.Observer != nil || o.WarmUp > 0 || o.Measured > 0 || o.Jitter > 0 {
			a.Assumptions = h.assumptions(len(t.DenseShards(layout)))
			return a, err
		}
		warmUp, measured = 2*warmUp, 2*measured
	}
}

// train simulates every step with numbers. What is measured leaves out, where
// there are steps enough, those in which the pipeline fills and empties.
func train(p *prices, o Options) (Answer, error) {
	t := *p.training
	t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPS = p.workers*p.workersPerHost, p.states
	n, err := o.Numbers(t)
	if err != nil {
		return Answer{}, fmt.Errorf("cluster: %w", err)
	}
	steps := n.Steps()
	if steps < 1 {
		return Answer{}, errors.New("cluster: nothing to train on: the data have no step")
	}
	first := min(t.Depth()+settleSteps, (steps-1)/2)
	return runOnce(p, o, n, span{first, max(first+1, steps-t.Depth()), steps})
}

// span is what a run simulates: so many steps, of which those from first until
// before last are measured.
type span struct{ first, last, steps int }

// runOnce simulates a span of steps.
func runOnce(p *prices, o Options, n Numbers, s span) (Answer, error) {
	t := *p.training
	t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPS = p.workers*p.workersPerHost, p.states
	cfg, err := t.RoleConfig(p.layout, s.steps)
	if err != nil {
		return Answer{}, fmt.Errorf("cluster: training: %w", err)
	}
	w := newWorld(p, cfg, &o)
	if n != nil {
		w.numbers, w.rows = n, make([][]int32, cfg.Ranks*cfg.Steps)
	}
	meter := pace.NewMeter(t.Roles.Ranks, p.states)
	w.observers = append(w.observers, meter)
	w.measurement = newMeasurement(int32(s.first), int32(s.last), cfg)
	if o.audit {
		w.audit = newAudit(w)
	}
	if err := w.run(); err != nil {
		return Answer{}, err
	}
	a := w.answer()
	a.Depth, a.Staleness = t.Depth(), meter.Staleness()
	if err := pace.CheckBounds(cfg.Rule, t.Roles.Ranks, &a.Staleness); err != nil {
		return Answer{}, fmt.Errorf("cluster: %w", err)
	}
	return a, nil
}

// Predict simulates a training at the middle of every range, and at the worst
// and best ends of all of them together for Low and High.
func Predict(h *Hardware, t job.Job, layout *model.Layout, w Workload) (Answer, error) {
	a, err := Run(h, t, layout, w, Options{})
	if err != nil {
		return Answer{}, err
	}
	worst, err := Run(h, t, layout, w, Options{Position: -1})
	if err != nil {
		return Answer{}, err
	}
	best, err := Run(h, t, layout, w, Options{Position: 1})
	if err != nil {
		return Answer{}, err
	}
	a.Low, a.High = min(worst.Throughput, a.Throughput), max(best.Throughput, a.Throughput)
	return a, nil
}
