package graph

import (
	"fmt"
	"math"
	"strings"

	"tandem/algo/unit"
	"tandem/sim/system"
	"tandem/sim/topo"
)

// The resources that collectives need.
const (
	Inside         = "wire inside servers"
	InsideLatency  = "wire inside servers latency"
	Network        = "network"
	NetworkLatency = "network latency"
	Launches       = "collective launches"
	HostLink       = "host-accelerator copies"
)

// network prices the collectives among all ranks, and among those of a server.
type network struct {
	graph     *topo.Graph
	world     *topo.Communicator
	server    *topo.Communicator // of the first server
	reduce    topo.Pricing
	exchange  topo.Pricing
	launch    unit.Tick
	ranks     int
	perServer int
}

// newNetwork compiles the topology for a number of accelerators.
func newNetwork(c *Cluster, p *system.Profile, ranks int) (*network, error) {
	spec := c.Topology
	if len(spec.Groups) != 1 {
		return nil, fmt.Errorf("topology of %d groups; want one group of GPU servers", len(spec.Groups))
	}
	spec.Groups = []topo.Group{spec.Groups[0]}
	group := &spec.Groups[0]
	group.Accelerators, group.Nodes, spec.Fold = ranks, 0, true
	graph, err := topo.New(spec)
	if err != nil {
		return nil, err
	}
	n := &network{graph: graph, world: graph.World(), launch: p.Collectives.LaunchTime.Mid, ranks: ranks,
		perServer: min(ranks, group.AcceleratorsPerNode)}
	n.server = n.world
	if nodes := n.world.Nodes(); nodes > 1 {
		var ports []topo.Port
		for i := range n.perServer {
			ports = append(ports, graph.Accelerator(i))
		}
		if n.server, err = graph.Communicator(ports); err != nil {
			return nil, err
		}
	}
	inside, across := &p.Collectives.Inside, &p.Collectives.Network
	list := protocols(&spec)
	n.reduce = topo.Pricing{Protocols: list, Inside: inside.Wire(inside.AllReduce.Mid),
		Across: across.Wire(across.AllReduce.Mid)}
	n.exchange = topo.Pricing{Protocols: list, Inside: inside.Wire(inside.AllToAll.Mid),
		Across: across.Wire(across.AllToAll.Mid), Relayed: min(1, p.Pipeline.Relayed.Mid)}
	return n, nil
}

// protocols returns NCCL's protocols. Latencies of hops are in proportion to those of the wires, which are
// those of the protocol Simple. What a collective takes once is the system's launch time.
func protocols(spec *topo.Spec) []topo.Protocol {
	list := topo.NCCL()
	simple := list[len(list)-1].Ring
	inside := float64(spec.Groups[0].Inside.Latency) / float64(simple.NVLink)
	across := float64(spec.Network.Latency) / float64(simple.Network)
	scaled := func(latency unit.Tick,
		by float64) unit.Tick {
		return unit.Tick(math.Round(float64(latency) * by))
	}
	for i := range list {
		for _, c := range []*topo.Constants{&list[i].Ring, &list[i].Tree} {
			c.Base = 0
			c.NVLink, c.PCIe = scaled(c.NVLink, inside), scaled(c.PCIe, inside)
			c.Network = scaled(c.Network, across)
		}
	}
	return list
}

// cost is the time of a node and what it is due to.
type cost struct {
	time  unit.Tick
	needs []Need
}

// allReduce prices the sum of a vector of some bytes.
func (n *network) allReduce(bytes float64) (cost, error) {
	return n.price(n.world, (*topo.Communicator).AllReduce, bytes, &n.reduce)
}

// allToAll prices an exchange in which every rank sends some bytes, its own part included.
func (n *network) allToAll(bytes float64) (cost, error) {
	return n.price(n.world, (*topo.Communicator).AllToAll, bytes, &n.exchange)
}

// reduceScatter and allGather price vectors of some bytes, among all ranks or those of a server.
func (n *network) reduceScatter(c *topo.Communicator, bytes float64) (cost, error) {
	return n.price(c, (*topo.Communicator).ReduceScatter, bytes, &n.reduce)
}

func (n *network) allGather(c *topo.Communicator, bytes float64) (cost, error) {
	return n.price(c, (*topo.Communicator).AllGather, bytes, &n.reduce)
}

// operation is a collective of topo.
type operation func(c *topo.Communicator, bytes unit.Bytes, p *topo.Pricing) (topo.Plan, error)

func (n *network) price(c *topo.Communicator, plan operation, bytes float64, p *topo.Pricing) (cost, error) {
	if bytes <= 0 || c.Members() == 1 {
		return cost{}, nil
	}
	x, err := plan(c, unit.Bytes(math.Ceil(bytes)), p)
	if err != nil {
		return cost{}, err
	}
	total := n.graph.Alone(&x) + n.launch
	result := cost{time: total}
	if total == 0 {
		return result, nil
	}
	add := func(resource string, time unit.Tick) {
		result.needs = append(result.needs, Need{resource, float64(time) / float64(total)})
	}
	add(Launches, n.launch)
	for i := range x.Stages {
		s := &x.Stages[i]
		binding, latency := n.resources(s)
		add(latency, s.Latency)
		moving := topo.Plan{Stages: []topo.Stage{{Flows: s.Flows}}}
		add(binding, n.graph.Alone(&moving))
	}
	return result, nil
}

// resources returns what binds the flows of a stage, and what its latency is due to: the network if any flow
// leaves its server.
func (n *network) resources(s *topo.Stage) (binding, latency string) {
	links := n.graph.Links()
	load := map[int]float64{}
	most := 0.0
	binding, latency = Inside, InsideLatency
	for _, f := range s.Flows {
		for _, hop := range f.Path {
			link := int(hop.Link)
			resource := Network
			switch name := links[link].Name; {
			case strings.Contains(name, "host link"):
				resource = HostLink
			case strings.Contains(name, "accelerator"):
				resource = Inside
			default:
				latency = NetworkLatency
			}
			load[link] += hop.Multiplicity * float64(f.Bytes) / float64(links[link].Capacity)
			if load[link] > most {
				most, binding = load[link], resource
			}
		}
	}
	return binding, latency
}
