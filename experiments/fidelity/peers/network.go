package peers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"tandem/algo/rng"
	"tandem/algo/unit"
)

// network is a set of links and the flows that cross them.
type network struct {
	Capacities []float64 // of the links, in bytes per second
	Flows      []flow
}

// flow is one transfer.
type flow struct {
	Start unit.Tick
	Bytes int64
	Limit float64 // of the rate, in bytes per second; 0: none
	Links []int   // all different
}

// Bounds of random networks. A flow alone on its links takes between 1 ms and 100 s, so that rounding to a
// nanosecond is 1e-6 of its time at most.
const (
	linksMost                 = 100
	flowsMost                 = 1000
	hopsMost                  = 8
	capacityLeast, bytesLeast = 1e8, 1e7
	capacityMost, bytesMost   = 1e10, 1e10
)

// randomNetwork returns a network of the accuracy test: links, routes, sizes, limits and starts are random,
// and so are their numbers.
func randomNetwork(seed uint64, index int) *network {
	r := rng.New(seed, "random network", uint64(index))
	w := &network{Capacities: make([]float64, int(logUniform(r, 1, linksMost+1)))}
	for i := range w.Capacities {
		w.Capacities[i] = math.Round(logUniform(r, capacityLeast, capacityMost))
	}
	// In every second network, flows start together at few instants; in the others, each starts alone. The
	// span of the starts decides how many flows are in flight.
	span := logUniform(r, 0.01, 100)
	instants := 1e9
	if index%2 == 1 {
		instants = math.Floor(logUniform(r, 1, 11))
	}
	for range int(logUniform(r, 1, flowsMost+1)) {
		at := math.Floor(r.Float64()*instants) / instants
		f := flow{
			Start: unit.Tick(at * span * float64(unit.Second)),
			Bytes: int64(logUniform(r, bytesLeast, bytesMost)),
			Links: randomRoute(r, len(w.Capacities), 1+r.IntN(min(hopsMost, len(w.Capacities)))),
		}
		if r.IntN(4) == 0 {
			f.Limit = math.Round(logUniform(r, capacityLeast, capacityMost))
		}
		w.Flows = append(w.Flows, f)
	}
	return w
}

// network returns the network of a speed case: capacities of 1 to 2 GB/s, flows of 0.5 to 1.5 GB.
func (c *speedCase) network(seed uint64) *network {
	r := rng.New(seed, "speed case "+c.Name)
	w := &network{Capacities: make([]float64, c.Links)}
	for i := range w.Capacities {
		w.Capacities[i] = math.Round(1e9 * (1 + r.Float64()))
	}
	for i := range flowCount {
		w.Flows = append(w.Flows, flow{
			Start: unit.Tick(c.Span * r.Float64() * float64(unit.Second)),
			Bytes: int64(1e9 * (0.5 + r.Float64())),
			Links: c.route(r, i),
		})
	}
	return w
}

// logUniform returns a number between low and high whose logarithm is uniform.
func logUniform(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}

// randomRoute returns different links in random order.
func randomRoute(r *rand.Rand, links, hops int) []int {
	chosen := make([]int, 0, hops)
	seen := make(map[int]bool, hops)
	for len(chosen) < hops {
		if l := r.IntN(links); !seen[l] {
			seen[l] = true
			chosen = append(chosen, l)
		}
	}
	return chosen
}

// text returns the network as the driver of SimGrid reads it. SimGrid's flows between hosts have no limit, so
// a flow with a limit crosses a further link of its own.
func (w *network) text() string {
	var links, flows strings.Builder
	count := len(w.Capacities)
	for _, c := range w.Capacities {
		fmt.Fprintln(&links, c)
	}
	for _, f := range w.Flows {
		route := f.Links
		if f.Limit > 0 {
			route = append(slices.Clip(route), count)
			fmt.Fprintln(&links, f.Limit)
			count++
		}
		fmt.Fprint(&flows, f.Start.Seconds(), f.Bytes, len(route))
		for _, l := range route {
			fmt.Fprint(&flows, " ", l)
		}
		fmt.Fprintln(&flows)
	}
	return fmt.Sprintf("%d\n%s%d\n%s", count, &links, len(w.Flows), &flows)
}
