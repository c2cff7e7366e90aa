package predict

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/unit"
	"tandem/sim/cluster"
	"tandem/sim/graph"
	"tandem/sim/station"
)

// Result holds the figures of one simulated run.
type Result struct {
	Throughput float64   // samples a second, of all accelerators
	StepTime   unit.Tick // mean
	// StepP50 and StepP99 are percentiles of the times of measured steps.
	StepP50, StepP99 unit.Tick
	// Bottlenecks are the resources on the critical path of the measured steps, the largest share first. They
	// are groups of parameters.
	Bottlenecks []Bottleneck
	Events      int64
	Stations    []station.Use // the busiest first
	// Roles has the figures of a system of roles, Graph those of a step graph; the other is nil.
	Roles *cluster.Result
	Graph *graph.Result
}

// Bottleneck is a resource with its share of the critical path.
type Bottleneck struct {
	Resource string  `json:"resource"`
	Share    float64 `json:"share"`
}

// String returns a text such as "network 52 %".
func (b Bottleneck) String() string { return fmt.Sprintf("%s %.0f %%", b.Resource, 100*b.Share) }

func rolesResult(r *cluster.Result) Result {
	result := Result{Throughput: r.Throughput, StepTime: r.StepTime, Stations: r.Stations, Events: r.Events,
		Roles: r}
	result.StepP50, result.StepP99 = percentiles(r.StepTimes)
	for _, b := range r.Bottlenecks {
		result.Bottlenecks = append(result.Bottlenecks, Bottleneck(b))
	}
	return result
}

// percentiles returns the 50th and 99th percentile of times, by the nearest rank.
func percentiles(times []unit.Tick) (p50, p99 unit.Tick) {
	sorted := slices.Sorted(slices.Values(times))
	at := func(q float64) unit.Tick {
		return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
	}
	return at(0.5), at(0.99)
}
