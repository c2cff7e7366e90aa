package predict

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/sim/cluster"
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/graph"
	"tandem/sim/model"
	"tandem/sim/station"
	"tandem/sim/system"
	"tandem/sim/timeline"
	"tandem/sim/topo"
)

// runGraph simulates the step graph of a job once. Line receives what its streams did, unless it is nil.
func (j *Job) runGraph(ctx context.Context, steps int, seed uint64, line *timeline.Timeline) (Result, error) {
	r := j.Hardware.Resolve()
	precisions := model.Precisions{Compute: compute(r.Precision), Rows: j.Rows}
	if r.Precision == device.FP32 || r.Precision == device.TF32 {
		precisions.Activations = model.Float32
	}
	placement := j.placement
	if placement == nil {
		placement = j.Placement
	}
	if err := j.CheckSlow(); err != nil {
		return Result{}, err
	}
	g, err := graph.Run(ctx, graph.Job{
		Model: j.Model, System: &j.Hardware.System, GPUs: j.Roles.Ranks, GlobalBatch: j.Training.GlobalBatch,
		Precisions: precisions, Steps: steps, Seed: seed, Placement: placement,
		Slow: j.slowestRank(), Cluster: graphCluster(r, j.Roles.Ranks), Timeline: line,
	})
	if err != nil {
		return Result{}, err
	}
	result := Result{Throughput: g.Throughput, StepTime: g.StepTime, Events: int64(g.Events), Graph: g}
	result.StepP50, result.StepP99 = percentiles(g.Steps)
	result.Bottlenecks = merged(g.Bottlenecks)
	for _, s := range g.Stations {
		result.Stations = append(result.Stations, station.Use{Name: s.Name, Busy: s.Busy, Servers: 1,
			Stations: j.Roles.Ranks, MeanBusy: s.Busy})
	}
	slices.SortStableFunc(result.Stations, func(a, b station.Use) int { return cmp.Compare(b.Busy, a.Busy) })
	return result, nil
}

// CheckSlow reports the first slow role that a prediction does not have. A step graph has ranks only.
func (j *Job) CheckSlow() error {
	if j.Hardware.System.Architecture != system.StepGraph {
		return cluster.CheckSlow(j.Hardware, j.Job)
	}
	for i, x := range j.Slow {
		if x.Role.Role != msg.NNWorker {
			return fmt.Errorf("slow[%d].role = %v; system %s has no roles but nn-worker", i, x.Role,
				j.Hardware.System.Name)
		}
	}
	return j.Slow.ValidateRoles(&role.Config{Ranks: int32(j.Roles.Ranks)})
}

// slowestRank returns how many times as long work takes on the slowest rank.
func (j *Job) slowestRank() float64 {
	factor := 1.0
	for rank := range int32(j.Roles.Ranks) {
		factor = max(factor, j.Slow.Factor(msg.Address{Role: msg.NNWorker, Index: rank}))
	}
	return factor
}

// graphCluster returns the servers of some accelerators.
func graphCluster(r *cost.Resolved, gpus int) *graph.Cluster {
	groups, devices := r.Servers("server", gpus)
	return &graph.Cluster{
		Accelerator: r.Devices[devices[0]], Server: r.ServerHost, HostLink: r.HostLinkWire,
		Topology: topo.Spec{Groups: groups, Network: r.Network(groups)},
	}
}

// merged returns bottlenecks of a step graph by what can be bought or improved as a whole.
func merged(parts []graph.Bottleneck) (list []Bottleneck) {
	for _, part := range parts {
		name := part.Resource
		switch name {
		case graph.Peak, graph.DeviceMemory, graph.DeviceLaunch:
			name = "accelerator"
		case graph.InsideLatency:
			name = graph.Inside
		case graph.Network:
			name = "network bandwidth"
		case graph.HostThread:
			name = "GPU server cores"
		}
		i := slices.IndexFunc(list, func(b Bottleneck) bool { return b.Resource == name })
		if i < 0 {
			i, list = len(list), append(list, Bottleneck{Resource: name})
		}
		list[i].Share += part.Share
	}
	slices.SortStableFunc(list, func(a, b Bottleneck) int { return cmp.Compare(b.Share, a.Share) })
	return list
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
