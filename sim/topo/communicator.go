package topo

import (
	"fmt"
	"slices"

	"tandem/algo/unit"
)

// Communicator is a set of accelerators that take part in collectives. It does not change, so goroutines can
// share it.
type Communicator struct {
	graph         *Graph
	parts         []part
	members       int
	nodes         int
	most          int // members on the node that has the most
	racks         int
	spined        bool      // the racks have uplinks
	cycle         crossing  // of a cycle through the nodes
	trees         crossing  // of both directions of the two trees
	insideLatency unit.Tick // of the slowest wire inside a node
	switched      bool      // the accelerators of some node have a wire to each other
}

// part is the members on the nodes of one class.
type part struct {
	*class
	nodes, perRack int
	members        []int     // accelerators of each node
	weights        []float64 // parts of the members below each card
}

// crossing is how often one pass of a collective crosses a boundary.
type crossing struct {
	edges int // of a cycle, between two racks
	racks []rackCrossing
	zones []zoneCrossing
}

// rackCrossing is how often the busiest of a run of racks is left, and as often entered.
type rackCrossing struct {
	rack    int
	weights []float64
	amount  float64
}

type zoneCrossing struct {
	from, to int
	amount   float64
}

// World returns the communicator of all accelerators.
func (g *Graph) World() *Communicator {
	var parts []part
	for i := range g.classes {
		if c := &g.classes[i]; c.accelerators > 0 {
			members := make([]int, c.accelerators)
			for m := range members {
				members[m] = m
			}
			parts = append(parts, newPart(c, c.nodes, c.perRack, members))
		}
	}
	return newCommunicator(g, parts)
}

// Communicator returns the communicator of some accelerators. Their order does not matter: rings pass from
// node to node. In a folded graph they must be the same accelerators of every node of a class, or be on one
// node. The error names a port that does not fit.
func (g *Graph) Communicator(ranks []Port) (*Communicator, error) {
	ranks = slices.Clone(ranks)
	slices.SortFunc(ranks, func(a, b Port) int {
		if a.Node != b.Node {
			return a.Node - b.Node
		}
		return a.Accelerator - b.Accelerator
	})
	if len(ranks) == 0 {
		return nil, fmt.Errorf("topo: communicator without ranks; want at least one")
	}
	var parts []part
	for lo := 0; lo < len(ranks); {
		node := ranks[lo].Node
		if node < 0 || node >= g.nodes {
			return nil, fmt.Errorf("topo: rank on node %d; want 0 to %d", node, g.nodes-1)
		}
		c := g.class(node)
		var members []int
		for ; lo < len(ranks) && ranks[lo].Node == node; lo++ {
			m := ranks[lo].Accelerator
			if m < 0 || m >= c.accelerators {
				return nil, fmt.Errorf("topo: rank on accelerator %d of node %d, which has %d", m, node,
					c.accelerators)
			}
			if len(members) > 0 && members[len(members)-1] == m {
				return nil, fmt.Errorf("topo: two ranks on accelerator %d of node %d; want one", m, node)
			}
			members = append(members, m)
		}
		if n := len(parts); n > 0 && parts[n-1].class == c {
			if !slices.Equal(parts[n-1].members, members) {
				return nil, fmt.Errorf("topo: ranks on accelerators %v of node %d and %v of an equal node; "+
					"want the same, or a graph without fold", members, node, parts[n-1].members)
			}
			parts[n-1].nodes++
			continue
		}
		parts = append(parts, newPart(c, 1, 1, members))
	}
	if len(parts) > 1 || parts[0].nodes > 1 {
		for i := range parts {
			p := &parts[i]
			if p.nodes != p.class.nodes {
				return nil, fmt.Errorf("topo: ranks on %d of %d equal nodes of group %q; "+
					"want all or one of them, or a graph without fold", p.nodes, p.class.nodes, p.group.Name)
			}
			p.perRack = p.class.perRack
		}
	}
	return newCommunicator(g, parts), nil
}

func newPart(c *class, nodes, perRack int, members []int) part {
	p := part{class: c, nodes: nodes, perRack: perRack, members: members}
	if cards := c.group.Cards.Count; cards > 0 {
		p.weights = make([]float64, cards)
		for _, m := range members {
			p.weights[c.group.cardOf(m)] += 1 / float64(len(members))
		}
	}
	return p
}

