package graph

import (
	"testing"

	"tandem/sim/device"
	"tandem/sim/system"
)

// leastGain is what doubling the first bottleneck gains at least. It is little, since rings of all ranks load
// NVLink and the network cards of an H100 server almost equally.
const leastGain = 0.03

// improvements make a resource twice as good.
var improvements = map[string]func(c *Cluster, s *system.Profile){
	Peak: func(c *Cluster, _ *system.Profile) {
		for _, p := range []device.Precision{device.FP32, device.TF32, device.Half} {
			c.Accelerator.Peak[p] *= 2
		}
	},
	DeviceMemory: func(c *Cluster, _ *system.Profile) { c.Accelerator.Bandwidth *= 2 },
	DeviceLaunch: func(c *Cluster, _ *system.Profile) { c.Accelerator.Launch /= 2 },
	Inside:       func(c *Cluster, _ *system.Profile) { c.Topology.Groups[0].Inside.Rate *= 2 },
	InsideLatency: func(c *Cluster, _ *system.Profile) {
		c.Topology.Groups[0].Inside.Latency /= 2
	},
	Network:        func(c *Cluster, _ *system.Profile) { c.Topology.Groups[0].Cards.Rate *= 2 },
	NetworkLatency: func(c *Cluster, _ *system.Profile) { c.Topology.Network.Latency /= 2 },
	HostLink:       func(c *Cluster, _ *system.Profile) { c.HostLink.Bandwidth *= 2 },
	HostThread: func(_ *Cluster, s *system.Profile) {
		s.NNWorker.LaunchTime.Mid /= 2
		s.NNWorker.StepTime.Mid /= 2
	},
	Interference: func(_ *Cluster, s *system.Profile) { s.NNWorker.Interference.Mid /= 2 },
}

// The resource that is named first is worth doubling: at least 3 % of throughput. If a resource has a share x
// of the critical path, doubling it saves at most x/2 of a step, but for 5 % of waiting beside the path. The
// placement stays.
func TestBottlenecksAreWorthImproving(t *testing.T) {
	for _, x := range []struct {
		model       string
		gpus, batch int
		change      func(c *Cluster, s *system.Profile)
	}{
		{"mlperf-dcnv2", 8, 55_296, nil},
		{"mlperf-dcnv2", 64, 55_296, nil},
		{"mlperf-dcnv2", 128, 55_296, nil},
		{"mlperf-dcnv2", 64, 1_048_576, nil},
		{"mlperf-dlrm", 8, 55_296, nil},
		{"mlperf-dlrm", 8, 2048, func(_ *Cluster, s *system.Profile) { s.NNWorker.Captured.Mid = 0 }},
		{"mlperf-dlrm", 64, 65_536,
			func(c *Cluster, _ *system.Profile) { c.Topology.Groups[0].Cards.Rate /= 8 }},
		{"criteo", 8, 65_536, nil},
		{"mlperf-dcnv2", 8, 55_296, func(c *Cluster, _ *system.Profile) { c.HostLink.Bandwidth /= 50 }},
	} {
		job := func() Job {
			j := example(t, dgxH100(t), x.model, x.gpus, x.batch)
			j.System.NNWorker.Jitter.Mid = 0
			if x.change != nil {
				x.change(j.Cluster, j.System)
			}
			return j
		}
		base := run(t, job())
		for name, improve := range improvements {
			j := job()
			j.Placement = base.Rules()
			improve(j.Cluster, j.System)
			gain := run(t, j).Throughput/base.Throughput - 1
			x := shareOf(base.Bottlenecks, name)
			if name == base.Bottlenecks[0].Resource && gain < leastGain {
				t.Errorf("%s, %d GPUs, batch %d: %s is first of %v, but twice as good it gains %.3f",
					j.Model.Name,
					j.GPUs, j.GlobalBatch, name, base.Bottlenecks, gain)
			}
			if most := x / (2 - x); gain > most+0.05 || gain < -0.005 {
				t.Errorf("%s, %d GPUs, batch %d: %s gains %.3f, want up to %.3f: %v", j.Model.Name, j.GPUs,
					j.GlobalBatch, name, gain, most, base.Bottlenecks)
			}
		}
	}
}

func shareOf(list []Bottleneck, name string) float64 {
	for _, b := range list {
		if b.Resource == name {
			return b.Share
		}
	}
	return 0
}
