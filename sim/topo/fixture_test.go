package topo

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// cluster returns GPU servers of 8 accelerators with 300 GB/s each inside and one card of 10 GB/s for each,
// on a flat network.
func cluster(accelerators int) Spec {
	return Spec{
		Groups: []Group{{
			Name: "server", Accelerators: accelerators, AcceleratorsPerNode: 8,
			Inside:   Inside{Kind: InsideSwitch, Rate: 300e9, Latency: 3400},
			HostLink: HostLink{Rate: 25e9, Latency: 5700},
			Cards:    Cards{Count: 8, Rate: 10e9},
		}},
		Network: Network{Kind: NetworkFlat, Latency: 14_000},
	}
}

func compile(t testing.TB, s Spec) *Graph {
	t.Helper()
	g, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// folded returns a description with the equal nodes folded.
func folded(s Spec) Spec {
	s.Fold = true
	return s
}

// transfer is a number of bytes from one port to another.
type transfer struct {
	from, to Port
	bytes    unit.Bytes
}

// makespan moves transfers over their routes, each as a flow of its own, and returns the end of the last.
func makespan(t interface{ Fatal(...any) }, g *Graph, transfers []transfer) unit.Tick {
	net := fabric.New(g.Links())
	for _, x := range transfers {
		r, err := g.Route(x.from, x.to)
		if err != nil {
			t.Fatal(err)
		}
		net.Start(0, fabric.Flow{Path: r.Hops, Bytes: x.bytes})
	}
	now := unit.Tick(0)
	for net.Settle(0); net.Flows() > 0; net.Settle(now) {
		now, _ = net.NextFinish()
		net.Finished(now, nil)
	}
	return now
}

// transferTime returns the time of a plan without its latencies.
func transferTime(g *Graph, p Plan) unit.Tick {
	p.Stages = slices.Clone(p.Stages)
	for i := range p.Stages {
		p.Stages[i].Latency = 0
	}
	return g.Alone(&p)
}

// must returns a plan, or fails.
func must(t interface{ Fatal(...any) }) func(Plan, error) Plan {
	return func(p Plan, err error) Plan {
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// near reports whether two times differ by at most a part, or by the rounding of a few stages.
func near(a, b unit.Tick, part float64) bool {
	d := float64(a - b)
	return d <= part*float64(b)+4 && -d <= part*float64(b)+4
}

// drawSpec draws a valid description of at most nodesMax nodes a group. If it is even, all nodes are full.
func drawSpec(t *rapid.T, nodesMax int, even bool) Spec {
	network := Network{
		Kind: rapid.SampledFrom([]string{NetworkFlat, NetworkRacks, NetworkFatTree, NetworkRails}).Draw(t,
			"network"),
		Latency: 10_000, SpineLatency: 1000,
	}
	switch network.Kind {
	case NetworkFatTree:
		network.Spines = rapid.IntRange(1, 3).Draw(t, "spines")
		fallthrough
	case NetworkRacks:
		network.NodesPerRack = rapid.IntRange(1, 3).Draw(t, "nodes per rack")
		network.Oversubscription = rapid.SampledFrom([]float64{0.5, 1, 2, 3.5}).Draw(t, "oversubscription")
	case NetworkRails:
		network.NodesPerRack = rapid.IntRange(0, 3).Draw(t, "nodes per rack")
		network.Oversubscription = rapid.SampledFrom([]float64{1, 2}).Draw(t, "oversubscription")
		network.BetweenRails = rapid.SampledFrom([]string{RailsNVLink, RailsSpine}).Draw(t, "between rails")
	}
	s := Spec{Network: network}
	for i := range rapid.IntRange(1, 3).Draw(t, "groups") {
		g := Group{
			Name: string(rune('a' + i)), Zone: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "zone"),
			Cards: Cards{
				Count: rapid.IntRange(1, 2).Draw(t, "cards"), Rate: 10e9,
				ThroughHost: rapid.Bool().Draw(t, "staged"),
			},
		}
		if rapid.IntRange(0, 2).Draw(t, "front") == 0 {
			g.Front = Cards{Count: rapid.IntRange(1, 3).Draw(t, "front cards"), Rate: 7e9}
		}
		if i > 0 && rapid.IntRange(0, 2).Draw(t, "hosts") == 0 {
			g.Nodes = rapid.IntRange(1, nodesMax).Draw(t, "nodes")
			s.Groups = append(s.Groups, g)
			continue
		}
		k := g.Cards.Count * rapid.IntRange(1, 3).Draw(t, "accelerators a card")
		nodes := rapid.IntRange(1, nodesMax).Draw(t, "nodes")
		g.AcceleratorsPerNode, g.Accelerators = k, k*nodes
		if !even {
			g.Accelerators -= rapid.IntRange(0, k-1).Draw(t, "missing")
		}
		kinds := []string{InsideSwitch, InsideMesh, InsideCubeMesh, InsideHost}
		g.Inside = Inside{
			Kind: rapid.SampledFrom(kinds).Draw(t, "inside"), Latency: 3000,
			Rate: unit.BytesPerSec(rapid.SampledFrom([]float64{5e9, 100e9}).Draw(t, "inside rate")),
		}
		g.HostLink = HostLink{
			Latency: 5000, Sharing: rapid.IntRange(0, k).Draw(t, "sharing"),
			Rate: unit.BytesPerSec(rapid.SampledFrom([]float64{2e9, 25e9}).Draw(t, "host link rate")),
		}
		s.Groups = append(s.Groups, g)
	}
	for i := range s.Groups {
		if s.Groups[i].Zone != s.Groups[0].Zone {
			s.Network.Zones = []ZoneLink{{[2]string{"x", "y"}, 3e9, 50_000}}
		}
	}
	return s
}
