// Package peers compares the network of the simulator with SimGrid, which was written by others.
//
// Both sides simulate the same flows over the same links: random networks, for the instants at which flows
// finish, and networks of 3,000 flows, for the events per second. SimGrid's model has the same definition as
// sim/fabric, max-min fair rates, once its factors for TCP are switched off. SimGrid is used through a small
// program, simgrid/driver.cpp, which is compiled at run time.
package peers

import (
	"context"
	"errors"
	"time"

	"tandem/experiments/internal/report"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "peers".
func (Experiment) Name() string { return "peers" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Does the simulated network agree with SimGrid, and how fast is it beside SimGrid?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Both sides share the capacity of links among flows, max-min fairly. SimGrid is
set to that model: its factors for TCP, latency and cross traffic are off.

  accuracy   random networks: links, capacities, routes of 1 to 8 links, sizes,
             limits of rates and starts are drawn. The time that a flow takes is
             compared flow by flow: within 0.1 % on every network.
  speed      networks of 3,000 flows, from one link per flow to one backbone for
             all. An event is the start or the end of a flow. The sides take
             turns, --seeds rounds; in each, SimGrid runs in all its ways to
             update rates, and the fastest counts. Target: 3 × its events per
             second.

SimGrid needs its library with headers (Debian: libsimgrid-dev) and the compiler
c++. Without them the experiment is skipped. The full version takes a few minutes.

Writes to a new folder:

  report.html              everything on one page
  peers.csv                a line per run, written at its end
  peers.json               errors by network, times by case and round
  settings.yaml            the resolved settings
  errors.png, .svg         the largest error of each network
  ratios.png, .svg         the ratios of events per second`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 60 * time.Second }

// Run compares both sides, or reports that SimGrid is absent.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	peer, err := buildSimGrid(ctx)
	if errors.Is(err, errAbsent) {
		return &report.Report{Findings: []string{"Skipped: " + err.Error() + "."}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer peer.remove()
	p := newPlan(o)
	return p.execute(ctx, o, peer)
}

// execute measures a plan.
func (p *plan) execute(ctx context.Context, o report.Options, peer *simgrid) (*report.Report, error) {
	r, err := p.measure(ctx, o, peer)
	if err != nil {
		return nil, err
	}
	return p.report(r), nil
}
