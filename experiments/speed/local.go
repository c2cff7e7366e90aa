package speed

import (
	"context"
	"fmt"
	"time"
)

// stepper is what Tandem does in a case.
type stepper interface {
	// step does one step.
	step() error
	// check returns a number that depends on all that the last step has computed,
	// and on the updates of those before it.
	check() float64
}

// fill draws the values that both sides compute on.
func (p *prepared) fill() error {
	switch p.Kind {
	case kindDense:
		return p.fillDense()
	case kindSparse:
		return p.fillSparse()
	}
	panic("speed: case of kind " + p.Kind)
}

// stepper builds what Tandem does.
func (p *prepared) stepper() (stepper, error) {
	switch p.Kind {
	case kindDense:
		return newDenseStep(p)
	case kindSparse:
		return newSparseStep(p)
	}
	panic("speed: case of kind " + p.Kind)
}

// local is Tandem, in this process.
type local struct{ at stepper }

// warmUps is the number of steps that caches, branch predictors and page tables
// get; PyTorch has as many.
const warmUps = 3

// open implements side.
func (l *local) open(ctx context.Context, p *prepared) (opening, error) {
	var err error
	if l.at, err = p.stepper(); err != nil {
		return opening{}, err
	}
	if _, err = l.run(ctx, warmUps); err != nil {
		return opening{}, err
	}
	return opening{l.at.check()}, nil
}

// run implements side.
func (l *local) run(ctx context.Context, steps int) (time.Duration, error) {
	begin := time.Now()
	for range steps {
		if err := l.at.step(); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("stopped: %w", context.Cause(ctx))
		}
	}
	return time.Since(begin), nil
}

// close implements side.
func (l *local) close(context.Context) error {
	l.at = nil
	return nil
}
