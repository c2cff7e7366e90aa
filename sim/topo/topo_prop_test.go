package topo

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// ports returns all ports of a graph.
func ports(g *Graph) (list []Port) {
	for node := range g.Nodes() {
		for a := HostMemory; a < g.class(node).accelerators; a++ {
			list = append(list, Port{node, a})
		}
	}
	return list
}

// owner returns the part of the cluster that a link belongs to: a class of one node, a rack, or neither.
func owner(g *Graph, l fabric.LinkID) (node, rack int) {
	for i := range g.classes {
		if first, end := nodeLinks(&g.classes[i]); first <= l && l < end {
			return g.classes[i].first, -1
		}
	}
	for i := range g.racks {
		if first, end := rackLinks(g, i); first <= l && l < end {
			return -1, i
		}
	}
	return -1, -1
}

// nodeLinks returns the first link of the node of a class, and the end of its links.
func nodeLinks(c *class) (first, end fabric.LinkID) {
	s := c.group
	first, end = c.cards, c.cards+fabric.LinkID(2*s.Cards.Count+2*s.Front.Count)
	if s.AcceleratorsPerNode > 0 {
		first = c.hostLinks
		if s.AcceleratorsPerNode > 1 && s.Inside.Kind != InsideHost {
			first = c.inside
		}
	}
	return first, end
}

// rackLinks returns the first uplink of a rack, and the end of its uplinks.
func rackLinks(g *Graph, rack int) (first, end fabric.LinkID) {
	r := &g.racks[rack]
	return r.uplinks, r.uplinks + fabric.LinkID(2*r.switches*g.spines())
}

// Every two ports have a route. It crosses links of their two nodes, their racks and the link between their
// zones, and no other. The way back is the same way. If senders change rails inside their nodes, it has the
// same latency and, except in cube meshes, the same bottleneck.
func TestRandomRoutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := compile2(t, drawSpec(t, 4, false))
		list := ports(g)
		from := rapid.SampledFrom(list).Draw(t, "from")
		to := rapid.SampledFrom(list).Draw(t, "to")
		r, err := g.Route(from, to)
		if err != nil {
			t.Fatal(err)
		}
		back, err := g.Route(to, from)
		if err != nil {
			t.Fatal(err)
		}
		if (len(r.Hops) == 0) != (from == to) {
			t.Fatalf("%d hops from %v to %v", len(r.Hops), from, to)
		}
		a, b := g.class(from.Node), g.class(to.Node)
		var mirrored []fabric.Hop
		for _, h := range r.Hops {
			node, rack := owner(g, h.Link)
			zone := node < 0 && rack < 0
			if node >= 0 && node != from.Node && node != to.Node ||
				rack >= 0 && rack != a.rack && rack != b.rack || zone && a.group.zone == b.group.zone {
				t.Fatalf("route from %v to %v crosses %q of node %d, rack %d", from, to,
					g.links[h.Link].Name, node, rack)
			}
			mirrored = append(mirrored, fabric.Hop{Link: h.Link ^ 1, Multiplicity: h.Multiplicity})
		}
		if a.group.throughNVLink != b.group.throughNVLink || a.group.throughNVLink && a.group != b.group {
			return // only one of the two changes rails, or they do it at different rates
		}
		if r.Latency != back.Latency {
			t.Fatalf("latency %v there, %v back", r.Latency, back.Latency)
		}
		byLink := func(a, b fabric.Hop) int { return int(a.Link) - int(b.Link) }
		slices.SortFunc(mirrored, byLink)
		if !a.group.throughNVLink && !slices.Equal(mirrored, back.Hops) {
			t.Fatalf("hops %v there, %v back", r.Hops, back.Hops)
		}
		if a.group.throughNVLink && a.group.Inside.Kind == InsideCubeMesh {
			return // a sender may have a link to the accelerator on the rail, and the receiver none
		}
		if there, back := bottleneck(g, r), bottleneck(g, back); math.Abs(there-back) > 1e-9*there {
			t.Fatalf("bottleneck of %v B/s there, %v back", there, back)
		}
	})
}

