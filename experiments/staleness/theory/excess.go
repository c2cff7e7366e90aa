package theory

import (
	"context"
	"math"

	"tandem/algo/exec/backend"
)

// halfTanh returns the derivative of excess.
func halfTanh(w float64) float64 { return math.Tanh(w/2) / 2 }

// measureExcess trains with a delay for a number of steps. Its outcome has the mean excess loss over ids and
// steps without the first tenth, and the mean squared norm of the gradient of the expected loss over all
// steps.
func measureExcess(
	ctx context.Context, c *coins, d int, rate float64, steps int, m backend.Backend,
) (outcome, error) {
	t, err := newTraining(c, d, rate, m)
	if err != nil {
		return outcome{}, err
	}
	var r outcome
	burn := steps / 10
	for step := range steps {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err := t.next(); err != nil {
			return r, err
		}
		// The gradient of weight i is q·halfTanh, and there are 1/q weights.
		squared := t.mean(func(w float64) float64 { return square(halfTanh(w)) })
		r.Gradient += c.share() * squared / float64(steps)
		if step >= burn {
			r.Excess += t.mean(excess) / float64(steps-burn)
		}
	}
	if err := t.Finish(); err != nil {
		return r, err
	}
	missed := t.Missed()
	r.Missed = missed.Mean()
	return r, nil
}
