package cluster

import (
	"errors"
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/sim/cost"
	"tandem/sim/timeline"
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
	// Observer receives every record of the roles, all of which are then simulated.
	Observer event.Observer
	// Timeline receives, unless it is nil, what every station did during the measured steps.
	Timeline *timeline.Timeline
	// Progress is called, unless it is nil, at the end of each step with the number of steps that have ended
	// and of all. A run that settles ends before.
	Progress func(done, steps int)
	// Numerics returns the numerics of a run; nil for a run that only takes time. It receives the job with
	// the cluster's numbers of EWs and PSs. All steps are then simulated once and no role is folded; WarmUp
	// and Measured are ignored.
	Numerics func(job.Job) (Numerics, error)

	fold  int    // about the number of ranks to simulate; below 0: all; 0: all up to foldAbove
	check bool   // check credit, handles and conservation
	ties  uint64 // the seed of the order of roles and hosts at one instant; 0: ascending
}

// Steps of a run whose options leave them open. After the pipeline's depth and settleSteps to warm up, the
// steps are cut into windows of at least windowSteps, all batches that a rank may have in flight, and a cycle
// of the mode of at most cycleMost steps. The run ends when the mean times of the steps of two consecutive
// windows differ by less than the share agreement, or after windowsMost windows. It measures the last two.
const (
	settleSteps = 4
	windowSteps = 8
	windowsMost = 16
	cycleMost   = 128
	agreement   = 0.02
)

// Run simulates a job on a cluster, with every quantity at the middle of its range. The cluster, not the
// job, sets the number of EWs and embedding PSs.
//
// It returns ErrSequential for sequential training, and an error that wraps ErrMemory for a job that does not
// fit. Cost: about 0.05 ms for each rank and step on 64 ranks, and twice as much on 512, where a flow that
// begins or ends changes the rates of more flows. More ranks cost as much as 64, if they are alike.
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
	if err := w.CheckGroups(&t); err != nil {
		return Result{}, fmt.Errorf("cluster: %w", err)
	}
	if err := checkRowsOnGPU(h, &t, o.Numerics != nil); err != nil {
		return Result{}, err
	}
	if err := checkHotRows(&t, &w, o.Numerics != nil); err != nil {
		return Result{}, err
	}
	if err := CheckFaults(h, t, o.Numerics != nil); err != nil {
		return Result{}, fmt.Errorf("cluster: faults.%w", err)
	}
	return runAt(h.Resolve(), t, layout, w, o)
}

// checkHotRows returns an error if a job has hot rows which the workload does not describe, which are more
// than the job allows a PS or, with numerics, which are not chosen.
func checkHotRows(t *job.Job, w *cost.Workload, numerics bool) error {
	limits := t.Rows
	switch {
	case w.HasHotRows() && limits.Memory > 0 &&
		w.Hot.Rows*float64(w.RowBytes+w.RowState) > float64(limits.Memory),
		w.HasHotRows() && limits.Capacity > 0 && w.Hot.Rows > float64(limits.Capacity):
		return fmt.Errorf("cluster: rows.hot: %.0f rows on every rank are more than rows.memory or "+
			"rows.capacity allows; choose a larger rows.hot.share, or set rows.hot.most", w.Hot.Rows)
	case t.HasHotRows() && w.Hot == nil:
		return errors.New("cluster: workload: no hot rows, and the job has some (rows.hot)")
	case !t.HasHotRows() && w.HasHotRows():
		return errors.New("cluster: workload: hot rows, and the job has none (rows.hot)")
	case t.HasHotRows() && numerics && t.Rows.Hot.Every > 0:
		return fmt.Errorf("cluster: rows.hot.every = %d: a simulated training has the same hot rows from "+
			"its first step to its last; leave rows.hot.every out, or train with cmd/train",
			t.Rows.Hot.Every)
	case t.HasHotRows() && numerics && t.Rows.Hot.Rows() == nil:
		return errors.New("cluster: rows.hot: the hot rows are not chosen; let frequent.Choose count them")
	}
	return nil
}

