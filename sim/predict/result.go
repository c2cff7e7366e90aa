package predict

import (
	"tandem/algo/unit"
	"tandem/sim/cluster"
	"tandem/sim/graph"
	"tandem/sim/station"
)

// Result holds the figures of one simulated run.
type Result struct {
	Throughput float64 // samples a second, of all accelerators
	StepTime   unit.Tick
	Stations   []station.Use // the busiest first
	// Roles has the figures of a system of roles, Graph those of a step graph; the other is nil.
	Roles *cluster.Result
	Graph *graph.Result
}

func rolesResult(r *cluster.Result) Result {
	return Result{Throughput: r.Throughput, StepTime: r.StepTime, Stations: r.Stations, Roles: r}
}
