package topo

import (
	"slices"

	"tandem/sim/fabric"
)

// distance says how far two nodes are apart.
type distance uint8

const (
	sameNode distance = iota
	sameRack
	sameZone // but another rack
	otherZone
)

// path collects the hops of a flow.
type path struct {
	g    *Graph
	hops []fabric.Hop
	// used is the capacity of a wire inside nodes, of a card, and of all other links that a byte takes.
	usedInside, usedCard, used float64
	relayed                    float64 // as of Pricing
}

func (p *path) add(link fabric.LinkID, amount, used float64) {
	if amount > 0 {
		p.hops = append(p.hops, fabric.Hop{Link: link, Multiplicity: amount * used})
	}
}

// finish returns the hops with each link once.
func (p *path) finish() []fabric.Hop {
	slices.SortStableFunc(p.hops, func(a, b fabric.Hop) int { return int(a.Link) - int(b.Link) })
	n := 0
	for _, h := range p.hops {
		if n > 0 && p.hops[n-1].Link == h.Link {
			p.hops[n-1].Multiplicity += h.Multiplicity
			continue
		}
		p.hops[n] = h
		n++
	}
	return p.hops[:n]
}

// toAll adds an exchange between accelerators of a node: each of the members sends an amount to the others in
// equal parts, and receives as much.
func (p *path) toAll(c *class, members []int, amount float64) {
	if c.group.Inside.Kind != InsideCubeMesh {
		p.inside(c, members, amount)
		return
	}
	for _, from := range members {
		for _, to := range members {
			if to != from {
				p.pair(c, from, to, amount/float64(len(members)-1))
			}
		}
	}
}

// inside adds traffic between accelerators of a node that can choose its ways, as rings and trees can: each
// of the members sends an amount, and receives as much.
func (p *path) inside(c *class, members []int, amount float64) {
	if len(members) < 2 {
		return
	}
	for _, m := range members {
		switch c.group.Inside.Kind {
		case InsideSwitch, InsideCubeMesh:
			p.add(c.inside+fabric.LinkID(2*m)+out, amount, p.usedInside)
			p.add(c.inside+fabric.LinkID(2*m)+in, amount, p.usedInside)
		case InsideMesh:
			for _, to := range members {
				if to != m {
					p.add(c.meshLink(m, to), amount/float64(len(members)-1), p.usedInside)
				}
			}
		case InsideHost:
			p.add(c.hostLink(m, out), amount, p.usedInside)
			p.add(c.hostLink(m, in), amount, p.usedInside)
		}
	}
}

// pair adds transfers from one accelerator of a node to another.
func (p *path) pair(c *class, from, to int, amount float64) {
	kind := c.group.Inside.Kind
	if kind == InsideCubeMesh && !linked(from, to) {
		relay := from%4 + 4*(to/4) // opposite of the sender, in the half of the receiver
		for _, hop := range [][2]int{{from, relay}, {relay, to}} {
			p.pair(c, hop[0], hop[1], p.relayed*amount)
		}
		amount -= p.relayed * amount
		kind = InsideHost
	}
	switch kind {
	case InsideSwitch, InsideCubeMesh:
		p.add(c.inside+fabric.LinkID(2*from)+out, amount, p.usedInside)
		p.add(c.inside+fabric.LinkID(2*to)+in, amount, p.usedInside)
	case InsideMesh:
		p.add(c.meshLink(from, to), amount, p.usedInside)
	case InsideHost:
		p.add(c.hostLink(from, out), amount, p.usedInside)
		p.add(c.hostLink(to, in), amount, p.usedInside)
	}
}

// linked reports whether two accelerators of a cube mesh have a link: those of a half, and opposite ones.
func linked(a, b int) bool { return a/4 == b/4 || a%4 == b%4 }

// cards adds the traffic of a node's cards in one direction: an amount, split by weights.
func (p *path) cards(c *class, weights []float64, amount float64, direction fabric.LinkID) {
	for card, w := range weights {
		p.add(c.cards+fabric.LinkID(2*card)+direction, amount*w, p.usedCard)
	}
}

// throughHost adds the part of the traffic of cards that crosses host links: an amount, split evenly among
// the members.
func (p *path) throughHost(c *class, members []int, amount float64, direction fabric.LinkID) {
	if !c.group.Cards.ThroughHost {
		return
	}
	for _, m := range members {
		p.add(c.hostLink(m, direction), amount/float64(len(members)), p.used)
	}
}

// uplinks adds the traffic of a rack's uplinks in one direction: an amount, split by the rails' weights and
// evenly over the spines.
func (p *path) uplinks(rack int, weights []float64, amount float64, direction fabric.LinkID) {
	r := &p.g.racks[rack]
	if r.switches == 0 {
		return
	}
	spines := p.g.spines()
	one := func(rail int, amount float64) {
		for s := range spines {
			p.add(r.uplinks+fabric.LinkID(2*(rail*spines+s))+direction, amount/float64(spines), p.used)
		}
	}
	if p.g.spec.Network.Kind != NetworkRails {
		one(0, amount)
		return
	}
	for rail, w := range weights {
		one(rail, amount*w)
	}
}

// betweenZones adds traffic from one zone to another.
func (p *path) betweenZones(from, to int, amount float64) {
	if z, direction := p.g.zoneLink(from, to); z != nil {
		p.add(z.link+direction, amount, p.used)
	}
}

// zoneLink returns the link between two zones and its direction, or nil for one zone.
func (g *Graph) zoneLink(from, to int) (*zoneLink, fabric.LinkID) {
	for i := range g.zoneLinks {
		z := &g.zoneLinks[i]
		switch z.Between {
		case [2]string{g.zones[from], g.zones[to]}:
			return z, out
		case [2]string{g.zones[to], g.zones[from]}:
			return z, in
		}
	}
	return nil, 0
}

// railChange returns the parts of the traffic of a rack that leave a rail and that enter one, by rail: the
// traffic of the sending cards is split by from, that of the receiving ones by to. If it is aligned, as much
// as possible keeps its rail; otherwise all senders send to all receivers alike.
func railChange(from, to []float64, aligned bool) (leave, enter []float64) {
	leave, enter = slices.Clone(from), slices.Clone(to)
	for rail := range min(len(from), len(to)) {
		keep := from[rail] * to[rail]
		if aligned {
			keep = min(from[rail], to[rail])
		}
		leave[rail] -= keep
		enter[rail] -= keep
	}
	return leave, enter
}
