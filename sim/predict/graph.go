package predict

import (
	"context"

	"tandem/sim/device"
	"tandem/sim/graph"
	"tandem/sim/model"
	"tandem/sim/station"
	"tandem/sim/topo"
)

// runGraph simulates the step graph of a job once.
func (j *Job) runGraph(ctx context.Context, steps int, seed uint64) (Result, error) {
	r := j.Hardware.Resolve()
	precisions := model.Precisions{Compute: compute(r.Precision), Rows: j.Rows}
	if r.Precision == device.FP32 || r.Precision == device.TF32 {
		precisions.Activations = model.Float32
	}
	groups, devices := r.Servers("server", j.Roles.Ranks)
	g, err := graph.Run(ctx, graph.Job{
		Model: j.Model, System: &j.Hardware.System, GPUs: j.Roles.Ranks, GlobalBatch: j.Training.GlobalBatch,
		Precisions: precisions, Steps: steps, Seed: seed,
		Cluster: &graph.Cluster{
			Accelerator: r.Devices[devices[0]], Server: r.ServerHost, HostLink: r.HostLinkWire,
			Topology: topo.Spec{Groups: groups, Network: r.Network()},
		},
	})
	if err != nil {
		return Result{}, err
	}
	result := Result{Throughput: g.Throughput, StepTime: g.StepTime, Events: int64(g.Events), Graph: g}
	result.StepP50, result.StepP99 = percentiles(g.Steps)
	for _, b := range g.Bottlenecks {
		result.Bottlenecks = append(result.Bottlenecks, Bottleneck(b))
	}
	for _, s := range g.Stations {
		result.Stations = append(result.Stations, station.Use{Name: s.Name, Busy: s.Busy, Servers: 1,
			Stations: j.Roles.Ranks, MeanBusy: s.Busy})
	}
	return result, nil
}

func compute(p device.Precision) model.Compute {
	switch p {
	case device.TF32:
		return model.TF32
	case device.Half:
		return model.Half
	}
	return model.FP32
}
