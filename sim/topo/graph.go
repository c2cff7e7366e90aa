package topo

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// Graph is a compiled Spec. It does not change, so goroutines can share it.
type Graph struct {
	spec         Spec
	groups       []group
	nodes        int
	accelerators int
	classes      []class
	racks        []rack
	zones        []string
	zoneLinks    []zoneLink
	links        []fabric.Link
}

// group is a Group with its place among all nodes and accelerators.
type group struct {
	*Group
	firstNode, firstAccelerator int
	nodes, zone                 int
	throughNVLink               bool // to other rails
}

// class is a run of equal nodes, with the links of one of them. Without Fold every node is its own class.
type class struct {
	group        *group
	first, nodes int
	accelerators int           // of a node, in use
	rack         int           // the racks that the nodes are in
	perRack      int           // nodes of the class in each of these racks
	own          fabric.LinkID // the first
	inside       fabric.LinkID
	hostLinks    fabric.LinkID
	cards, front fabric.LinkID
}

// rack is a run of equal racks, with the uplinks of one of them. Without Fold every rack is its own run.
type rack struct {
	zone, racks int
	switches    int // with uplinks: one, or one a rail; 0 without a spine
	uplinks     fabric.LinkID
}

type zoneLink struct {
	ZoneLink
	link fabric.LinkID // of the direction from Between[0]
}

// Links come in pairs: the one with the even number carries what leaves an accelerator, node or rack, the
// next one what enters.
const (
	out fabric.LinkID = 0
	in  fabric.LinkID = 1
)

// New compiles a description. The error names the setting that is wrong.
func New(spec Spec) (*Graph, error) {
	if err := spec.validate(); err != nil {
		return nil, fmt.Errorf("topo: %w", err)
	}
	spec.Groups = slices.Clone(spec.Groups)
	spec.Network.Zones = slices.Clone(spec.Network.Zones)
	g := &Graph{spec: spec, groups: make([]group, len(spec.Groups))}
	for i := range spec.Groups {
		s := &g.spec.Groups[i]
		if !slices.Contains(g.zones, s.Zone) {
			g.zones = append(g.zones, s.Zone)
		}
		g.groups[i] = group{
			Group: s, firstNode: g.nodes, firstAccelerator: g.accelerators, nodes: s.NodeCount(),
			zone: slices.Index(g.zones, s.Zone), throughNVLink: g.spec.throughNVLink(s),
		}
		g.nodes += s.NodeCount()
		g.accelerators += s.Accelerators
	}
	if spec.Network.NodesPerRack == 0 {
		for zone := range g.zones {
			g.addZoneRack(zone)
		}
	}
	for i := range g.groups {
		g.addGroup(&g.groups[i])
	}
	for _, z := range spec.Network.Zones {
		g.zoneLinks = append(g.zoneLinks, zoneLink{z, g.addLinks(1, "link between zones", z.Rate)})
	}
	return g, nil
}

// addLinks adds pairs of links and returns the first.
func (g *Graph) addLinks(pairs int, name string, rate unit.BytesPerSec) fabric.LinkID {
	first := fabric.LinkID(len(g.links))
	outName, inName := name+", out", name+", in"
	for range pairs {
		g.links = append(g.links, fabric.Link{Name: outName, Capacity: rate},
			fabric.Link{Name: inName, Capacity: rate})
	}
	return first
}

// addZoneRack adds the switches of a zone without racks.
func (g *Graph) addZoneRack(zone int) {
	r := rack{zone: zone, racks: 1}
	if k := g.spec.Network.Oversubscription; k > 0 {
		var rates []unit.BytesPerSec // by rail
		for i := range g.groups {
			if s := &g.groups[i]; s.zone == zone && s.Accelerators > 0 {
				for card := range s.Cards.Count {
					if card == len(rates) {
						rates = append(rates, 0)
					}
					rates[card] += s.Cards.Rate * unit.BytesPerSec(float64(s.nodes)/k)
				}
			}
		}
		r.switches, r.uplinks = len(rates), fabric.LinkID(len(g.links))
		for _, rate := range rates {
			g.addLinks(1, "uplink of a rail switch", rate)
		}
	}
	g.racks = append(g.racks, r)
}

