package topo

import (
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// Route is the way from one port to another.
type Route struct {
	Hops    []fabric.Hop // a flow's path; empty inside one port
	Latency unit.Tick    // of one message
}

// Route returns the way from one port to another. In a folded graph the hops are links of nodes that stand
// for those of the ports, and a link that stands for links of both nodes has the sum of their multiplicities.
// The error says which port does not exist.
func (g *Graph) Route(from, to Port) (Route, error) {
	for _, p := range []Port{from, to} {
		if p.Node < 0 || p.Node >= g.nodes {
			return Route{}, fmt.Errorf("topo: port on node %d; want 0 to %d", p.Node, g.nodes-1)
		}
		if c := g.class(p.Node); p.Accelerator < HostMemory || p.Accelerator >= c.accelerators {
			return Route{}, fmt.Errorf("topo: port on accelerator %d of node %d, which has %d; "+
				"want one of them, or HostMemory", p.Accelerator, p.Node, c.accelerators)
		}
	}
	if from == to {
		return Route{}, nil
	}
	p := &path{g: g, usedInside: 1, usedCard: 1, used: 1}
	a, b := g.class(from.Node), g.class(to.Node)
	var latency unit.Tick
	if from.Node == to.Node {
		latency = p.withinNode(a, from.Accelerator, to.Accelerator)
	} else {
		latency = p.betweenNodes(a, b, from, to)
	}
	return Route{p.finish(), latency}, nil
}

// withinNode adds the way between two ports of a node and returns its latency.
func (p *path) withinNode(c *class, from, to int) unit.Tick {
	s := c.group
	switch {
	case from == HostMemory:
		p.add(c.hostLink(to, in), 1, p.used)
		return s.HostLink.Latency
	case to == HostMemory:
		p.add(c.hostLink(from, out), 1, p.used)
		return s.HostLink.Latency
	}
	p.pair(c, from, to, 1)
	return s.Inside.Latency
}

// betweenNodes adds the way between ports of two nodes and returns its latency.
func (p *path) betweenNodes(a, b *class, from, to Port) unit.Tick {
	g := p.g
	source, target := a.weights(from.Accelerator), b.weights(to.Accelerator)
	latency := g.spec.Network.Latency
	d := g.distance(a, b, from.Node, to.Node)
	rails := g.spec.Network.Kind == NetworkRails
	if rails && len(source) == len(target) && d != otherZone {
		switch {
		case from.Accelerator == HostMemory && a.onRails(HostMemory):
			source = target // the host has all cards at hand
		case to.Accelerator == HostMemory && b.onRails(HostMemory):
			target = source
		case a.group.throughNVLink && from.Accelerator != HostMemory && to.Accelerator != HostMemory:
			card := b.group.cardOf(to.Accelerator)
			if proxy := a.proxy(from.Accelerator, card); proxy != from.Accelerator {
				p.pair(a, from.Accelerator, proxy, 1)
				latency += a.group.Inside.Latency
			}
			source = target
		}
	}
	latency += p.end(a, from.Accelerator, source, out) + p.end(b, to.Accelerator, target, in)
	leave, enter := source, target
	if rails {
		if !a.onRails(from.Accelerator) {
			leave = nil
		}
		if !b.onRails(to.Accelerator) {
			enter = nil
		}
		if d == sameRack {
			leave, enter = railChange(leave, enter, true)
		}
	}
	if d == sameRack && !rails {
		return latency
	}
	if d == otherZone {
		p.betweenZones(a.group.zone, b.group.zone, 1)
	}
	p.uplinks(a.rack, leave, 1, out)
	p.uplinks(b.rack, enter, 1, in)
	return latency + g.farther(d, a, b, some(leave) || some(enter))
}

// end adds the cards at one end of a way, and what is between them and the port, and returns the latency of
// that.
func (p *path) end(c *class, accelerator int, weights []float64, direction fabric.LinkID) unit.Tick {
	if accelerator == HostMemory {
		for card, w := range weights {
			p.add(c.front+fabric.LinkID(2*card)+direction, w, p.usedCard)
		}
		return 0
	}
	p.cards(c, weights, 1, direction)
	if !c.group.Cards.ThroughHost {
		return 0
	}
	p.throughHost(c, []int{accelerator}, 1, direction)
	return c.group.HostLink.Latency
}

// onRails reports whether the cards of a port are on rails, if the network has some.
func (c *class) onRails(accelerator int) bool {
	return c.group.Accelerators > 0 && (accelerator != HostMemory || c.group.Front.Count == 0)
}

// farther returns the latency of a message in addition to that within a rack; spine says that it goes through
// the spine, if there is one.
func (g *Graph) farther(d distance, a, b *class, spine bool) unit.Tick {
	latency := unit.Tick(0)
	if spine && g.racks[a.rack].switches+g.racks[b.rack].switches > 0 {
		latency = g.spec.Network.SpineLatency
	}
	if d == otherZone {
		z, _ := g.zoneLink(a.group.zone, b.group.zone)
		latency += z.Latency
	}
	return latency
}

// distance returns how far two nodes of two classes are apart.
func (g *Graph) distance(a, b *class, from, to int) distance {
	switch {
	case from == to:
		return sameNode
	case a.group.zone != b.group.zone:
		return otherZone
	case a.rack != b.rack || g.racks[a.rack].racks > 1 && a.rackOf(from) != b.rackOf(to):
		return sameZone
	}
	return sameRack
}

// weights returns the parts of the traffic of a port that each card of its node carries.
func (c *class) weights(accelerator int) []float64 {
	count := c.group.Cards.Count
	if accelerator == HostMemory && c.group.Front.Count > 0 {
		count = c.group.Front.Count
	}
	w := make([]float64, count)
	if accelerator != HostMemory {
		w[c.group.cardOf(accelerator)] = 1
		return w
	}
	for i := range w {
		w[i] = 1 / float64(len(w))
	}
	return w
}

// proxy returns the accelerator through which another one uses a card: itself if the card is its own,
// otherwise the accelerator at the same place in the block of the card.
func (c *class) proxy(accelerator, card int) int {
	block := c.group.AcceleratorsPerNode / c.group.Cards.Count
	return card*block + accelerator%block
}

// some reports whether a weight is more than 0.
func some(weights []float64) bool {
	for _, w := range weights {
		if w > 0 {
			return true
		}
	}
	return false
}
