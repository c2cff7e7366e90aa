package theory

import (
	"context"
	"fmt"
	"math"

	"tandem/algo/exec/backend"
)

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
func stable(ctx context.Context, c *coins, d int, rate float64, m backend.Backend) (bool, error) {
	r, err := newTraining(c, d, rate, m)
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
func threshold(ctx context.Context, c *coins, d int, precision float64, m backend.Backend) (float64, error) {
	low := firstProduct / (c.share() * curvature)
	ok, err := stable(ctx, c, d, low, m)
	if err == nil && !ok {
		err = fmt.Errorf("the search begins at the rate %v, which is not stable; shorten the delay of %d "+
			"steps", low, d)
	}
	high := low
	for err == nil && ok {
		low, high = high, 2*high
		ok, err = stable(ctx, c, d, high, m)
	}
	for err == nil && high/low > 1+precision {
		middle := math.Sqrt(low * high)
		if ok, err = stable(ctx, c, d, middle, m); ok {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high), err
}
