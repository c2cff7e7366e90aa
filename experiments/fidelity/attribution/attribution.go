// Package attribution tests two answers of the simulator against the simulator: the resource that binds a
// job, and the interval around a prediction.
//
// The first test draws random jobs, doubles every resource of each, one at a time, and compares the gains
// with the list of bottlenecks of the run. The second draws points of the box of unknown parameters, which
// play the truth, and counts how often the printed intervals contain what is simulated there.
package attribution

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
)

// Experiment is the pair of tests.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "attribution".
func (Experiment) Name() string { return "attribution" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Do simulated runs name what binds them, and do intervals contain the truth?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `The simulator is tested against itself; nothing is trained.

  bottlenecks  random jobs: preset, model, mode, GPUs, batch, staleness, precision
               of rows, numbers of hosts and all unknown parameters are drawn.
               Every resource is doubled, one at a time. A job passes if doubling
               the first of its list of bottlenecks gains at least 5 % of
               throughput, and doubling any one after the third changes it by at
               most 5 %. Target: 45 of 50 jobs.
  intervals    random points of the box of unknown parameters play the truth. The
               intervals of throughput and of hybrid/sync, from 256 samples of
               the box, must contain at least 28 of 30 simulated truths, and be
               no wider than the range of 2,000 other points. The spread over
               --seeds seeds of jitter is apart from them.

The full version takes about half an hour on two cores.

Writes to a new folder:

  report.html              everything on one page
  attribution.csv          a line per job and resource, and per point
  attribution.json         gains by job and resource, intervals and truths
  settings.yaml            the resolved settings
  gains.png, .svg          gain of each resource by its share`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 15 * time.Second }

// Run makes both tests.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	r, err := p.measure(ctx, o)
	if err != nil {
		return nil, err
	}
	return p.report(r), nil
}
