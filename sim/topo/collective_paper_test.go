package topo

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// gigabyte is long enough that latencies do not count.
const gigabyte unit.Bytes = 1e9

// A ring all-reduce takes 2(n−1)·α + 2(n−1)/n·S/B (Thakur, Rabenseifner, Gropp 2005). On one node B is the
// port of an accelerator; between nodes it is the sum of a node's cards, as nccl-tests' bus bandwidth has it.
func TestRingAllReduceIsTwoPassesOverTheSlowestLink(t *testing.T) {
	for _, n := range []int{2, 7, 8, 16, 24, 112, 1000} {
		for _, cards := range []int{1, 2, 8} {
			for _, fold := range []bool{false, true} {
				s := cluster(n)
				s.Groups[0].Cards.Count, s.Fold = cards, fold
				g := compile(t, s)
				plan := must(t)(g.World().AllReduce(gigabyte, &Pricing{Algorithm: Ring}))
				rate, inter := 300e9, 0
				if n > 8 {
					rate, inter = float64(cards)*10e9, (n+7)/8-1
				}
				if n%8 != 0 && n > 8 {
					continue // TestPartialNode
				}
				seconds := 2 * float64(n-1) / float64(n) * 1e9 / rate
				want := unit.Tick(seconds*1e9) + unit.Tick(2*(n-1-inter))*3400 + unit.Tick(2*inter)*14_000
				if got := g.Alone(&plan); !near(got, want, 0.0001) {
					t.Errorf("%d accelerators, %d cards, fold %v: %v, want %v", n, cards, fold, got, want)
				}
			}
		}
	}
}

// The bandwidth terms of nccl-tests, PERFORMANCE.md, in a node: S/B times 2(n−1)/n for an all-reduce, and
// (n−1)/n for the others.
func TestBytesOfNCCLTests(t *testing.T) {
	for n := 2; n <= 8; n++ {
		for _, kind := range []string{InsideSwitch, InsideMesh} {
			s := cluster(n)
			s.Groups[0].AcceleratorsPerNode = n
			s.Groups[0].Inside.Kind = kind
			s.Groups[0].Cards.Count = 1
			g := compile(t, s)
			c, p := g.World(), &Pricing{}
			part := float64(n-1) / float64(n)
			for _, x := range []struct {
				name string
				plan Plan
				want float64
			}{
				{"all-reduce", must(t)(c.AllReduce(gigabyte, &Pricing{Algorithm: Ring})), 2 * part},
				{"reduce-scatter", must(t)(c.ReduceScatter(gigabyte, p)), part},
				{"all-gather", must(t)(c.AllGather(gigabyte, p)), part},
				{"all-to-all", must(t)(c.AllToAll(gigabyte, p)), part},
			} {
				want := unit.Tick(x.want * 1e9 / 300e9 * 1e9)
				if got := transferTime(g, x.plan); !near(got, want, 0.0001) {
					t.Errorf("%s of %d on a %s: %v, want %v", x.name, n, kind, got, want)
				}
			}
		}
	}
}

// Half of the peers of an accelerator of a cube mesh and itself are its links' part of an exchange; what the
// other three eighths of the bytes cost depends on who carries them. A ring needs links alone.
func TestUnlinkedPairsOfACubeMeshExchangeThroughTheHostOrARelay(t *testing.T) {
	rate, host := 300e9, 25e9 // bytes a second
	for _, x := range []struct {
		kind    string
		relayed float64
		sharing int
		want    float64 // seconds for 1 GB of each accelerator
	}{
		{InsideSwitch, 0, 1, 7. / 8 / rate},
		{InsideCubeMesh, 0, 1, 3. / 8 / host},
		{InsideCubeMesh, 0, 2, 2 * 3. / 8 / host},
		{InsideCubeMesh, 0.5, 1, 0.5 * 3. / 8 / host},
		{InsideCubeMesh, 1, 1, (4 + 2*3) / 8. / rate},
	} {
		s := cluster(8)
		s.Groups[0].Inside.Kind, s.Groups[0].HostLink.Sharing = x.kind, x.sharing
		g := compile(t, s)
		p := &Pricing{Relayed: x.relayed}
		exchange := must(t)(g.World().AllToAll(gigabyte, p))
		if got, want := transferTime(g, exchange), unit.Tick(x.want*1e18); !near(got, want, 0.0001) {
			t.Errorf("%s, relayed %v: exchange in %v, want %v", x.kind, x.relayed, got, want)
		}
		ring := must(t)(g.World().AllGather(gigabyte, p))
		if got, want := transferTime(g, ring), unit.Tick(7./8/rate*1e18); !near(got, want, 0.0001) {
			t.Errorf("%s, relayed %v: ring in %v, want %v", x.kind, x.relayed, got, want)
		}
	}
	for a := range 8 {
		links := 0
		for b := range 8 {
			if a != b && linked(a, b) {
				links++
			}
		}
		if links != 4 {
			t.Errorf("accelerator %d has links to %d others, want 4", a, links)
		}
	}
}