func newCommunicator(g *Graph, parts []part) *Communicator {
	c := &Communicator{graph: g, parts: parts}
	for i := range parts {
		p := &parts[i]
		c.members += p.nodes * len(p.members)
		c.nodes += p.nodes
		c.most = max(c.most, len(p.members))
		if len(p.members) > 1 {
			c.insideLatency = max(c.insideLatency, p.group.Inside.Latency)
			c.switched = c.switched || p.group.Inside.Kind != InsideHost
		}
		c.spined = c.spined || g.racks[p.rack].switches > 0
	}
	var order []stay
	if order, c.racks = c.stays(); c.racks > 1 {
		c.cycle = c.cycleCrossing(order)
		c.trees = c.treeCrossing(order)
	}
	return c
}

// Members returns the number of accelerators.
func (c *Communicator) Members() int { return c.members }

// Nodes returns the number of nodes on which they are.
func (c *Communicator) Nodes() int { return c.nodes }

// stay is some nodes, one after the other in the order of the nodes, that are in one rack.
type stay struct {
	number int // of the rack, from 0
	part   *part
	nodes  int
}

// stays returns the racks of the nodes in the order of the nodes, and their number.
func (c *Communicator) stays() (order []stay, racks int) {
	numbers := map[int]int{} // of racks that stand for themselves alone
	for i := range c.parts {
		p := &c.parts[i]
		for range p.nodes / p.perRack {
			number, seen := numbers[p.rack]
			if !seen {
				number = racks
				racks++
				if c.graph.racks[p.rack].racks == 1 {
					numbers[p.rack] = number
				}
			}
			order = append(order, stay{number, p, p.perRack})
		}
	}
	return order, racks
}

// cycleCrossing counts a cycle through the nodes in their order.
func (c *Communicator) cycleCrossing(order []stay) crossing {
	var x crossing
	crossings := make([]float64, c.racks)
	for i := range order {
		a, b := &order[i], &order[(i+1)%len(order)]
		if a.number != b.number {
			crossings[a.number]++
			x.edges++
		}
		x.zone(a.part.group.zone, b.part.group.zone, 1)
	}
	for i := range order {
		x.rack(order[i].part, crossings[order[i].number])
	}
	return x
}

// treeCrossing counts both directions of the edges of the two trees of a tree all-reduce. Every edge carries
// half of the bytes in each direction.
func (c *Communicator) treeCrossing(order []stay) crossing {
	var stays []int32 // by node
	for i := range order {
		for range order[i].nodes {
			stays = append(stays, int32(i))
		}
	}
	crossings := make([]float64, c.racks)
	var x crossing
	for node := range c.nodes {
		for _, up := range treeParents(c.nodes, node) {
			if up < 0 {
				continue
			}
			a, b := &order[stays[node]], &order[stays[up]]
			if a.number == b.number {
				continue
			}
			crossings[a.number] += 0.5
			crossings[b.number] += 0.5
			x.zone(a.part.group.zone, b.part.group.zone, 0.5)
			x.zone(b.part.group.zone, a.part.group.zone, 0.5)
		}
	}
	for i := range order {
		x.rack(order[i].part, crossings[order[i].number])
	}
	return x
}

// treeParents returns the parents of a node in the two binary trees over n nodes, −1 for a root. An interior
// node of the first tree is a leaf of the second.
//
// The trees are those of NVIDIA/nccl, src/graph/trees.cc; see Sanders, Speck, Träff for the idea.
func treeParents(n, node int) [2]int {
	if n%2 == 0 { // the second tree is the mirror image of the first
		second := treeParent(n, n-1-node)
		if second >= 0 {
			second = n - 1 - second
		}
		return [2]int{treeParent(n, node), second}
	}
	second := treeParent(n, (node+n-1)%n) // the first, shifted by one
	if second >= 0 {
		second = (second + 1) % n
	}
	return [2]int{treeParent(n, node), second}
}

// treeParent returns the parent in the first tree: node 0 is its root, and odd nodes are its leaves.
func treeParent(n, node int) int {
	if node == 0 {
		return -1
	}
	bit := node & -node
	if up := node ^ bit | bit<<1; up < n {
		return up
	}
	return node ^ bit
}

// rack notes the crossings of one of a part's racks.
func (x *crossing) rack(p *part, amount float64) {
	for i := range x.racks {
		if r := &x.racks[i]; r.rack == p.rack {
			r.amount = max(r.amount, amount)
			return
		}
	}
	x.racks = append(x.racks, rackCrossing{p.rack, p.weights, amount})
}

// zone adds crossings from one zone to another.
func (x *crossing) zone(from, to int, amount float64) {
	if from == to {
		return
	}
	for i := range x.zones {
		if z := &x.zones[i]; z.from == from && z.to == to {
			z.amount += amount
			return
		}
	}
	x.zones = append(x.zones, zoneCrossing{from, to, amount})
}
