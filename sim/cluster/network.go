package cluster

import (
	"fmt"
	"slices"

	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/fabric"
	"tandem/sim/topo"
)

// connect compiles the graph of the nodes.
func (t *topology) connect(p *cost.Prices) (err error) {
	t.spec.Network, t.ways = p.Network(t.spec.Groups), make([][]*way, len(t.hosts))
	if t.graph, err = topo.New(t.spec); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if k := t.spec.Network.NodesPerRack; k > 0 {
		for i := range t.hosts {
			t.hosts[i].nodes = min(t.hosts[i].nodes, k)
		}
	}
	t.uplinks, t.zoneLinks = t.graph.Uplinks(), t.graph.ZoneLinks()
	t.reduce, err = newReducePlan(t.graph)
	return err
}

// way is how messages get from one host to another.
type way struct {
	crossings []crossing
	farther   unit.Tick // the latency in addition to the network's
}

// crossing is a link on the way.
type crossing struct {
	fabric.Hop
	leaving bool    // the source, not entering the target
	between bool    // zones: all copies of a message cross it
	nodes   float64 // that the host stands for, of those that share the link
}

// pathOf returns the path of a message that is sent on a way to, or by, many instances in all, and stands for
// a number of messages for ranks of a class. It is valid until the next call.
func (t *topology) pathOf(on *way, source, target *place, many int, class float64) []fabric.Hop {
	sent, received := source.copies(many)*t.wires(source, class), target.copies(many)*t.wires(target, class)
	t.path = t.path[:0]
	for i := range on.crossings {
		c := &on.crossings[i]
		h := c.Hop
		switch {
		case c.between:
			h.Multiplicity *= float64(many) * class
		case c.leaving:
			h.Multiplicity *= sent * c.nodes
		default:
			h.Multiplicity *= received * c.nodes
		}
		t.path = append(t.path, h)
	}
	return t.path
}

// wires returns how often the cards of a place's host carry a message that stands for those of a class of
// ranks.
func (t *topology) wires(p *place, class float64) float64 {
	if p.own {
		return 1
	}
	return class / t.hosts[p.host].pool
}

// way returns the way from the host of one role to that of another.
func (t *topology) way(source, target *place) *way {
	ways := &t.ways[source.host]
	if missing := int(target.host) + 1 - len(*ways); missing > 0 {
		*ways = append(*ways, make([]*way, missing)...)
	}
	known := &(*ways)[target.host]
	if *known == nil {
		*known = t.newWay(&t.hosts[source.host], &t.hosts[target.host])
	}
	return *known
}

func (t *topology) newWay(source, target *host) *way {
	r, err := t.graph.Route(topo.Port{Node: source.node, Accelerator: topo.HostMemory},
		topo.Port{Node: target.node, Accelerator: topo.HostMemory})
	if err != nil {
		panic(err) // every host is on a node of the graph
	}
	w := &way{farther: r.Latency - t.spec.Network.Latency}
	for _, h := range r.Hops {
		c := crossing{Hop: h, leaving: h.Link%2 == 0, between: slices.Contains(t.zoneLinks, h.Link&^1),
			nodes: 1}
		if slices.Contains(t.uplinks, h.Link&^1) {
			c.nodes = float64(source.nodes)
			if !c.leaving {
				c.nodes = float64(target.nodes)
			}
		}
		w.crossings = append(w.crossings, c)
	}
	return w
}

// reducePlan is the hierarchical all-reduce of all ranks.
type reducePlan struct {
	inside []topo.Stage // before and after the exchange between servers
	// across is the path between servers; empty for one server. Latency is that of all its steps.
	across  []fabric.Hop
	latency unit.Tick
}

func newReducePlan(g *topo.Graph) (reducePlan, error) {
	world := g.World()
	plan, err := world.AllReduce(1, &topo.Pricing{Algorithm: topo.Hierarchical})
	if err != nil {
		return reducePlan{}, fmt.Errorf("cluster: %w", err)
	}
	r := reducePlan{inside: plan.Stages}
	if world.Nodes() > 1 {
		middle := len(plan.Stages) / 2
		across := plan.Stages[middle]
		r.inside = slices.Delete(plan.Stages, middle, middle+1)
		r.across, r.latency = across.Flows[0].Path, across.Latency
	}
	return r, nil
}

// reduceOverAll gives the all-reduce the latency and the traffic on each card that it has over all ranks of a
// job whose ranks are folded.
func (t *topology) reduceOverAll(p *cost.Prices, f *folding) error {
	spec := t.spec
	spec.Fold = true
	spec.Groups, _ = p.Servers("GPU server", int(f.config.Ranks))
	spec.Network = p.Network(spec.Groups)
	g, err := topo.New(spec)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	all, err := newReducePlan(g)
	if err != nil {
		return err
	}
	t.reduce.latency = all.latency
	more := all.across[0].Multiplicity / t.reduce.across[0].Multiplicity
	t.reduce.across = slices.Clone(t.reduce.across)
	for i := range t.reduce.across {
		t.reduce.across[i].Multiplicity *= more
	}
	return nil
}

// reduceInside returns the time of the reduce-scatter and the all-gather inside the servers.
func (t *topology) reduceInside(bytes unit.Bytes) unit.Tick {
	time := unit.Tick(0)
	for _, s := range t.reduce.inside {
		time += t.alone(s.Latency, s.Flows[0].Path, bytes)
	}
	return time
}

// reduceLatency returns the latency of all steps between servers.
func (t *topology) reduceLatency() unit.Tick { return t.reduce.latency }

// reduceAcross returns the time of the exchange between servers when nothing else uses their cards.
func (t *topology) reduceAcross(bytes unit.Bytes) unit.Tick {
	if len(t.reduce.across) == 0 {
		return 0
	}
	return t.alone(t.reduce.latency, t.reduce.across, bytes)
}

// alone returns the time of a flow on idle links after a latency.
func (t *topology) alone(latency unit.Tick, path []fabric.Hop, bytes unit.Bytes) unit.Tick {
	return t.graph.Alone(&topo.Plan{Stages: []topo.Stage{{
		Latency: latency, Flows: []fabric.Flow{{Path: path, Bytes: bytes}},
	}}})
}