// A hierarchical all-reduce takes 2(L−1)/L·S/B inside and 2(N−1)/N·(S/L)/b on each of L rails of rate b.
func TestHierarchicalAllReduceUsesEveryRailForItsPart(t *testing.T) {
	for _, nodes := range []int{1, 2, 3, 16, 128, 2048} {
		for _, cards := range []int{1, 8} {
			s := folded(cluster(8 * nodes))
			s.Groups[0].Cards.Count = cards
			g := compile(t, s)
			plan := must(t)(g.World().AllReduce(gigabyte, &Pricing{Algorithm: Hierarchical}))
			n := float64(nodes)
			rail := 10e9 * float64(cards) / 8
			seconds := 2*7./8/300 + 2*(n-1)/n/8*1e9/rail
			want := unit.Tick(seconds*1e9) + 14*3400 + unit.Tick(2*(nodes-1))*14_000
			if got := g.Alone(&plan); !near(got, want, 0.0001) {
				t.Errorf("%d nodes, %d cards: %v, want %v", nodes, cards, got, want)
			}
		}
	}
}

// btree is the first tree of NCCL's trees.cc as its comment draws it, written down by recursion: the middle
// of a range of a power of two is the parent of the middles of its halves.
func btree(n int) (parent []int) {
	parent = make([]int, n)
	parent[0] = -1
	size := 1
	for size < n {
		size *= 2
	}
	var grow func(lo, size, up int)
	grow = func(lo, size, up int) {
		middle := lo + size/2
		if size < 2 {
			return
		}
		if middle >= n {
			grow(lo, size/2, up)
			return
		}
		parent[middle] = up
		grow(lo, size/2, middle)
		grow(middle, size/2, middle)
	}
	grow(0, size, 0)
	return parent
}

// Two binary trees, each with half of the bytes, up and then down, are full duplex: with every edge as two
// flows of its own between nodes of one accelerator, the makespan is the plan's, and tends to 2S/B (Sanders,
// Speck, Träff 2009).
func TestTreeAllReduceMovesTwiceTheBytesThroughANode(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 8, 13, 16, 31, 64} {
		s := cluster(n)
		s.Groups[0].AcceleratorsPerNode, s.Groups[0].Cards.Count = 1, 1
		g := compile(t, s)
		plan := must(t)(g.World().AllReduce(gigabyte, &Pricing{Algorithm: Tree}))
		got, want := transferTime(g, plan), makespan(t, g, treeEdges(g, n))
		if !near(got, want, 0.0001) {
			t.Errorf("%d nodes: %v, with single flows %v", n, got, want)
		}
		if n >= 4 && !near(got, 200*unit.Millisecond, 0.0001) {
			t.Errorf("%d nodes: %v, want 2S/B = 200 ms", n, got)
		}
		depth := unit.Tick(math.Ceil(math.Log2(float64(n))))
		if got := plan.Stages[0].Latency; got != 2*depth*14_000 {
			t.Errorf("%d nodes: latency %v, want %d hops", n, got, 2*depth)
		}
	}
}

