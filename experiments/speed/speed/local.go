package speed

import (
	"context"
	"time"

	"tandem/algo/numeric/isa"
)

// stepper is the work of Tandem in a case.
type stepper interface {
	// run does a number of steps and returns their time.
	run(ctx context.Context, steps int) (time.Duration, error)
	// check returns a value that depends on all results of the last step and on all updates before it.
	check() float64
}

// timed does a number of steps and returns their time.
func timed(ctx context.Context, steps int, step func() error) (time.Duration, error) {
	begin := time.Now()
	for range steps {
		if err := step(); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	return time.Since(begin), nil
}

// fill draws the input values of both sides.
func (p *prepared) fill() error {
	switch p.Kind {
	case kindDense:
		return p.fillDense()
	case kindSparse, kindLookup, kindUpdate:
		return p.fillSparse()
	case kindTrain:
		return p.fillTraining()
	}
	panic("speed: case of kind " + p.Kind)
}

// newStepper returns the work of Tandem.
func (p *prepared) newStepper() (stepper, error) {
	switch p.Kind {
	case kindDense:
		return newDenseStep(p)
	case kindSparse:
		return newSparseStep(p)
	case kindLookup, kindUpdate:
		return newRowStep(p)
	case kindTrain:
		return newTrainingRun(p)
	}
	panic("speed: case of kind " + p.Kind)
}

// limit returns the side that measures the limit of the machine, or nil if there is none.
func (p *prepared) limit() (side, error) {
	switch {
	case isa.Best() == isa.Portable: // it has no loops for the limits
		return nil, nil
	case p.Kind == kindDense:
		return newArithmetic(p)
	case p.Kind == kindLookup || p.Kind == kindUpdate:
		return newBareRows(p), nil
	}
	return nil, nil
}

// local is Tandem, in this process.
type local struct {
	stepper  stepper
	overhead float64 // bytes of a row beside embedding and state, of a lookup or update
}

// open implements side.
func (l *local) open(ctx context.Context, p *prepared) (warmState, error) {
	var err error
	if l.stepper, err = p.newStepper(); err != nil {
		return warmState{}, err
	}
	if _, err = l.run(ctx, p.warmUps()); err != nil {
		return warmState{}, err
	}
	if rows, ok := l.stepper.(*rowStep); ok {
		l.overhead = rows.overhead
	}
	return warmState{l.stepper.check()}, nil
}

// run implements side.
func (l *local) run(ctx context.Context, steps int) (time.Duration, error) {
	return l.stepper.run(ctx, steps)
}

// close implements side.
func (l *local) close(context.Context) error {
	l.stepper = nil
	return nil
}
