package graph

import (
	"testing"

	"tandem/sim/device"
	"tandem/sim/model"
	"tandem/sim/system"
	"tandem/sim/topo"
)

// dgx returns servers of 8 accelerators from built-in profiles, at a position of their ranges.
func dgx(t testing.TB, accelerator, server, inside, link, network string) *Cluster {
	t.Helper()
	a, err := device.LoadAccelerator(accelerator)
	if err != nil {
		t.Fatal(err)
	}
	h, err := device.LoadHost(server)
	if err != nil {
		t.Fatal(err)
	}
	var wires [3]device.Wire
	for i, name := range []string{inside, link, network} {
		w, err := device.LoadWire(name)
		if err != nil {
			t.Fatal(err)
		}
		wires[i] = w.Resolve(0)
	}
	host := h.Resolve(0)
	return &Cluster{
		Accelerator: a.Resolve(0), Server: host, HostLink: wires[1],
		Topology: topo.Spec{
			Groups: []topo.Group{{
				Name: "server", AcceleratorsPerNode: 8,
				Inside: topo.Inside{Kind: topo.InsideSwitch, Rate: wires[0].Bandwidth,
					Latency: wires[0].Latency},
				HostLink: topo.HostLink{Rate: wires[1].Bandwidth, Latency: wires[1].Latency},
				Cards:    topo.Cards{Count: host.NetworkCards, Rate: wires[2].Bandwidth},
			}},
			Network: topo.Network{Kind: topo.NetworkFlat, Latency: wires[2].Latency},
		},
	}
}

func dgxH100(t testing.TB) *Cluster {
	return dgx(t, "H100-SXM5", "dgx-h100", "nvlink4", "pcie5-x16", "infiniband-ndr")
}

func dgxA100(t testing.TB) *Cluster {
	return dgx(t, "A100-SXM4-80GB", "dgx-a100", "nvlink3", "pcie4-x16", "infiniband-hdr")
}

func example(t testing.TB, c *Cluster, name string, gpus, batch int) Job {
	t.Helper()
	m, err := model.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := system.LoadUncalibrated("hugectr")
	if err != nil {
		t.Fatal(err)
	}
	return Job{Model: m, Cluster: c, System: s, GPUs: gpus, GlobalBatch: batch}
}

func run(t testing.TB, j Job) *Result {
	t.Helper()
	r, err := Run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