// The edges of the trees that leave a rack share its uplink.
func TestTreeEdgesBetweenRacksShareTheUplinks(t *testing.T) {
	for _, n := range []int{4, 7, 9, 12, 21, 32} {
		for _, perRack := range []int{2, 3, 4} {
			s := cluster(n)
			s.Groups[0].AcceleratorsPerNode, s.Groups[0].Cards.Count = 1, 1
			s.Network = Network{Kind: NetworkRacks, NodesPerRack: perRack, Oversubscription: 20}
			g, fold := compile(t, s), compile(t, folded(s))
			plan := must(t)(fold.World().AllReduce(gigabyte, &Pricing{Algorithm: Tree}))
			got, want := transferTime(fold, plan), makespan(t, g, treeEdges(g, n))
			if !near(got, want, 0.02) {
				t.Errorf("%d nodes in racks of %d: %v, with single flows %v", n, perRack, got, want)
			}
		}
	}
}

// treeEdges returns the transfers of both directions of the edges of the two trees over n nodes.
func treeEdges(g *Graph, n int) (edges []transfer) {
	for node, up := range btree(n) {
		if up < 0 {
			continue
		}
		a, b := n-1-node, n-1-up
		if n%2 == 1 {
			a, b = (node+1)%n, (up+1)%n
		}
		for _, x := range [][2]int{{node, up}, {up, node}, {a, b}, {b, a}} {
			edges = append(edges, transfer{g.Accelerator(x[0]), g.Accelerator(x[1]), gigabyte / 2})
		}
	}
	return edges
}

