package topo

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// Plan is a collective as stages, one after the other. One rank alone has no stages.
type Plan struct {
	Name   string // algorithm and protocol
	Stages []Stage
}

// Stage is a latency, and then flows that start together. The stage ends with the last of them.
type Stage struct {
	Latency unit.Tick
	Flows   []fabric.Flow
}

// Pricing says how a library performs collectives. The zero Pricing takes the fastest algorithm, the
// latencies of the wires, and their whole rate.
type Pricing struct {
	Algorithm string     // empty: the fastest
	Protocols []Protocol // the fastest is taken; none: the latencies of the Spec
	Inside    Share      // of the wires between accelerators
	Across    Share      // of the network cards
	// Relayed is the share of what accelerators of a cube mesh without a link exchange that a third one
	// relays over its links. The rest goes through the host.
	Relayed float64
}

// The algorithms.
const (
	Ring         = "ring"
	Tree         = "tree"
	Hierarchical = "hierarchical"
	Pairwise     = "pairwise"
)

// Validate checks shares and protocols. The collectives check the algorithm: each has its own.
func (p *Pricing) Validate() error {
	for i := range p.Protocols {
		if err := p.Protocols[i].validate(); err != nil {
			return err
		}
	}
	if !(p.Relayed >= 0 && p.Relayed <= 1) {
		return fmt.Errorf("relayed = %v; want 0 to 1", p.Relayed)
	}
	if err := p.Inside.validate(); err != nil {
		return fmt.Errorf("inside: %w", err)
	}
	if err := p.Across.validate(); err != nil {
		return fmt.Errorf("across: %w", err)
	}
	return nil
}

// AllReduce plans the sum of a vector of some bytes that every member has, and receives.
func (c *Communicator) AllReduce(bytes unit.Bytes, p *Pricing) (Plan, error) {
	return c.fastest(bytes, p, []algorithm{
		{Ring, func(d *draft) []Stage { return d.ring(2) }},
		{Tree, (*draft).tree},
		{Hierarchical, func(d *draft) []Stage {
			return slices.Concat(d.insideRing(), d.acrossRing(2), d.insideRing())
		}},
	})
}

// ReduceScatter plans the sum of a vector of some bytes that every member has. Each receives an equal part of
// the sum.
func (c *Communicator) ReduceScatter(bytes unit.Bytes, p *Pricing) (Plan, error) {
	return c.fastest(bytes, p, []algorithm{
		{Ring, func(d *draft) []Stage { return d.ring(1) }},
		{Hierarchical, func(d *draft) []Stage { return slices.Concat(d.insideRing(), d.acrossRing(1)) }},
	})
}

// AllGather plans a vector of some bytes that every member receives. Each has an equal part.
func (c *Communicator) AllGather(bytes unit.Bytes, p *Pricing) (Plan, error) {
	return c.fastest(bytes, p, []algorithm{
		{Ring, func(d *draft) []Stage { return d.ring(1) }},
		{Hierarchical, func(d *draft) []Stage { return slices.Concat(d.acrossRing(1), d.insideRing()) }},
	})
}

// AllToAll plans the exchange of some bytes that every member has: an equal part for every member, itself
// included.
func (c *Communicator) AllToAll(bytes unit.Bytes, p *Pricing) (Plan, error) {
	return c.fastest(bytes, p, []algorithm{
		{Pairwise, (*draft).pairwise},
		{Hierarchical, (*draft).hierarchicalExchange},
	})
}

// algorithm is one way to perform a collective.
type algorithm struct {
	name string
	plan func(*draft) []Stage
}

// fastest returns the plan of the fastest algorithm and protocol on idle links, the first of equal ones.
func (c *Communicator) fastest(bytes unit.Bytes, p *Pricing, algorithms []algorithm) (Plan, error) {
	if bytes < 0 {
		return Plan{}, fmt.Errorf("topo: collective of %d bytes; want at least 0", bytes)
	}
	if p.Algorithm != "" {
		var names []string
		for _, a := range algorithms {
			names = append(names, a.name)
		}
		i := slices.Index(names, p.Algorithm)
		if i < 0 {
			return Plan{}, fmt.Errorf("topo: algorithm %s", job.Unknown(p.Algorithm, names))
		}
		algorithms = algorithms[i : i+1]
	}
	if c.members == 1 {
		return Plan{Name: "alone"}, nil
	}
	var plans []Plan
	for _, a := range algorithms {
		if len(p.Protocols) == 0 {
			plans = append(plans, Plan{a.name, a.plan(c.draftOfWires(bytes, p))})
		}
		for i := range p.Protocols {
			plans = append(plans, Plan{a.name + " " + p.Protocols[i].Name,
				a.plan(c.draftOf(bytes, p, &p.Protocols[i], a.name))})
		}
	}
	best := plans[0]
	if len(plans) > 1 {
		shortest := c.graph.Alone(&best)
		for i := range plans[1:] {
			if t := c.graph.Alone(&plans[i+1]); t < shortest {
				best, shortest = plans[i+1], t
			}
		}
	}
	return best, nil
}
