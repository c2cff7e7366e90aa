package cluster

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// resource is something that can be improved.
type resource int8

const (
	kernels        resource = iota // of an accelerator
	copyEngines                    // between host and accelerator
	insideWire                     // between the accelerators of a server
	bandwidth                      // of all network cards
	latency                        // of the network
	workerThreads                  // service threads of EWs
	psThreads                      //
	densePSThreads                 //
	passing                        // time without a resource: retries, delays and absences by faults
	firstCores                     // cores of the first class of hosts
	firstMemory    = firstCores + resource(hostClasses)
	resourceCount  = firstMemory + resource(hostClasses)
	noResource     = resource(-1)
)

// resourceNames are the names of resources that belong to no class of hosts.
var resourceNames = [firstCores]string{
	"accelerator", "host-accelerator copies", "wire inside servers", "network bandwidth", "network latency",
	"EW threads", "PS threads", "dense PS threads", "retries and delays",
}

// String returns the name that reports print.
func (r resource) String() string {
	switch {
	case r >= firstMemory:
		return hostClass(r-firstMemory).String() + " memory"
	case r >= firstCores:
		return hostClass(r-firstCores).String() + " cores"
	}
	return resourceNames[r]
}

// Resources returns the names of all resources that Options.Improve can improve.
func Resources() []string {
	var names []string
	for r := range resourceCount {
		if r != passing {
			names = append(names, r.String())
		}
	}
	return names
}

// threadsOf returns the service threads of a role; noResource for roles whose work waits for something else:
// a rank's for its accelerator, that of a role with as many threads as cores for these, and the data loader's
// for its one thread, which uses all cores. A coordinator has no work.
func (w *simulation) threadsOf(i int32, r msg.Role) resource {
	if w.places[i].service.AllCores {
		return noResource
	}
	switch r {
	case msg.EmbeddingWorker:
		return workerThreads
	case msg.EmbeddingPS:
		return psThreads
	case msg.DensePS:
		return densePSThreads
	}
	return noResource
}

// rates are factors of the speed of all resources.
type rates [resourceCount]float64

// newRates returns the rates of improved resources.
func newRates(improve map[string]float64) (r rates, err error) {
	for i := range r {
		r[i] = 1
	}
	for name, factor := range improve { // order-free: each sets another rate
		i := slices.Index(Resources(), name)
		if i < 0 {
			return r, fmt.Errorf("cluster: no resource %q; want one of: %s", name,
				strings.Join(Resources(), ", "))
		}
		if !(factor > 0) || math.IsInf(factor, 1) {
			return r, fmt.Errorf("cluster: %s improved by a factor of %v; want more than 0", name, factor)
		}
		if i >= int(passing) {
			i++
		}
		r[i] = factor
	}
	return r, nil
}

// time returns the time that something takes on a resource.
func (r *rates) time(of resource, takes unit.Tick) unit.Tick {
	if r[of] == 1 {
		return takes
	}
	return takes.Scale(1 / r[of])
}

// count returns a number of servers of a resource.
func (r *rates) count(of resource, n int) int { return max(1, int(math.Round(float64(n)*r[of]))) }