// Spines and links between zones add their latency where a ring, a tree or a message crosses them: 16 nodes
// in 4 racks, half of them in each of two zones.
func TestBoundariesAddTheirLatency(t *testing.T) {
	s := folded(cluster(64))
	s.Groups = append(s.Groups, s.Groups[0])
	s.Groups[0].Zone, s.Groups[1].Zone, s.Groups[1].Name = "x", "y", "other"
	s.Network = Network{
		Kind: NetworkRacks, NodesPerRack: 4, Oversubscription: 1, Latency: 10, SpineLatency: 1000,
		Zones: []ZoneLink{{[2]string{"x", "y"}, 1e9, 100_000}},
	}
	for i := range s.Groups {
		s.Groups[i].Inside.Latency = 1
	}
	c := compile(t, s).World()
	for _, x := range []struct {
		name string
		plan Plan
		want unit.Tick
	}{
		{"ring", must(t)(c.AllReduce(1, &Pricing{Algorithm: Ring})),
			2 * (112*1 + 15*10 + 4*1000 + 2*100_000)},
		{"pass", must(t)(c.AllGather(1, &Pricing{Algorithm: Ring})), 112*1 + 15*10 + 4*1000 + 2*100_000},
		{"tree", must(t)(c.AllReduce(1, &Pricing{Algorithm: Tree})), 2 * (7*1 + 4*10 + 1000 + 100_000)},
		{"pairs", must(t)(c.AllToAll(1, &Pricing{Algorithm: Pairwise})), 10 + 1000 + 100_000},
	} {
		if got := x.plan.Stages[0].Latency; got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// In a hierarchical all-to-all over W = N·L members, each sends S(L−1)/L inside, and S(W−L)/W to other nodes
// as N−1 messages; in a pairwise one, the same amount to other nodes as W−L messages.
func TestAllToAllSendsThePartOfTheOtherNodesThroughTheCards(t *testing.T) {
	post := []Protocol{{Name: "posted", Ring: Constants{Share: 1}, Tree: Constants{Share: 1}, Post: 1000}}
	for _, nodes := range []int{2, 3, 14, 16, 2048} {
		g := compile(t, folded(cluster(8*nodes)))
		w := float64(8 * nodes)
		across := (w - 8) / w * 1e9 / 10e9
		for _, x := range []struct {
			algorithm string
			seconds   float64
			posts     int
		}{
			{Pairwise, across, 8*nodes - 8},
			{Hierarchical, 7./8*1e9/300e9 + across, nodes - 1},
		} {
			plan := must(t)(g.World().AllToAll(gigabyte, &Pricing{Algorithm: x.algorithm, Protocols: post}))
			want := unit.Tick(x.seconds*1e9) + unit.Tick(1000*x.posts)
			if got := g.Alone(&plan); !near(got, want, 0.0001) {
				t.Errorf("%s on %d nodes: %v, want %v", x.algorithm, nodes, got, want)
			}
		}
	}
}

// The oversubscription of the racks divides the rate of an all-to-all across them.
func TestOversubscriptionDividesTheAllToAllAcrossRacks(t *testing.T) {
	const nodes, perRack = 32, 4
	for _, spines := range []int{0, 4} {
		for _, k := range []float64{1, 2, 4, 7.5} {
			s := folded(cluster(8 * nodes))
			s.Network = Network{Kind: NetworkRacks, NodesPerRack: perRack, Oversubscription: k}
			if spines > 0 {
				s.Network.Kind, s.Network.Spines = NetworkFatTree, spines
			}
			g := compile(t, s)
			plan := must(t)(g.World().AllToAll(gigabyte, &Pricing{Algorithm: Pairwise}))
			// Of S, 28/32 leave the rack over 1/k of the rate; with k = 1 the cards bind, with 31/32.
			want := max(31./32, 28./32*k) * 1e9 / 10e9
			if got := transferTime(g, plan); !near(got, unit.Tick(want*1e9), 0.0001) {
				t.Errorf("%d spines, oversubscription %v: %v, want %v s", spines, k, got, want)
			}
		}
	}
}

// One card for 8 accelerators takes 8 times as long as a card for each.
func TestOneCardForEightAcceleratorsIsAnEighthOfEight(t *testing.T) {
	for name, collective := range collectives() {
		var times [2]unit.Tick
		for i, cards := range []int{8, 1} {
			s := folded(cluster(128))
			s.Groups[0].Cards.Count = cards
			s.Groups[0].Inside.Rate = 1e15 // no part of the time
			g := compile(t, s)
			times[i] = transferTime(g, must(t)(collective(g.World(), gigabyte, &Pricing{})))
		}
		if !near(times[1], 8*times[0], 0.001) {
			t.Errorf("%s: %v with 8 cards, %v with one", name, times[0], times[1])
		}
	}
}

func collectives() map[string]func(*Communicator, unit.Bytes, *Pricing) (Plan, error) {
	return map[string]func(*Communicator, unit.Bytes, *Pricing) (Plan, error){
		"all-reduce": (*Communicator).AllReduce, "reduce-scatter": (*Communicator).ReduceScatter,
		"all-gather": (*Communicator).AllGather, "all-to-all": (*Communicator).AllToAll,
	}
}

// NCCL's tuner: latency is the base and the hops, and of small messages LL wins, of large ones Simple.
func TestProtocolIsTheFastestOfNCCL(t *testing.T) {
	g := compile(t, folded(cluster(64)))
	p := &Pricing{Algorithm: Ring, Protocols: NCCL()}
	for _, x := range []struct {
		bytes   unit.Bytes
		name    string
		latency float64 // µs
	}{
		{1000, "ring LL", 6.6 + 112*0.6 + 14*2.7},
		{16_000_000, "ring LL128", 14 + 112*1.9 + 14*4},
		{4_000_000_000, "ring Simple", 8.4 + 112*3.4 + 14*14},
	} {
		plan := must(t)(g.World().AllReduce(x.bytes, p))
		if got := float64(plan.Stages[0].Latency) / 1000; plan.Name != x.name ||
			math.Abs(got-x.latency) > 1e-6 {
			t.Errorf("%d bytes: %s with %v µs, want %s with %v", x.bytes, plan.Name, got, x.name, x.latency)
		}
	}
	tree := must(t)(g.World().AllReduce(8, &Pricing{Algorithm: Tree, Protocols: NCCL()}))
	if got, want := tree.Stages[0].Latency, unit.Tick(6800+2*(7*600+3*5000)); got != want ||
		tree.Name != "tree LL" {
		t.Errorf("%s with %v, want tree LL with %v", tree.Name, got, want)
	}
}

// Over many nodes a tree beats the ring for small vectors, and its shares of the wires make it lose for large
// ones.
func TestTreeWinsForSmallVectorsOnManyNodes(t *testing.T) {
	g := compile(t, folded(cluster(16_384)))
	for bytes, want := range map[unit.Bytes]string{1000: "tree LL", 100 * gigabyte: "ring Simple"} {
		if plan := must(t)(g.World().AllReduce(bytes, &Pricing{Protocols: NCCL()})); plan.Name != want {
			t.Errorf("%v: %s, want %s", bytes, plan.Name, want)
		}
	}
}
