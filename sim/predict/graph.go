package predict

import (
	"context"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/sim/cost"
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
	g, err := graph.Run(ctx, graph.Job{
		Model: j.Model, System: &j.Hardware.System, GPUs: j.Roles.Ranks, GlobalBatch: j.Training.GlobalBatch,
		Precisions: precisions, Steps: steps, Seed: seed,
		Cluster: &graph.Cluster{
			Accelerator: r.Device, Server: r.ServerHost, HostLink: r.HostLinkWire, Topology: servers(r),
		},
	})
	if err != nil {
		return Result{}, err
	}
	result := Result{Throughput: g.Throughput, StepTime: g.StepTime, Graph: g}
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

// servers describes the GPU servers and their network.
func servers(r *cost.Resolved) topo.Spec {
	c := &r.Cluster
	inside := topo.Inside{Kind: topo.InsideSwitch, Rate: r.InsideWire.Bandwidth,
		Latency: r.InsideWire.Latency}
	if r.Inside.Shape == "mesh" {
		inside.Kind = topo.InsideMesh
	}
	cards := max(1, r.ServerHost.NetworkCards)
	spec := topo.Spec{
		Groups: []topo.Group{{
			Name: "server", AcceleratorsPerNode: c.AcceleratorsPerServer, Inside: inside,
			HostLink: topo.HostLink{Rate: r.HostLinkWire.Bandwidth, Latency: r.HostLinkWire.Latency},
			Cards: topo.Cards{Count: cards,
				Rate: r.ServerHost.Network * r.NetworkShare / unit.BytesPerSec(cards)},
		}},
		Network: topo.Network{
			Kind: topo.NetworkFlat, Latency: r.NetworkWire.Latency, NodesPerRack: c.Topology.HostsPerRack,
			Oversubscription: c.Topology.Oversubscription,
		},
	}
	if c.Topology.Kind != "" {
		spec.Network.Kind = c.Topology.Kind
	}
	if spec.Network.Kind == job.TopologyRails {
		spec.Network.BetweenRails = topo.RailsNVLink
	}
	return spec
}
