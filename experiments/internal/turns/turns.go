// Package turns compares sides that do the same work: Tandem in several ways, programs of others, limits
// of the machine. The sides of a case take turns within each of several rounds. Machines differ, and one
// machine differs from minute to minute, so only ratios within a round are meaningful.
package turns

import (
	"context"
	"math"
	"time"
)

// Side does steps of the work of a case.
type Side interface {
	// Run does a number of steps and returns their time.
	Run(ctx context.Context, steps int) (time.Duration, error)
}

// Time does a number of steps in this process and returns their time.
func Time(ctx context.Context, steps int, step func() error) (time.Duration, error) {
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

// StepsOf returns how many steps of a side fill a window, at least one. It does one.
func StepsOf(ctx context.Context, s Side, window time.Duration) (int, error) {
	took, err := s.Run(ctx, 1)
	return int(math.Ceil(window.Seconds() / max(took.Seconds(), 1e-6))), err
}

// Rounds calls a function for every side in every round, both from 0. The side that begins rotates, so that a
// drift of the machine favours none.
func Rounds(rounds, sides int, turn func(round, side int) error) error {
	for round := range rounds {
		for i := range sides {
			if err := turn(round, (i+round)%sides); err != nil {
				return err
			}
		}
	}
	return nil
}
