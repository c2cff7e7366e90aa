package main

import (
	"context"

	"tandem/sim/predict"
)

// Bounds of the points of a comparison, a sweep or a plan that names no number, and the events that all
// simulations of the first two may have together: about what two cores simulate in ten seconds.
const (
	pairedMost   = 64
	pairedFew    = 16 // a sweep says that intervals from fewer mean little
	pairedLeast  = 8
	pairedEvents = 6_000_000
)

// pairedPoints returns how many points can be simulated with a number of events in all, if one point has
// events. It is the same on any machine.
func pairedPoints(all, events int64) int {
	return int(min(pairedMost, max(pairedLeast, all/max(1, events))))
}

// simulatedEvents returns the events of one simulation of a job.
func simulatedEvents(ctx context.Context, j *predict.Job, o predict.Options) (int64, error) {
	o.Samples = 0
	p, err := predict.Run(ctx, j, o)
	if err != nil {
		return 0, err
	}
	return p.Mid.Events, nil
}
