package topo

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// twoNodes is two nodes of four accelerators and two cards, each in a rack of a fat tree with two spines, or
// in two zones.
func twoNodes(inside string, throughHost, zones bool) Spec {
	group := Group{Name: "a", Zone: "x", Accelerators: 8, AcceleratorsPerNode: 4,
		Inside:   Inside{Kind: inside, Rate: 300e9, Latency: 3000},
		HostLink: HostLink{Rate: 20e9, Latency: 1000}, Cards: Cards{Count: 2, Rate: 10e9,
			ThroughHost: throughHost}}
	s := Spec{Groups: []Group{group}, Network: Network{Kind: NetworkFatTree, Latency: 14_000, NodesPerRack: 1,
		Oversubscription: 1, Spines: 2, SpineLatency: 700}}
	if zones {
		s.Groups[0].Accelerators = 4
		group.Name, group.Zone, group.Accelerators = "b", "y", 4
		s.Groups = append(s.Groups, group)
		s.Network.Zones = []ZoneLink{{Between: [2]string{"y", "x"}, Rate: 5e9, Latency: 90_000}}
	}
	return s
}

// loads returns, for each kind of link, what every link of the kind carries, in bytes of the collective. It
// fails if two of a kind carry more and less, or if a direction does.
func loads(t *testing.T, g *Graph, p *Plan, bytes unit.Bytes) map[string]float64 {
	t.Helper()
	carried := make([]float64, len(g.Links()))
	for _, s := range p.Stages {
		for _, f := range s.Flows {
			for _, h := range f.Path {
				carried[h.Link] += h.Multiplicity * float64(f.Bytes) / float64(bytes)
			}
		}
	}
	found := map[string]float64{}
	for i, l := range g.Links() {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(l.Name, "a "), "b "), ",")
		if before, seen := found[name]; seen && math.Abs(before-carried[i]) > 1e-9 {
			t.Fatalf("%s: link %d (%s) carries %v, others of its kind %v", p.Name, i, l.Name, carried[i],
				before)
		}
		found[name] = carried[i]
	}
	return found
}

// Every link carries its part of a collective among eight members on two nodes, as a multiple of its bytes:
// an all-reduce around a ring 2·7/8 over every link between two members, one by trees twice the bytes inside
// and once between nodes, a hierarchical one 2·3/4 inside and once between nodes; an all-to-all 3/8 to the
// members of the same node, or 3/4 if they hand over what they have for the other node, and half of what each
// of four members has to it. A node has two cards, whose traffic crosses four host links, and its rack two
// uplinks.
func TestEveryLinkCarriesItsPart(t *testing.T) {
	const bytes = 1e6
	for _, x := range []struct {
		algorithm      string
		allToAll       bool
		inside, across float64 // of an accelerator, and of a node
	}{
		{Ring, false, 2 * 7. / 8, 2 * 7. / 8}, {Tree, false, 2, 1}, {Hierarchical, false, 2 * 3. / 4, 1},
		{Pairwise, true, 3. / 8, 2}, {Hierarchical, true, 3. / 4, 2},
	} {
		for _, inside := range []string{InsideSwitch, InsideMesh, InsideHost} {
			for _, through := range []bool{false, true} {
				for _, zones := range []bool{false, true} {
					g := compile(t, twoNodes(inside, through, zones))
					plan := (*Communicator).AllReduce
					if x.allToAll {
						plan = (*Communicator).AllToAll
					}
					p := must(t)(plan(g.World(), bytes, &Pricing{Algorithm: x.algorithm}))
					got := loads(t, g, &p, bytes)
					want := map[string]float64{"card": x.across / 2, "uplink of a rack": x.across / 2,
						"host link": 0}
					switch inside {
					case InsideSwitch:
						want["accelerator"] = x.inside
					case InsideMesh:
						want["link between accelerators"] = x.inside / 3
					case InsideHost:
						want["host link"] = x.inside
					}
					if through {
						want["host link"] += x.across / 4
					}
					if zones {
						want["link between zones"] = x.across
					}
					for name, load := range want {
						if math.Abs(got[name]-load) > 1e-9 {
							t.Errorf(
								"%s, inside %s, through the host %v, zones %v: each %s carries %v, want %v",
								p.Name, inside, through, zones, name, got[name], load)
						}
					}
					if len(got) != len(want) {
						t.Errorf("links %v, want %v", got, want)
					}
				}
			}
		}
	}
}