// addRacks adds a run of equal racks of a group and returns its index.
func (g *Graph) addRacks(s *group, racks int) int {
	r := rack{zone: s.zone, racks: racks}
	n := &g.spec.Network
	rails := n.Kind == NetworkRails
	if n.Oversubscription > 0 && (s.Accelerators > 0 || !rails) {
		rate := s.Cards.Rate
		r.switches = s.Cards.Count
		if !rails {
			rate = s.Cards.Rate*unit.BytesPerSec(s.Cards.Count) + s.Front.Rate*unit.BytesPerSec(s.Front.Count)
			rate /= unit.BytesPerSec(g.spines())
			r.switches = 1
		}
		rate *= unit.BytesPerSec(float64(n.NodesPerRack) / n.Oversubscription)
		r.uplinks = g.addLinks(r.switches*g.spines(), s.Name+" uplink of a rack", rate)
	}
	g.racks = append(g.racks, r)
	return len(g.racks) - 1
}

// spines returns the number of uplinks of a switch.
func (g *Graph) spines() int { return max(1, g.spec.Network.Spines) }

// addGroup adds the classes of a group and their racks.
func (g *Graph) addGroup(s *group) {
	perRack := g.spec.Network.NodesPerRack
	full := s.nodes // nodes that have all their accelerators
	if s.Accelerators%max(1, s.AcceleratorsPerNode) != 0 {
		full--
	}
	if perRack == 0 {
		g.addNodes(s, s.zone, s.firstNode, full, full)
		g.addNodes(s, s.zone, s.firstNode+full, s.nodes-full, s.nodes-full)
		return
	}
	first, body := s.firstNode, full/perRack // full racks of full nodes
	for body > 0 {
		racks := 1
		if g.spec.Fold {
			racks = body
		}
		g.addNodes(s, g.addRacks(s, racks), first, racks*perRack, perRack)
		first += racks * perRack
		body -= racks
	}
	if rest := s.firstNode + s.nodes - first; rest > 0 {
		last, whole := g.addRacks(s, 1), s.firstNode+full-first
		g.addNodes(s, last, first, whole, whole)
		g.addNodes(s, last, first+whole, rest-whole, rest-whole)
	}
}

// addNodes adds a run of equal nodes.
func (g *Graph) addNodes(s *group, rack, first, nodes, perRack int) {
	for nodes > 0 {
		c := class{group: s, first: first, nodes: nodes, perRack: perRack, rack: rack}
		if !g.spec.Fold {
			c.nodes, c.perRack = 1, 1
		}
		c.accelerators = min(s.AcceleratorsPerNode,
			s.Accelerators-(first-s.firstNode)*s.AcceleratorsPerNode)
		g.addNodeLinks(&c)
		g.classes = append(g.classes, c)
		first += c.nodes
		nodes -= c.nodes
	}
}

// addNodeLinks adds the links of the node of a class.
func (g *Graph) addNodeLinks(c *class) {
	s := c.group
	c.own = fabric.LinkID(len(g.links))
	if k := s.AcceleratorsPerNode; k > 1 {
		switch s.Inside.Kind {
		case InsideSwitch, InsideCubeMesh:
			c.inside = g.addLinks(k, s.Name+" accelerator", s.Inside.Rate)
		case InsideMesh:
			c.inside = g.addLinks(k*(k-1)/2, s.Name+" link between accelerators",
				s.Inside.Rate/unit.BytesPerSec(k-1))
		}
	}
	if k, sharing := s.AcceleratorsPerNode, s.sharing(); k > 0 {
		c.hostLinks = g.addLinks((k+sharing-1)/sharing, s.Name+" host link", s.HostLink.Rate)
	}
	c.cards = g.addLinks(s.Cards.Count, s.Name+" card", s.Cards.Rate)
	c.front = c.cards // of host memory
	if s.Front.Count > 0 {
		c.front = g.addLinks(s.Front.Count, s.Name+" front card", s.Front.Rate)
	}
}

