package cluster

import (
	"errors"
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/sim/cost"
)

// ErrSequential says that a training has no roles to simulate.
var ErrSequential = errors.New("sequential training has no roles; simulate sync with one rank")

// Options of one run. The zero value is a run at the middle of every range.
type Options struct {
	// Jitter is the σ of the lognormal factor, of mean 1, on the time of each kernel and of its launch;
	// HostJitter is that of each piece of work on a host, each message and each all-reduce; DeviceSpread is
	// that of each rank's accelerator, the same for all its kernels. 0 is for none. Seed is the seed of all
	// factors.
	Jitter, HostJitter, DeviceSpread float64
	// SystemJitter takes the jitter of the system software (cost.Service.Jitter and others of the price list)
	// instead of Jitter and HostJitter.
	SystemJitter bool
	Seed         uint64
	// Improve makes resources better by a factor: twice as fast, or twice as many threads. Cores of hosts are
	// both, more and faster. Resources returns the names.
	Improve map[string]float64
	// WarmUp and Measured are numbers of steps; 0 chooses enough for the pipeline to fill and settle, or with
	// faults, for them to show.
	WarmUp, Measured int
	// Observer receives every record of the roles.
	Observer event.Observer
	// Progress is called, unless it is nil, at the end of each step with the number of steps that have ended
	// and of all. A run that is repeated with more steps begins again.
	Progress func(done, steps int)
	// Numerics returns the numerics of a run; nil for a run that only takes time. It receives the job with
	// the cluster's numbers of EWs and PSs. All steps are then simulated once and no role is folded; WarmUp
	// and Measured are ignored.
	Numerics func(job.Job) (Numerics, error)

	check bool   // check credit, handles and conservation
	ties  uint64 // the seed of the order of roles and hosts at one instant; 0: ascending
}

// Steps of a run whose options leave them open: the pipeline's depth and settleSteps to warm up, measureSteps
// to measure. A run that drifts by more than driftMost is repeated with more steps of both, up to attempts
// times.
const (
	settleSteps  = 4
	measureSteps = 16
	driftMost    = 0.01
	attempts     = 3
)

// Run simulates a job on a cluster, with every quantity at the middle of its range. The cluster, not the
// job, sets the number of EWs and embedding PSs.
//
// It returns ErrSequential for sequential training, and an error that wraps ErrMemory for a job that does not
// fit. Cost: about 50 µs for each rank and step.
func Run(h *cost.Hardware, t job.Job, layout *model.Layout, w cost.Workload, o Options) (Result, error) {
	if t.Training.Mode == job.Sequential {
		return Result{}, fmt.Errorf("cluster: %w", ErrSequential)
	}
	validate := t.Validate
	if o.Numerics == nil {
		validate = t.ValidateTimed
	}
	if err := validate(); err != nil {
		return Result{}, fmt.Errorf("cluster: training: %w", err)
	}
	if err := w.Validate(); err != nil {
		return Result{}, err
	}
	if t.Wire.Index == job.IndexCompressed && w.Packed == nil {
		return Result{}, errors.New(
			"cluster: workload: no sizes of compressed ids, and the training's index is compressed",
		)
	}
	if err := CheckFaults(h, t, o.Numerics != nil); err != nil {
		return Result{}, fmt.Errorf("cluster: faults.%w", err)
	}
	return runAt(h.Resolve(), t, layout, w, o)
}

// runAt is Run at one position of all ranges.
func runAt(r *cost.Resolved, t job.Job, layout *model.Layout, w cost.Workload, o Options) (Result, error) {
	h := r.Hardware
	if err := cost.CheckMemory(r, &t, layout, &w); err != nil {
		return Result{}, err
	}
	faulty := t.Faults.Any()
	p := cost.NewPrices(r, &t, layout, &w, !h.Cluster.Unfold && o.Numerics == nil && !faulty && !r.Racks())
	if o.Numerics != nil {
		a, err := train(p, o)
		a.Assumptions = h.Assumptions(len(t.DenseShards(layout)))
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
		steps := span{
			warmUp,
			warmUp + measured,
			warmUp + measured + t.Depth(),
		} // the last keep the pipeline full
		if faulty && o.WarmUp == 0 && o.Measured == 0 {
			steps = spanWithFaults(&t, warmUp)
		}
		a, err := runOnce(p, o, nil, steps)
		settled := a.Drift < driftMost && a.Drift > -driftMost
		if err != nil || settled || faulty || attempt == attempts || o.Observer != nil || o.WarmUp > 0 ||
			o.Measured > 0 ||
			o.Jitter > 0 || o.HostJitter > 0 || o.SystemJitter {
			a.Assumptions = h.Assumptions(len(t.DenseShards(layout)))
			return a, err
		}
		warmUp, measured = 2*warmUp, 2*measured
	}
}

// train simulates every step with numerics. If there are enough steps, it measures none in which the pipeline
// fills or empties.
func train(p *cost.Prices, o Options) (Result, error) {
	t := *p.Job
	t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPSs = p.EWHostCount*p.EmbeddingWorkers.PerHost, p.PSStates
	n, err := o.Numerics(t)
	if err != nil {
		return Result{}, fmt.Errorf("cluster: %w", err)
	}
	steps := n.Steps()
	if steps < 1 {
		return Result{}, errors.New("cluster: nothing to train on: the data have no step")
	}
	first := min(t.Depth()+settleSteps, (steps-1)/2)
	return runOnce(p, o, n, span{first, max(first+1, steps-t.Depth()), steps})
}

// span is the number of steps that a run simulates; it measures steps first to last-1.
type span struct{ first, last, steps int }

// runOnce simulates a span of steps.
func runOnce(p *cost.Prices, o Options, n Numerics, s span) (Result, error) {
	t := *p.Job
	t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPSs = p.EWHostCount*p.EmbeddingWorkers.PerHost, p.PSStates
	cfg, err := t.RoleConfig(p.Layout, s.steps)
	if err != nil {
		return Result{}, fmt.Errorf("cluster: training: %w", err)
	}
	w, err := newSimulation(p, cfg, &o)
	if err != nil {
		return Result{}, err
	}
	if n != nil {
		w.numerics, w.rows = n, make([][]int32, cfg.Ranks*cfg.Steps)
	}
	meter := pace.NewMeter(t.Roles.Ranks, p.PSStates)
	w.observers = append(w.observers, meter)
	w.measurement = newMeasurement(int32(s.first), int32(s.last), cfg)
	if o.check {
		w.contract = newContractCheck(w)
	}
	if err := w.run(); err != nil {
		return Result{}, err
	}
	a := w.result()
	a.Depth, a.Staleness = t.Depth(), meter.Staleness()
	if err := pace.CheckBounds(cfg.Rule, t.Roles.Ranks, &a.Staleness); err != nil {
		return Result{}, fmt.Errorf("cluster: %w", err)
	}
	return a, nil
}