// Messages are the parts of the bytes that an algorithm cuts them into: their sizes decide which share of a
// wire's rate they reach, and their numbers how often the latencies of the way count.
func TestMessagesOfAlgorithms(t *testing.T) {
	const bytes = 8_000_000
	inside, across := Share{Large: 1, Half: 1_000_000}, Share{Large: 1, Half: 300_000}
	const intra, inter, spine, zone = 3000, 14_000, 700, 90_000
	for _, x := range []struct {
		algorithm        string
		allToAll         bool
		sent, sentAcross float64      // bytes of a message inside a node and between nodes
		latency          [2]unit.Tick // in one zone, and in two
	}{
		// twice around: 6 messages inside nodes and one between them, and both ways between the racks
		{Ring, false, bytes / 8, bytes / 8, [2]unit.Tick{2 * (6*intra + inter + 2*spine),
			2 * (6*intra + inter + 2*spine + 2*zone)}},
		// up and down a chain of four and a tree of depth one
		{Tree, false, bytes / 2, bytes / 2, [2]unit.Tick{2 * (3*intra + inter + spine),
			2 * (3*intra + inter + spine + zone)}},
		{Hierarchical, false, bytes / 4, bytes / 8, [2]unit.Tick{2*3*intra + 2*(inter+2*spine),
			2*3*intra + 2*(inter+2*spine+2*zone)}},
		{Pairwise, true, bytes / 8, bytes / 8, [2]unit.Tick{inter + spine, inter + spine + zone}},
		{Hierarchical, true, bytes / 4, bytes / 2, [2]unit.Tick{intra + inter + spine,
			intra + inter + spine + zone}},
	} {
		for zones, want := range x.latency {
			g := compile(t, twoNodes(InsideSwitch, false, zones == 1))
			plan := (*Communicator).AllReduce
			if x.allToAll {
				plan = (*Communicator).AllToAll
			}
			whole := must(t)(plan(g.World(), bytes, &Pricing{Algorithm: x.algorithm}))
			p := must(t)(plan(g.World(), bytes, &Pricing{Algorithm: x.algorithm, Inside: inside,
				Across: across}))
			before, after := loads(t, g, &whole, bytes), loads(t, g, &p, bytes)
			for name, want := range map[string]float64{"accelerator": (x.sent + 1_000_000) / x.sent,
				"card": (x.sentAcross + 300_000) / x.sentAcross, "uplink of a rack": 1} {
				if got := after[name] / before[name]; math.Abs(got-want) > 1e-9 {
					t.Errorf("%s, all-to-all %v: each %s is used for %v of the time at its rate, want %v",
						x.algorithm, x.allToAll, name, got, want)
				}
			}
			latency := unit.Tick(0)
			for _, s := range p.Stages {
				latency += s.Latency
			}
			if latency != want {
				t.Errorf("%s, all-to-all %v, zones %v: a latency of %v, want %v", x.algorithm, x.allToAll,
					zones == 1, latency, want)
			}
		}
	}
}

// A protocol has latencies of its own: once, of messages inside nodes with a wire or without and between
// nodes, and for each message of an all-to-all; and every wire gives it a share of its rate.
func TestProtocolsHaveTheirConstants(t *testing.T) {
	protocol := Protocol{Name: "P", Post: 50,
		Ring: Constants{Base: 100_000, NVLink: 2000, PCIe: 5000, Network: 30_000, Share: 0.5},
		Tree: Constants{Base: 200_000, NVLink: 1000, PCIe: 7000, Network: 40_000, Share: 0.25}}
	for _, x := range []struct {
		algorithm string
		allToAll  bool
		share     float64
		latency   func(wire, treeWire unit.Tick) unit.Tick
	}{
		{Ring, false, 0.5, func(w, _ unit.Tick) unit.Tick { return 100_000 + 2*(6*w+30_000+2*700) }},
		{Tree, false, 0.25, func(_, w unit.Tick) unit.Tick { return 200_000 + 2*(3*w+40_000+700) }},
		{Hierarchical, false, 0.5, func(w, _ unit.Tick) unit.Tick {
			return 3*100_000 + 2*3*w + 2*(30_000+2*700)
		}},
		{Pairwise, true, 0.5, func(_, _ unit.Tick) unit.Tick { return 100_000 + 30_000 + 700 + 4*50 }},
		{Hierarchical, true, 0.5, func(w, _ unit.Tick) unit.Tick {
			return 2*100_000 + w + 30_000 + 700 +
				50
		}},
	} {
		for inside, wires := range map[string][2]unit.Tick{InsideSwitch: {2000, 1000}, InsideHost: {5000,
			7000}} {
			g := compile(t, twoNodes(inside, false, false))
			plan := (*Communicator).AllReduce
			if x.allToAll {
				plan = (*Communicator).AllToAll
			}
			whole := must(t)(plan(g.World(), 1e6, &Pricing{Algorithm: x.algorithm}))
			p := must(t)(plan(g.World(), 1e6, &Pricing{Algorithm: x.algorithm,
				Protocols: []Protocol{protocol}}))
			before, after := loads(t, g, &whole, 1e6), loads(t, g, &p, 1e6)
			for name, load := range before {
				if math.Abs(after[name]*x.share-load) > 1e-9 {
					t.Errorf("%s: each %s carries %v of %v", p.Name, name, load, after[name])
				}
			}
			latency := unit.Tick(0)
			for _, s := range p.Stages {
				latency += s.Latency
			}
			if want := x.latency(wires[0], wires[1]); latency != want || p.Name != x.algorithm+" P" {
				t.Errorf("%s, all-to-all %v, inside %s: a latency of %v, want %v", p.Name, x.allToAll, inside,
					latency, want)
			}
		}
	}
}

// Uplinks, links between zones and cards of hosts are found by their names.
func TestLinksAreThoseOfTheirKind(t *testing.T) {
	s := twoNodes(InsideMesh, false, true)
	s.Groups[0].Front = Cards{Count: 3, Rate: 1e9}
	g := compile(t, s)
	names := func(list []fabric.LinkID) (names []string) {
		for i, l := range list {
			names = append(names, g.Links()[l].Name)
			if i > 0 && l == list[i-1] {
				t.Errorf("link %d twice", l)
			}
		}
		return names
	}
	for _, x := range []struct {
		got  []fabric.LinkID
		want string
	}{
		{g.Uplinks(), "a uplink of a rack, out a uplink of a rack, out b uplink of a rack, out " +
			"b uplink of a rack, out"},
		{g.ZoneLinks(), "link between zones, out"},
		{g.HostCards(0), "a front card, out a front card, out a front card, out"},
		{g.HostCards(1), "b card, out b card, out"},
	} {
		if got := strings.Join(names(x.got), " "); got != x.want {
			t.Errorf("%s, want %s", got, x.want)
		}
	}
	for i, l := range g.Links() {
		inside := strings.Contains(l.Name, "between accelerators") || strings.Contains(l.Name, "host link")
		if g.InsideNode(fabric.LinkID(i)) != inside {
			t.Errorf("%s: inside a node: %v", l.Name, !inside)
		}
	}
}