// sharing returns the number of accelerators behind one host link.
func (s *group) sharing() int { return max(1, s.HostLink.Sharing) }

// cardOf returns the card of an accelerator of a node.
func (s *group) cardOf(accelerator int) int {
	return accelerator * s.Cards.Count / s.AcceleratorsPerNode
}

// meshLink returns the link from one accelerator of a mesh to another.
func (c *class) meshLink(from, to int) fabric.LinkID {
	direction := out
	if from > to {
		from, to, direction = to, from, in
	}
	k := c.group.AcceleratorsPerNode
	pair := from*(2*k-from-1)/2 + to - from - 1
	return c.inside + fabric.LinkID(2*pair) + direction
}

// hostLink returns the link between an accelerator and its host; out is the direction to the host.
func (c *class) hostLink(accelerator int, direction fabric.LinkID) fabric.LinkID {
	return c.hostLinks + fabric.LinkID(2*(accelerator/c.group.sharing())) + direction
}

// Links returns the links for fabric.New. The caller must not change them. They come in pairs: an even number
// is a link that carries what leaves an accelerator, host or rack, the next number what enters. Between zones
// the two have no such meaning.
func (g *Graph) Links() []fabric.Link { return g.links }

// Uplinks returns the links of racks to the spine, those into the racks left out.
func (g *Graph) Uplinks() (list []fabric.LinkID) {
	for i := range g.racks {
		for k := range g.racks[i].switches * g.spines() {
			list = append(list, g.racks[i].uplinks+fabric.LinkID(2*k)+out)
		}
	}
	return list
}

// ZoneLinks returns the links between zones in one direction. The number of the other direction is one more.
func (g *Graph) ZoneLinks() (list []fabric.LinkID) {
	for _, z := range g.zoneLinks {
		list = append(list, z.link)
	}
	return list
}

// HostCards returns the links of the cards that carry the traffic of a node's memory, those into the node
// left out. It panics if there is no such node.
func (g *Graph) HostCards(node int) (list []fabric.LinkID) {
	c := g.class(node)
	for card := range c.weights(HostMemory) {
		list = append(list, c.front+fabric.LinkID(2*card)+out)
	}
	return list
}

// InsideNode reports whether a link joins accelerators of a node, or these and the memory of its host.
func (g *Graph) InsideNode(link fabric.LinkID) bool {
	i, _ := slices.BinarySearchFunc(g.classes, link, func(c class, link fabric.LinkID) int {
		return cmp.Compare(c.cards, link+1)
	})
	return i < len(g.classes) && g.classes[i].own <= link
}

// Nodes returns the number of nodes of all groups.
func (g *Graph) Nodes() int { return g.nodes }

// Accelerators returns the number of accelerators of all groups.
func (g *Graph) Accelerators() int { return g.accelerators }

// Port is an accelerator of a node, or the memory of its host.
type Port struct {
	Node        int
	Accelerator int // from 0 in each node; HostMemory for the host
}

// HostMemory in a port stands for the memory of the host.
const HostMemory = -1

// Accelerator returns the port of an accelerator by its number among those of all groups. Rank r of a job
// that uses all accelerators is on accelerator r. It panics if there is no such accelerator.
func (g *Graph) Accelerator(i int) Port {
	if i < 0 || i >= g.accelerators {
		panic(fmt.Sprintf("topo: accelerator %d, want 0 to %d", i, g.accelerators-1))
	}
	s := &g.groups[sort.Search(len(g.groups), func(k int) bool {
		return g.groups[k].firstAccelerator+g.groups[k].Accelerators > i
	})]
	i -= s.firstAccelerator
	return Port{s.firstNode + i/s.AcceleratorsPerNode, i % s.AcceleratorsPerNode}
}

// class returns the class of a node.
func (g *Graph) class(node int) *class {
	return &g.classes[sort.Search(len(g.classes), func(k int) bool {
		return g.classes[k].first+g.classes[k].nodes > node
	})]
}

// rackOf returns the number of a node's rack within its class's run of racks.
func (c *class) rackOf(node int) int { return (node - c.first) / c.perRack }
