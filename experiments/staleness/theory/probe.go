package theory

import (
	"context"
	"fmt"
	"math"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/runtime/train"
)

// probe is everything that decides one measurement.
type probe struct {
	Kind string `json:"kind"`           // threshold, excess or threads
	Mode string `json:"mode,omitempty"` // of threads
	samples
	Delay     int     `json:"delay"`               // imposed, or the τ of threads
	Precision float64 `json:"precision,omitempty"` // of a threshold
	Rate      float64 `json:"rate,omitempty"`      // of excess and threads
}

// outcome is the result of a probe.
type outcome struct {
	Rate     float64 `json:"rate,omitempty"`        // of a threshold
	Excess   float64 `json:"excess_nats,omitempty"` // mean excess loss, of excess and threads
	Gradient float64 `json:"gradient_squared,omitempty"`
	Missed   float64 `json:"missed_updates,omitempty"` // mean over the gradients of rows
}

// String names a probe in progress and errors.
func (p probe) String() string {
	return fmt.Sprintf("%s, q = 1/%d, delay %d, seed %d", p.Kind, p.Ids, p.Delay, p.Seed)
}

// run measures a probe.
func (p probe) run(ctx context.Context, m backend.Backend) (outcome, error) {
	switch p.Kind {
	case "threshold":
		rate, err := p.threshold(ctx, m)
		return outcome{Rate: rate}, err
	case "excess":
		return p.excess(ctx, m)
	}
	return p.threads(ctx, m)
}

// Limits of a run that decides whether a rate is stable. Its times are proportional to d+1, as the period of
// the oscillation is.
const (
	stepsPerDelay = 400 // of a run
	// steps whose largest mean square is the initial one; before its first update, a row is 0
	startPerDelay = 4
	calmPerDelay  = 10 // steps in a row that weights must stay small to be stable before the end of the run
	farAway       = 30 // a change of the root mean square by this factor decides the run early
)

// stable reports whether weights shrink at a rate: whether their mean square over the last third of a run is
// below that of the middle third, or is 30² times above or below the initial one before. In a third, the
// steps in the middle have more weight (Hann), so that it does not matter with which phase an oscillation
// begins.
func (p probe) stable(ctx context.Context, rate float64, m backend.Backend) (bool, error) {
	d := p.Delay
	r, err := newTraining(p.samples, d, rate, m)
	if err != nil {
		return false, err
	}
	third := stepsPerDelay * (d + 1) / 3
	start, calm := 0.0, 0
	var sums [3]float64
	for i := range 3 * third {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err := r.next(); err != nil {
			return false, err
		}
		now := r.mean(square)
		if i < startPerDelay*(d+1) {
			start = max(start, now)
		}
		calm++
		if now > start/(farAway*farAway) {
			calm = 0
		}
		switch {
		case now > start*farAway*farAway:
			return false, nil
		case calm == calmPerDelay*(d+1):
			return true, nil
		}
		weight := math.Sin(math.Pi * (float64(i%third) + 0.5) / float64(third))
		sums[i/third] += square(weight) * now
	}
	return sums[2] < sums[1], nil
}

// firstProduct is η·q·h where the search for a threshold begins.
const firstProduct = 0.003

// threshold returns the learning rate at which weights stop shrinking, found without any prediction: the rate
// doubles from firstProduct until a run is not stable, then the interval is halved in proportion, until its
// ends differ by the precision.
func (p probe) threshold(ctx context.Context, m backend.Backend) (float64, error) {
	low := firstProduct / (p.share() * curvature)
	ok, err := p.stable(ctx, low, m)
	if err == nil && !ok {
		err = fmt.Errorf("the search begins at the rate %v, which is not stable; shorten the delay of %d "+
			"steps", low, p.Delay)
	}
	high := low
	for err == nil && ok {
		low, high = high, 2*high
		ok, err = p.stable(ctx, high, m)
	}
	for err == nil && high/low > 1+p.Precision {
		middle := math.Sqrt(low * high)
		if ok, err = p.stable(ctx, middle, m); ok {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high), err
}

// excess trains with a delay. Its outcome has the mean excess loss over ids and steps without the first
// tenth, and the mean squared norm of the gradient of the expected loss over all steps.
func (p probe) excess(ctx context.Context, m backend.Backend) (r outcome, err error) {
	t, err := newTraining(p.samples, p.Delay, p.Rate, m)
	if err != nil {
		return r, err
	}
	burn := p.Length / 10
	for step := range p.Length {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err := t.next(); err != nil {
			return r, err
		}
		// The gradient of weight i is q·halfTanh, and there are 1/q weights.
		squared := t.mean(func(w float64) float64 { return square(halfTanh(w)) })
		r.Gradient += p.share() * squared / float64(p.Length)
		if step >= burn {
			r.Excess += t.mean(excess) / float64(p.Length-burn)
		}
	}
	err = t.Finish()
	missed := t.Missed()
	r.Missed = missed.Mean()
	return r, err
}

// threads trains in a mode with several ranks, whose gradients are applied rank by rank. Its outcome has the
// mean excess loss over ids at the end.
func (p probe) threads(ctx context.Context, m backend.Backend) (outcome, error) {
	t := newJob(p.Rate, p.samples)
	t.Training.Mode, t.Training.Merge = p.Mode, job.MergeRank
	t.Training.Groups, t.Roles.Ranks = threadRanks, threadRanks
	t.Training.Staleness, t.Training.Prefetch = &p.Delay, p.Delay+1
	// A sample of each label for every id: the log loss of a model is ln 2 plus its mean excess.
	each := coins{samples: samples{Ids: p.Ids, Batch: 2 * p.Ids, Balanced: true}}
	test, err := each.Read(0)
	if err != nil {
		return outcome{}, err
	}
	r, err := train.Run(ctx, t, &coins{samples: p.samples}, test, train.Options{Backend: m})
	if err != nil {
		return outcome{}, err
	}
	return outcome{Excess: r.LogLoss - math.Ln2, Missed: r.MissedUpdates.Mean()}, nil
}