// bottleneck returns the rate of one flow alone on a route.
func bottleneck(g *Graph, r Route) float64 {
	rate := 1e18
	for _, h := range r.Hops {
		rate = min(rate, float64(g.links[h.Link].Capacity)/h.Multiplicity)
	}
	return rate
}

func compile2(t *rapid.T, s Spec) *Graph {
	g, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A fold changes no time of a collective over all accelerators, also where the last node or rack is not full.
func TestFoldingChangesNoCollective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, 9, rapid.Bool().Draw(t, "even"))
		full := compile2(t, s)
		fold := compile2(t, folded(s))
		if len(fold.links) > len(full.links) {
			t.Fatalf("%d links folded, %d not", len(fold.links), len(full.links))
		}
		for name, collective := range collectives() {
			for _, p := range []*Pricing{{}, {Protocols: NCCL()}} {
				a := must(t)(collective(full.World(), 100_000_000, p))
				b := must(t)(collective(fold.World(), 100_000_000, p))
				ta, tb := full.Alone(&a), fold.Alone(&b)
				if !near(ta, tb, 1e-6) {
					t.Fatalf("%s: %s takes %v, folded %s takes %v", name, a.Name, ta, b.Name, tb)
				}
			}
		}
	})
}

// The flows of a pairwise all-to-all take the time of n(n−1) single flows over the routes of all pairs.
func TestAllToAllMatchesItsPairsAsFlows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, 4, false)
		g := compile2(t, s)
		const each = 10_000_000
		n := g.Accelerators()
		var pairs []transfer
		for i := range n {
			for j := range n {
				if i != j {
					pairs = append(pairs, transfer{g.Accelerator(i), g.Accelerator(j), each})
				}
			}
		}
		fold := compile2(t, folded(s))
		plan := must(t)(fold.World().AllToAll(each*unit.Bytes(n), &Pricing{Algorithm: Pairwise}))
		got, want := transferTime(fold, plan), makespan(t, g, pairs)
		if !near(got, want, 0.02) {
			t.Fatalf("%d accelerators: %v, with single flows %v", n, got, want)
		}
	})
}

// The flow of a ring takes the time of single flows from every member to the next over their routes, if one
// card of every node carries the ring.
func TestRingMatchesItsNeighboursAsFlows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, 6, false)
		for i := range s.Groups {
			s.Groups[i].Cards.Count, s.Groups[i].Cards.ThroughHost = 1, false
			s.Groups[i].Inside.Kind = InsideSwitch
		}
		g := compile2(t, s)
		const bytes = 100_000_000
		n := g.Accelerators()
		var steps []transfer
		for i := range n {
			to := g.Accelerator((i + 1) % n)
			if n > 1 {
				steps = append(steps, transfer{g.Accelerator(i), to, unit.Bytes(2 * bytes * (n - 1) / n)})
			}
		}
		plan := must(t)(compile2(t, folded(s)).World().AllReduce(bytes, &Pricing{Algorithm: Ring}))
		got, want := transferTime(compile2(t, folded(s)), plan), makespan(t, g, steps)
		if !near(got, want, 0.001) {
			t.Fatalf("%d accelerators: %v, with single flows %v", n, got, want)
		}
	})
}

