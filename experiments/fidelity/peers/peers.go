// Package peers compares the network of the simulator with SimGrid, which was written by others.
//
// Both sides simulate the same flows over the same links: random networks, for the instants at which flows
// finish, and networks of 3,000 flows, for the events per second. SimGrid's model has the same definition as
// sim/fabric, max-min fair rates, once its factors for TCP are switched off. SimGrid is used through a small
// program, simgrid/driver.cpp, which is compiled at run time.
package peers

import (
	"time"

	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "peers",
		Question: "Does the simulated network agree with SimGrid, and how fast is it beside SimGrid?",
		Help: `Both sides share the capacity of links among flows, max-min fairly. SimGrid is
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
c++. Without them the experiment is skipped. The full version takes a few minutes.`,
		QuickTime: 60 * time.Second,
	}, newPlan, (*plan).measure, (*plan).report)
}
