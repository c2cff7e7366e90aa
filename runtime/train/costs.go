package train

import (
	"context"
	"runtime"
	"sync"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
)

// Costs are the durations of the work of a run when nothing else runs at the same time, in seconds per
// sample. A Costs is a driver.Stopwatch for a run with Options.InTurn.
type Costs struct {
	Work   map[role.WorkKind]float64 // by kind of work, over all roles
	Reduce float64                   // summing dense gradients over the ranks
	// of the whole run; the difference to Total is the time of roles, queues and observers
	Wall float64

	mu      sync.Mutex
	samples int
}

// Worked implements driver.Stopwatch.
func (c *Costs) Worked(w role.Work, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Work[w.Kind] += took.Seconds() / float64(c.samples)
}

// Reduced implements driver.Stopwatch.
func (c *Costs) Reduced(_ int32, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Reduce += took.Seconds() / float64(c.samples)
}

// Total returns the seconds per sample of all work.
func (c *Costs) Total() float64 {
	sum := c.Reduce
	for _, seconds := range c.Work {
		sum += seconds
	}
	return sum
}

// Dense returns the seconds per sample of the dense network's work.
func (c *Costs) Dense() float64 {
	return c.Work[role.Forward] + c.Work[role.Backward] + c.Work[role.DenseApply] + c.Reduce
}

// MeasureCosts trains with all roles in this process, one piece of work at a time. With the zero Backend,
// whose products run on the calling goroutine, the costs are seconds of one core.
func MeasureCosts(ctx context.Context, t job.Job, source batch.Source, m backend.Backend) (*Costs, error) {
	c := &Costs{Work: map[role.WorkKind]float64{}, samples: samplesOf(source)}
	wall, err := trainOnly(ctx, &t, source, m, driver.Options{Stopwatch: c, InTurn: true})
	c.Wall = wall.Seconds() / float64(c.samples)
	return c, err
}

// Share compares the speed of a run on this machine with the bound set by the costs of its work.
type Share struct {
	Cores            int
	SamplesPerSecond float64 // of the run with all cores
	CPU              *Costs  // on one core
	Dense            float64 // seconds per sample of the dense network's work on all cores that it may use
	// Bound is the highest speed, in samples per second, that any arrangement of the same work could reach:
	// min(1/Dense, Cores/CPU.Total()).
	Bound float64
}

// Share returns the reached part of Bound. It is at most 1, unless other programs ran during one of the
// measurements.
func (s *Share) Share() float64 { return s.SamplesPerSecond / s.Bound }

// MeasureShare trains a job three times in this process, without evaluation: one piece of work at a time on
// one core; one piece at a time with the given backend; and all at once with the backend. The mode must have
// roles. The first steps count too, although they create rows.
func MeasureShare(ctx context.Context, t job.Job, source batch.Source, m backend.Backend) (*Share, error) {
	s := &Share{Cores: runtime.GOMAXPROCS(0)}
	var err error
	if s.CPU, err = MeasureCosts(ctx, t, source, backend.Backend{Arena: m.Arena}); err != nil {
		return nil, err
	}
	alone, err := MeasureCosts(ctx, t, source, m)
	if err != nil {
		return nil, err
	}
	// Ranks train at the same time as far as there are cores.
	s.Dense = min(alone.Dense(), s.CPU.Dense()/float64(min(t.Roles.Ranks, s.Cores)))
	wall, err := trainOnly(ctx, &t, source, m, driver.Options{})
	if err != nil {
		return nil, err
	}
	s.SamplesPerSecond = float64(samplesOf(source)) / wall.Seconds()
	s.Bound = min(1/s.Dense, float64(s.Cores)/s.CPU.Total())
	return s, nil
}

// trainOnly trains every step and evaluates nothing.
func trainOnly(ctx context.Context, t *job.Job, source batch.Source, m backend.Backend,
	o driver.Options) (time.Duration, error) {
	if err := frequent.Choose(t, source, 0); err != nil {
		return 0, err
	}
	executor, err := exec.New(*t, source, m)
	if err != nil {
		return 0, err
	}
	cfg, err := t.RoleConfig(executor.Model().Layout(), 0, source.Steps())
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = driver.Run(ctx, cfg, executor, o)
	return time.Since(start), err
}

func samplesOf(source batch.Source) int { return samplesBefore(source, source.Steps()) }

// samplesBefore returns the number of samples of the steps before a step.
func samplesBefore(source batch.Source, end int) (samples int) {
	for step := range end {
		samples += source.Samples(step)
	}
	return samples
}