// runAt is Run at one position of all ranges.
func runAt(r *cost.Resolved, t job.Job, layout *model.Layout, w cost.Workload, o Options) (Result, error) {
	h := r.Hardware
	if err := cost.CheckMemory(r, &t, layout, &w); err != nil {
		return Result{}, err
	}
	alike := !t.Faults.Any() && !t.Slow.Differ(msg.EmbeddingPS)
	p := cost.NewPrices(r, &t, layout, &w, !h.Cluster.Unfold && o.Numerics == nil && alike && !r.Racks())
	if o.Numerics != nil {
		a, err := train(p, o)
		a.Assumptions = h.Assumptions(len(t.DenseShards(layout)))
		return a, err
	}
	t.Faults = delayCrashes(t.Faults, warmUpOf(&t, &o), t.Window())
	a, err := runOnce(p, o, nil, spanOf(&t, &o))
	a.Assumptions = h.Assumptions(len(t.DenseShards(layout)))
	return a, err
}

// warmUpOf returns the steps before the first that is measured.
func warmUpOf(t *job.Job, o *Options) int {
	if o.WarmUp > 0 {
		return o.WarmUp
	}
	return t.Depth() + settleSteps
}

// spanOf returns the steps of a run without numerics. A run that is observed or checked has a fixed number.
func spanOf(t *job.Job, o *Options) span {
	s := span{warmUp: warmUpOf(t, o), window: o.Measured, windows: 1}
	switch {
	case t.Faults.Any() && o.WarmUp == 0 && o.Measured == 0:
		return spanWithFaults(t, s.warmUp)
	case o.Measured > 0:
	case o.Observer != nil || o.check:
		s.window = 2 * windowSteps
	default:
		cycle := min(cycleMost, t.ModeValues()["every"])
		s.window, s.windows = max(windowSteps, t.Depth(), cycle), windowsMost
	}
	s.steps = s.warmUp + s.windows*s.window + t.Depth() // the last keep the pipeline full
	return s
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
	return runOnce(p, o, n, span{first, max(1, steps-t.Depth()-first), 1, steps})
}

// span is the number of steps that a run simulates at most. It measures windows of the steps after the
// warm-up: the only one, or the first two that agree.
type span struct{ warmUp, window, windows, steps int }

// runOnce simulates a span of steps.
func runOnce(p *cost.Prices, o Options, n Numerics, s span) (Result, error) {
	t := *p.Job
	t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPSs = p.EWHostCount*p.EmbeddingWorkers.PerHost, p.PSStates
	cfg, err := t.RoleConfig(p.Layout, 0, s.steps)
	if err != nil {
		return Result{}, fmt.Errorf("cluster: training: %w", err)
	}
	if n == nil {
		cfg.WarmUp = 0 // the rate after it is wanted
	}
	if bytes := p.Workload.HotBucket(); bytes > 0 && n == nil { // with numerics, the job has the rows
		cfg.Buckets = append(cfg.Buckets, bytes)
	}
	w, err := newSimulation(p, cfg, &o)
	if err != nil {
		return Result{}, err
	}
	cfg, f := w.config, w.fold
	if n != nil {
		w.numerics, w.rows = n, make([][]int32, cfg.Ranks*cfg.Steps)
	}
	meter := pace.NewMeter(int(cfg.Ranks), p.PSStates)
	w.observers = append(w.observers, meter)
	w.measurement = newMeasurement(s, cfg)
	if f != nil && f.meets {
		w.measurement.means = make([]meanTimes, cfg.Ranks)
	}
	if o.check {
		w.contract = newContractCheck(w)
	}
	if o.Timeline != nil {
		w.recorder = newRecorder(w)
	}
	if err := w.run(); err != nil {
		return Result{}, err
	}
	a := w.result()
	if o.Timeline != nil {
		*o.Timeline = w.recorder.finish(w.clock.Now(), w.measurement.begin(), w.measurement.end())
	}
	a.Depth, a.Staleness = t.Depth(), meter.Staleness()
	if err := pace.CheckBounds(cfg.Rule, int(cfg.Ranks), &a.Staleness); err != nil {
		return Result{}, fmt.Errorf("cluster: %w", err)
	}
	if f != nil {
		a.Simulated, a.Staleness = int(cfg.Ranks), f.stalenessOfAll(&a.Staleness)
	}
	return a, nil
}
