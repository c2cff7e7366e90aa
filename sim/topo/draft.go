package topo

import (
	"math/bits"

	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// draft is a plan in the making.
type draft struct {
	*Communicator
	bytes   unit.Bytes
	pricing *Pricing
	// The latencies: once; of a message inside a node, and between nodes; to post a message.
	base, intra, inter, post unit.Tick
	share                    float64
}

// draftOfWires returns a draft with the latencies of the wires.
func (c *Communicator) draftOfWires(bytes unit.Bytes, p *Pricing) *draft {
	return &draft{
		Communicator: c, bytes: bytes, pricing: p, intra: c.insideLatency,
		inter: c.graph.spec.Network.Latency, share: 1,
	}
}

// draftOf returns a draft with the latencies of a protocol.
func (c *Communicator) draftOf(bytes unit.Bytes, p *Pricing, protocol *Protocol, algorithm string) *draft {
	k := &protocol.Ring
	if algorithm == Tree {
		k = &protocol.Tree
	}
	d := &draft{
		Communicator: c, bytes: bytes, pricing: p, base: k.Base, intra: k.PCIe, inter: k.Network,
		post: protocol.Post, share: k.Share,
	}
	if c.switched {
		d.intra = k.NVLink
	}
	return d
}

// path returns an empty path for messages that are a part of the bytes.
func (d *draft) path(inside, across float64) *path {
	bytes := float64(d.bytes)
	return &path{
		g:          d.graph,
		relayed:    d.pricing.Relayed,
		used:       1 / d.share,
		usedInside: 1 / (d.share * d.pricing.Inside.At(bytes*inside, d.nodes)),
		usedCard:   1 / (d.share * d.pricing.Across.At(bytes*across, d.nodes)),
	}
}

// flow returns the flow over a path.
func (d *draft) flow(p *path) fabric.Flow { return fabric.Flow{Path: p.finish(), Bytes: d.bytes} }

// lockStep adds the traffic between nodes of a collective that moves in step: every node sends and receives
// an amount, and boundaries are crossed as x counts, each time by an amount.
func (d *draft) lockStep(p *path, amount, crossed float64, x *crossing) {
	if d.nodes == 1 {
		return
	}
	for i := range d.parts {
		q := &d.parts[i]
		for direction := out; direction <= in; direction++ {
			p.cards(q.class, q.weights, amount, direction)
			p.throughHost(q.class, q.members, amount, direction)
		}
	}
	for _, r := range x.racks {
		for direction := out; direction <= in; direction++ {
			p.uplinks(r.rack, r.weights, crossed*r.amount, direction)
		}
	}
	for _, z := range x.zones {
		p.betweenZones(z.from, z.to, crossed*z.amount)
	}
}

// lap returns the latency of boundaries that a message around the ring of nodes crosses, in addition to that
// of messages within a rack.
func (d *draft) lap() unit.Tick {
	latency := unit.Tick(0)
	if d.spined {
		latency = unit.Tick(d.cycle.edges) * d.graph.spec.Network.SpineLatency
	}
	for _, z := range d.cycle.zones {
		link, _ := d.graph.zoneLink(z.from, z.to)
		latency += unit.Tick(z.amount) * link.Latency
	}
	return latency
}

// ring returns the stage of a number of passes around a ring of all members: 1 for a reduce-scatter or an
// all-gather, 2 for both.
func (d *draft) ring(passes int) []Stage {
	n := float64(d.members)
	p := d.path(1/n, 1/n)
	amount := float64(passes) * (n - 1) / n
	for i := range d.parts {
		p.inside(d.parts[i].class, d.parts[i].members, amount)
	}
	d.lockStep(p, amount, amount, &d.cycle)
	inter := d.nodes - 1
	steps := unit.Tick(passes)
	latency := d.base + steps*(unit.Tick(d.members-1-inter)*d.intra+unit.Tick(inter)*d.inter+d.lap())
	return []Stage{{latency, []fabric.Flow{d.flow(p)}}}
}

// tree returns the stage of a tree all-reduce: chains inside the nodes, two trees over the nodes. A node of
// the two trees has at most four edges in all, and each edge carries half of the bytes both ways.
func (d *draft) tree() []Stage {
	p := d.path(0.5, 0.5)
	for i := range d.parts {
		q := &d.parts[i]
		p.inside(q.class, q.members, float64(min(len(q.members)-1, 2)))
	}
	d.lockStep(p, float64(min(d.nodes, 4))/2, 1, &d.trees)
	depth := unit.Tick(bits.Len(uint(d.nodes - 1)))
	latency := d.base + 2*(unit.Tick(d.most-1)*d.intra+depth*d.inter)
	if d.racks > 1 {
		latency += 2 * d.farthest(d.graph.spec.Network.SpineLatency)
	}
	return []Stage{{latency, []fabric.Flow{d.flow(p)}}}
}

// farthest returns the largest latency of a message in addition to that within a rack. Spine is that of the
// way through the spine, if there is one.
func (d *draft) farthest(spine unit.Tick) unit.Tick {
	latency := unit.Tick(0)
	for _, z := range d.cycle.zones {
		link, _ := d.graph.zoneLink(z.from, z.to)
		latency = max(latency, link.Latency)
	}
	if d.spined {
		latency += spine
	}
	return latency
}

// insideRing returns the stage of a reduce-scatter or an all-gather inside every node; none if no node has
// two members.
func (d *draft) insideRing() []Stage {
	if d.most == 1 {
		return nil
	}
	p := d.path(1/float64(d.most), 1)
	for i := range d.parts {
		q := &d.parts[i]
		k := float64(len(q.members))
		p.inside(q.class, q.members, (k-1)/k)
	}
	return []Stage{{d.base + unit.Tick(d.most-1)*d.intra, []fabric.Flow{d.flow(p)}}}
}

// acrossRing returns the stage of a number of passes around rings of nodes, one for each part of the bytes
// that the members of a node have; none on one node.
func (d *draft) acrossRing(passes int) []Stage {
	if d.nodes == 1 {
		return nil
	}
	n := float64(d.nodes)
	p := d.path(1, 1/(n*float64(d.most)))
	amount := float64(passes) * (n - 1) / n
	d.lockStep(p, amount, amount, &d.cycle)
	latency := d.base + unit.Tick(passes)*(unit.Tick(d.nodes-1)*d.inter+d.lap())
	return []Stage{{latency, []fabric.Flow{d.flow(p)}}}
}

// pairwise returns the stage of an all-to-all in which every member sends to every other.
func (d *draft) pairwise() []Stage {
	n := float64(d.members)
	s := Stage{Latency: d.base}
	if d.most > 1 {
		s.Latency += d.intra
	}
	for i := range d.parts {
		q := &d.parts[i]
		p := d.path(1/n, 1/n)
		p.toAll(q.class, q.members, float64(len(q.members)-1)/n)
		s.add(d.flow(p))
	}
	if d.nodes > 1 {
		s.Latency = d.base + d.exchange(&s, 1/n, false) + unit.Tick(d.members-d.most)*d.post
	}
	return []Stage{s}
}

// hierarchicalExchange returns the stages of an all-to-all in which the members of a node first give each
// other what they are to send, and then send to the nodes on their rail.
func (d *draft) hierarchicalExchange() []Stage {
	var stages []Stage
	if d.most > 1 {
		s := Stage{Latency: d.base + d.intra}
		for i := range d.parts {
			q := &d.parts[i]
			p := d.path(1/float64(d.most), 1)
			k := float64(len(q.members))
			p.toAll(q.class, q.members, (k-1)/k)
			s.add(d.flow(p))
		}
		stages = append(stages, s)
	}
	if d.nodes > 1 {
		s := Stage{}
		s.Latency = d.base + d.exchange(&s, 1/float64(d.nodes), true) + unit.Tick(d.nodes-1)*d.post
		stages = append(stages, s)
	}
	return stages
}

// add adds a flow that has links.
func (s *Stage) add(f fabric.Flow) {
	if len(f.Path) > 0 {
		s.Flows = append(s.Flows, f)
	}
}

// exchange adds the flows between nodes of an all-to-all to a stage and returns their latency. A message is a
// part of the bytes. If it is aligned, messages keep their rail.
func (d *draft) exchange(s *Stage, message float64, aligned bool) unit.Tick {
	latency := unit.Tick(0)
	for i := range d.parts {
		for j := range d.parts {
			a, b := &d.parts[i], &d.parts[j]
			for x := sameRack; x <= otherZone; x++ {
				targets := d.peers(a, b, x)
				if targets == 0 {
					continue
				}
				p := d.path(1, message)
				// The same number of transfers, seen from either end.
				sources := targets * a.nodes / b.nodes
				p.betweenParts(a, b, x, targets, sources, float64(d.members), aligned)
				s.add(d.flow(p))
				latency = max(latency, d.inter+d.graph.farther(x, a.class, b.class, x >= sameZone))
			}
		}
	}
	return latency
}

// peers returns the number of nodes of b at a distance from a node of a, itself not counted.
func (d *draft) peers(a, b *part, x distance) int {
	same := 0 // nodes of b in the rack of a, counting the node of a itself
	if a.rack == b.rack {
		same = b.perRack
	}
	zone := a.group.zone == b.group.zone
	switch {
	case x == otherZone && !zone:
		return b.nodes
	case x == sameZone && zone:
		return b.nodes - same
	case x == sameRack && a.class == b.class:
		return same - 1
	case x == sameRack && zone:
		return same
	}
	return 0
}

// betweenParts adds the messages from the nodes of one part to those of another at a distance: from every
// member of a to every member of targets nodes, and to every member of b from every member of sources nodes,
// an n-th of the bytes each.
func (p *path) betweenParts(a, b *part, x distance, targets, sources int, n float64, aligned bool) {
	g := p.g
	pairs := float64(len(a.members)*len(b.members)) / n // of a pair of nodes
	sent, received := pairs*float64(targets), pairs*float64(sources)
	from, to := a.weights, b.weights
	if g.spec.Network.Kind == NetworkRails && len(from) == len(to) && x != otherZone &&
		a.group.throughNVLink {
		if !aligned {
			p.toRails(a, to, sent)
		}
		from, aligned = to, true
	}
	p.cards(a.class, from, sent, out)
	p.cards(b.class, to, received, in)
	p.throughHost(a.class, a.members, sent, out)
	p.throughHost(b.class, b.members, received, in)
	leave, enter := from, to
	switch x {
	case sameRack:
		if g.spec.Network.Kind != NetworkRails {
			return
		}
		leave, enter = railChange(from, to, aligned)
	case otherZone:
		p.betweenZones(a.group.zone, b.group.zone, sent*float64(a.nodes))
	}
	p.uplinks(a.rack, leave, sent*float64(a.perRack), out)
	p.uplinks(b.rack, enter, received*float64(b.perRack), in)
}

// toRails adds what the members of a node hand to each other before they send an amount in all, so that it
// leaves from the cards of the receivers' rails.
func (p *path) toRails(a *part, to []float64, amount float64) {
	each := amount / float64(len(a.members))
	for _, m := range a.members {
		for rail, w := range to {
			if proxy := a.proxy(m, rail); proxy != m {
				p.pair(a.class, m, proxy, each*w)
			}
		}
	}
}