// In a folded graph a route has the latency that it has among all nodes, and crosses the links that stand for
// those that it crosses there. It need not have the same bottleneck: a way can cross links of both nodes for
// which one link stands, as where a cube mesh changes rails through the host and the receiver's card is
// behind its host, too.
func TestFoldingChangesNoRoute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, 9, false)
		g, fold := compile2(t, s), compile2(t, folded(s))
		list := ports(g)
		from := rapid.SampledFrom(list).Draw(t, "from")
		to := rapid.SampledFrom(list).Draw(t, "to")
		a, err := g.Route(from, to)
		if err != nil {
			t.Fatal(err)
		}
		b, err := fold.Route(from, to)
		if err != nil {
			t.Fatal(err)
		}
		standIn := standIns(g, fold)
		want := &path{g: fold}
		for _, h := range a.Hops {
			l := standIn[h.Link]
			if g.links[h.Link] != fold.links[l] {
				t.Fatalf("%+v stands for %+v", fold.links[l], g.links[h.Link])
			}
			want.add(l, h.Multiplicity, 1)
		}
		if a.Latency != b.Latency || !slices.Equal(want.finish(), b.Hops) {
			t.Fatalf("%+v, folded %+v; want hops %+v", a, b, want.hops)
		}
	})
}

// standIns returns the link of a folded graph that stands for each link of the graph of all nodes.
func standIns(g, fold *Graph) []fabric.LinkID {
	list := make([]fabric.LinkID, len(g.links))
	fill := func(first, end, standIn fabric.LinkID) {
		for l := first; l < end; l++ {
			list[l] = standIn + l - first
		}
	}
	for node := range g.Nodes() {
		a, b := g.class(node), fold.class(node)
		first, end := nodeLinks(a)
		standIn, _ := nodeLinks(b)
		fill(first, end, standIn)
		first, end = rackLinks(g, a.rack)
		fill(first, end, fold.racks[b.rack].uplinks)
	}
	for i, z := range g.zoneLinks {
		fill(z.link, z.link+2, fold.zoneLinks[i].link)
	}
	return list
}

// Cards send as many bytes as cards receive, as many bytes climb to the spine as come down, and an all-to-all
// moves what its members have for members of other nodes.
func TestCollectivesConserveBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, 5, rapid.Bool().Draw(t, "even"))
		s.Fold = rapid.Bool().Draw(t, "fold")
		g := compile2(t, s)
		const bytes = 10_000_000
		for name, collective := range collectives() {
			for _, algorithm := range []string{Ring, Tree, Hierarchical, Pairwise} {
				plan, err := collective(g.World(), bytes, &Pricing{Algorithm: algorithm})
				if err != nil || algorithm == Tree && s.Fold {
					continue // another collective's; or the busiest rack stands for all
				}
				cards, uplinks := carried(g, &plan)
				for _, sums := range [][2]float64{cards, uplinks} {
					if math.Abs(sums[out]-sums[in]) > 1e-6*sums[out] {
						t.Fatalf("%s by %s: %v bytes out, %v in", name, algorithm, sums[out], sums[in])
					}
				}
				want := acrossBytes(g, bytes)
				if name == "all-to-all" && math.Abs(cards[out]-want) > 1 {
					t.Fatalf("%s all-to-all: cards carry %v bytes, want %v", algorithm, cards[out], want)
				}
			}
		}
	})
}

// carried returns the bytes that all cards and all uplinks of racks carry, by direction.
func carried(g *Graph, p *Plan) (cards, uplinks [2]float64) {
	for _, s := range p.Stages {
		for _, f := range s.Flows {
			for _, h := range f.Path {
				bytes := h.Multiplicity * float64(f.Bytes)
				node, rack := owner(g, h.Link)
				switch {
				case rack >= 0:
					uplinks[h.Link&1] += bytes * float64(g.racks[rack].racks)
				case node >= 0 && strings.Contains(g.links[h.Link].Name, " card, "):
					cards[h.Link&1] += bytes * float64(g.class(node).nodes)
				}
			}
		}
	}
	return cards, uplinks
}

// acrossBytes returns the bytes that accelerators have for accelerators of other nodes.
func acrossBytes(g *Graph, bytes float64) float64 {
	sum := 0.0
	n := g.Accelerators()
	for i := range n {
		for j := range n {
			if g.Accelerator(i).Node != g.Accelerator(j).Node {
				sum += bytes / float64(n)
			}
		}
	}
	return sum
}
