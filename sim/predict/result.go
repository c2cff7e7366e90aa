package predict

import (
	"tandem/algo/unit"
	"tandem/sim/cluster"
	"tandem/sim/station"
)

// Result holds the figures of one simulated run.
type Result struct {
	Throughput float64 // samples a second, of all accelerators
	StepTime   unit.Tick
	Stations   []station.Use // the busiest first
	// Roles has the figures of a system of roles; nil for others.
	Roles *cluster.Result
}

func rolesResult(r *cluster.Result) Result {
	return Result{Throughput: r.Throughput, StepTime: r.StepTime, Stations: r.Stations, Roles: r}
}
