package predict

import (
	"context"
	"fmt"
	"math"

	"tandem/algo/unit"
	"tandem/sim/param"
	"tandem/sim/system"
)

// Timer predicts the time of a step of a job, or of a collective among its accelerators, at points of the
// job's box. Tables stay where they are at the middle.
type Timer struct {
	job        *Job
	options    Options
	collective string // empty: a step
	bytes      unit.Bytes
}

// NewTimer returns the timer of a job. Of the options it uses Steps, Seed and Cluster. Cost: one simulation.
func NewTimer(ctx context.Context, j *Job, o Options) (*Timer, error) {
	placed, _, err := o.place(ctx, j)
	return &Timer{job: placed, options: o}, err
}

// NewCollectiveTimer returns the timer of a collective of some bytes, as graph.Cluster.CollectiveTime, among
// the accelerators of a job. The error wraps ErrChoice if the system has no tables on the accelerators.
func NewCollectiveTimer(j *Job, collective string, bytes unit.Bytes) (*Timer, error) {
	if s := &j.Hardware.System; s.Architecture != system.StepGraph {
		return nil, fmt.Errorf("%w: collectives alone with system %s; want a system with tables on the "+
			"accelerators", ErrChoice, s.Name)
	}
	return &Timer{job: j, collective: collective, bytes: bytes}, nil
}

// Seconds returns the mean time of a step, or that of the collective, at a point of the box that the
// parameters of the job span. It is safe for concurrent use.
func (t *Timer) Seconds(ctx context.Context, p param.Point) (float64, error) {
	return t.seconds(ctx, p, "", 0)
}

// SecondsWith is Seconds with one parameter at a value, which may be outside of its range.
func (t *Timer) SecondsWith(ctx context.Context, p param.Point, name string, value float64) (float64, error) {
	return t.seconds(ctx, p, name, value)
}

func (t *Timer) seconds(ctx context.Context, p param.Point, name string, value float64) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	j := t.job.clone()
	v := j.Parameters()
	v.Fix(p)
	for _, e := range v {
		if e.Name == name {
			e.Parameter.Fix(value)
		}
	}
	if t.collective != "" {
		c := graphCluster(j.Hardware.Resolve(), j.Roles.Ranks)
		took, err := c.CollectiveTime(&j.Hardware.System, j.Roles.Ranks, t.collective, t.bytes)
		return took.Seconds(), err
	}
	if j.Hardware.System.Architecture == system.Roles {
		j.describe() // most of the time of a step graph, which does not need it
	}
	r, err := t.options.run(ctx, j, t.options.Seed)
	return r.StepTime.Seconds(), err
}

// Beyond returns the value of a parameter that is a factor above 1 beyond the better or the worse end of its
// range. It reports false if there is none: a share is at most 1, a whole number at least 1, and an end of 0
// has no multiples.
func Beyond(e param.Entry, better bool, factor float64) (value float64, ok bool) {
	low, _, high := e.Span()
	end := low / factor
	if better != e.LessIsBetter() {
		end = high * factor
	}
	s := newScale(e)
	value = min(max(end, s.least), s.most)
	if s.whole {
		value = math.Round(value)
	}
	return value, value < low || value > high
}
