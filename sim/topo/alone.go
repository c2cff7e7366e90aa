package topo

import (
	"math"

	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// Alone returns the time of a plan when nothing else uses the links.
func (g *Graph) Alone(p *Plan) unit.Tick {
	now := unit.Tick(0)
	for i := range p.Stages {
		now += p.Stages[i].Latency + g.alone(p.Stages[i].Flows)
	}
	return now
}

// alone returns the time of some flows that start together on idle links.
func (g *Graph) alone(flows []fabric.Flow) unit.Tick {
	if len(flows) == 1 {
		return g.single(&flows[0])
	}
	// A fabric of the links in use: a graph can have many more.
	places := map[fabric.LinkID]fabric.LinkID{}
	var links []fabric.Link
	var hops []fabric.Hop
	for _, f := range flows {
		for _, h := range f.Path {
			place, ok := places[h.Link]
			if !ok {
				place = fabric.LinkID(len(links))
				places[h.Link] = place
				links = append(links, g.links[h.Link])
			}
			hops = append(hops, fabric.Hop{Link: place, Multiplicity: h.Multiplicity})
		}
	}
	net := fabric.New(links)
	for _, f := range flows {
		f.Path, hops = hops[:len(f.Path)], hops[len(f.Path):]
		net.Start(0, f)
	}
	now := unit.Tick(0)
	var done []fabric.Completion
	for net.Settle(0); ; net.Settle(now) {
		at, ok := net.NextFinish()
		if !ok {
			return now
		}
		now = at
		done = net.Finished(now, done[:0])
	}
}

// single returns the time of one flow on idle links, rounded up as in a fabric: it has the rate of its
// tightest link.
func (g *Graph) single(f *fabric.Flow) unit.Tick {
	rate := math.Inf(1)
	for _, h := range f.Path {
		rate = min(rate, float64(g.links[h.Link].Capacity)/h.Multiplicity)
	}
	return unit.Tick(math.Ceil(float64(f.Bytes)*float64(unit.Second)/rate - 1e-3))
}
