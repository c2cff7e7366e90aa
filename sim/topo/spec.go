package topo

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/unit"
)

// Spec describes a cluster. All rates are those that large transfers reach, in one direction.
type Spec struct {
	Groups  []Group `yaml:"groups"`
	Network Network `yaml:"network"`
	// Fold makes one node stand for all equal nodes; see the package comment for when that is exact.
	Fold bool `yaml:"fold"`
}

// Group is a number of equal nodes: GPU servers, or hosts without accelerators. Nodes count from 0 in the
// order of the groups.
type Group struct {
	Name string `yaml:"name"`
	Zone string `yaml:"zone"` // one zone has the empty name
	// Nodes is the number of hosts. With accelerators it is 0 or as many as they need.
	Nodes int `yaml:"nodes"`
	// Accelerators is the number of accelerators of all nodes; the last node can have fewer than
	// AcceleratorsPerNode.
	Accelerators        int      `yaml:"accelerators"`
	AcceleratorsPerNode int      `yaml:"accelerators-per-node"`
	Inside              Inside   `yaml:"inside"`
	HostLink            HostLink `yaml:"host-link"`
	Cards               Cards    `yaml:"cards"`
	// Front are further cards, for the traffic of the host's memory. Without them it uses Cards.
	Front Cards `yaml:"front-cards"`
}

// Inside is the connection between the accelerators of a node. A node of one accelerator needs none.
type Inside struct {
	Kind string `yaml:"kind"` // nvswitch, mesh, cube-mesh or host
	// Rate is what one accelerator can send, and receive, in all: over its port of the switch, or over its
	// links to all others in a mesh. Kind host takes the rate of the host links.
	Rate    unit.BytesPerSec `yaml:"rate"`
	Latency unit.Tick        `yaml:"latency"` // of one message
}

// The kinds of Inside.
const (
	InsideSwitch = "nvswitch" // any pair at the full rate of their ports
	InsideMesh   = "mesh"     // an equal link between every two accelerators
	// InsideCubeMesh is that of 8 accelerators with 6 links each: those of a half have links to each other,
	// and each to the opposite one of the other half. Other pairs exchange through the host. Rings use all
	// links.
	//
	// Source: NVIDIA DGX-1 with Tesla V100 system architecture, whitepaper (2017), "hybrid cube-mesh".
	InsideCubeMesh = "cube-mesh"
	InsideHost     = "host" // no wire: through the host links and the host's memory
)

// cubeMax is the number of accelerators of a cube mesh.
const cubeMax = 8

// HostLink is the connection between accelerators and their host.
type HostLink struct {
	Rate    unit.BytesPerSec `yaml:"rate"`
	Latency unit.Tick        `yaml:"latency"`
	// Sharing is the number of accelerators behind one link: 1 or 0 for a link each, more for a switch.
	Sharing int `yaml:"sharing"`
}

// Cards are the network cards of a node. Accelerators share them in equal blocks: one card serves all, or 8
// cards serve one accelerator each. Traffic of the host's memory spreads over all cards.
//
// On rails only the cards of accelerators are on a rail. Cards of hosts without accelerators, and front
// cards, are on a network of their own that never blocks, and reach the rails through the spine.
type Cards struct {
	Count int              `yaml:"count"`
	Rate  unit.BytesPerSec `yaml:"rate"` // of one card
	// ThroughHost makes traffic of accelerators cross their host links. Otherwise the card reads and writes
	// their memory from below the same switch.
	ThroughHost bool `yaml:"through-host"`
}

// Network connects the cards.
type Network struct {
	Kind    string    `yaml:"kind"`    // flat, racks, fat-tree or rails
	Latency unit.Tick `yaml:"latency"` // of one message between two nodes of a rack
	// NodesPerRack is the number of nodes below one switch, or one switch per rail. Racks belong to one
	// group. 0, for flat and rails, puts all nodes of a zone below the same switches.
	NodesPerRack int `yaml:"nodes-per-rack"`
	// Oversubscription is the rate of all cards below a switch over the rate of the switch's uplinks. 0, for
	// flat and rails, means that there is no spine.
	Oversubscription float64   `yaml:"oversubscription"`
	Spines           int       `yaml:"spines"`        // switches of a fat tree
	SpineLatency     unit.Tick `yaml:"spine-latency"` // of a message through the spine, in addition
	// BetweenRails is the way to a card of another rail: nvlink, through the accelerators of the sending
	// node, or spine.
	BetweenRails string     `yaml:"between-rails"`
	Zones        []ZoneLink `yaml:"zones"`
}

// The kinds of Network.
const (
	NetworkFlat    = "flat"
	NetworkRacks   = "racks"
	NetworkFatTree = "fat-tree"
	NetworkRails   = "rails"
)

// The ways of Network.BetweenRails.
const (
	RailsNVLink = "nvlink"
	RailsSpine  = "spine"
)

// ZoneLink connects two zones.
type ZoneLink struct {
	Between [2]string        `yaml:"between"`
	Rate    unit.BytesPerSec `yaml:"rate"`    // in each direction
	Latency unit.Tick        `yaml:"latency"` // of a message between the zones, in addition
}

const (
	sizeMax    = 1 << 20 // nodes or accelerators of a group
	perNodeMax = 1 << 16 // accelerators
	fewMax     = 64      // cards of a node, accelerators of a mesh, spines
	latencyMax = 3600 * unit.Second
)

// validate returns the first setting that is out of range.
func (s *Spec) validate() error {
	if len(s.Groups) == 0 {
		return fmt.Errorf("groups: none; want at least one group of nodes")
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Name == "" {
			return fmt.Errorf("groups: group %d has no name; name it for what it runs", i)
		}
		if slices.ContainsFunc(s.Groups[:i], func(o Group) bool { return o.Name == g.Name }) {
			return fmt.Errorf("groups: two groups are named %q; use each name once", g.Name)
		}
		if err := g.validate(); err != nil {
			return fmt.Errorf("group %q: %w", g.Name, err)
		}
	}
	if err := s.Network.validate(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	return s.validateRoutes()
}

func (g *Group) validate() error {
	if g.Nodes < 0 || g.Nodes > sizeMax {
		return fmt.Errorf("nodes = %d; want 0 to %d", g.Nodes, sizeMax)
	}
	if g.Accelerators < 0 || g.Accelerators > sizeMax {
		return fmt.Errorf("accelerators = %d; want 0 to %d", g.Accelerators, sizeMax)
	}
	if g.Accelerators == 0 && g.Nodes == 0 {
		return fmt.Errorf("no nodes and no accelerators: what runs here has no host; set nodes or " +
			"accelerators")
	}
	if err := g.Cards.validate("cards"); err != nil {
		return err
	}
	if err := g.Front.validate("front-cards"); err != nil {
		return err
	}
	if g.Accelerators == 0 {
		if g.AcceleratorsPerNode != 0 {
			return fmt.Errorf("accelerators-per-node = %d without accelerators; set accelerators",
				g.AcceleratorsPerNode)
		}
		return nil
	}
	return g.validateAccelerators()
}

func (c *Cards) validate(name string) error {
	if c.Count < 0 || c.Count > fewMax {
		return fmt.Errorf("%s.count = %d; want 0 to %d", name, c.Count, fewMax)
	}
	if c.Count == 0 {
		return nil
	}
	return checkRate(name+".rate", c.Rate)
}

// validateAccelerators checks the settings of a group that has accelerators.
func (g *Group) validateAccelerators() error {
	k := g.AcceleratorsPerNode
	if k < 1 || k > perNodeMax {
		return fmt.Errorf("accelerators-per-node = %d; want 1 to %d", k, perNodeMax)
	}
	if n := (g.Accelerators + k - 1) / k; g.Nodes != 0 && g.Nodes != n {
		return fmt.Errorf("nodes = %d, but %d accelerators at %d a node need %d; leave nodes out", g.Nodes,
			g.Accelerators, k, n)
	}
	if c := g.Cards.Count; c > 0 && k%c != 0 {
		return fmt.Errorf("cards.count = %d; want a divisor of the %d accelerators of a node", c, k)
	}
	if g.HostLink.Sharing < 0 || g.HostLink.Sharing > k {
		return fmt.Errorf("host-link.sharing = %d; want 0 to %d", g.HostLink.Sharing, k)
	}
	if err := checkRate("host-link.rate", g.HostLink.Rate); err != nil {
		return err
	}
	if err := checkLatency("host-link.latency", g.HostLink.Latency); err != nil {
		return err
	}
	if k == 1 {
		return nil
	}
	kinds := []string{InsideSwitch, InsideMesh, InsideCubeMesh, InsideHost}
	if !slices.Contains(kinds, g.Inside.Kind) {
		return fmt.Errorf("inside.kind: %s", job.Unknown(g.Inside.Kind, kinds))
	}
	if g.Inside.Kind == InsideMesh && k > fewMax {
		return fmt.Errorf("accelerators-per-node = %d in a mesh; want at most %d", k, fewMax)
	}
	if g.Inside.Kind == InsideCubeMesh && k > cubeMax {
		return fmt.Errorf("accelerators-per-node = %d in a cube mesh; want at most %d, or a switch", k,
			cubeMax)
	}
	if g.Inside.Kind != InsideHost {
		if err := checkRate("inside.rate", g.Inside.Rate); err != nil {
			return err
		}
	}
	return checkLatency("inside.latency", g.Inside.Latency)
}

func (n *Network) validate() error {
	kinds := []string{NetworkFlat, NetworkRacks, NetworkFatTree, NetworkRails}
	if !slices.Contains(kinds, n.Kind) {
		return fmt.Errorf("kind: %s", job.Unknown(n.Kind, kinds))
	}
	tree := n.Kind == NetworkRacks || n.Kind == NetworkFatTree
	rails := n.Kind == NetworkRails
	switch {
	case n.NodesPerRack < 0 || n.NodesPerRack > sizeMax || tree && n.NodesPerRack == 0:
		return fmt.Errorf("nodes-per-rack = %d; want 1 to %d, or 0 with kind rails", n.NodesPerRack, sizeMax)
	case n.Kind == NetworkFlat && n.NodesPerRack != 0:
		return fmt.Errorf("nodes-per-rack = %d with kind flat; use kind racks, or leave it out",
			n.NodesPerRack)
	case n.Kind == NetworkFlat && n.Oversubscription != 0:
		return fmt.Errorf("oversubscription = %v with kind flat; use kind racks, or leave it out",
			n.Oversubscription)
	case n.Kind == NetworkFatTree && (n.Spines < 1 || n.Spines > fewMax):
		return fmt.Errorf("spines = %d; want 1 to %d", n.Spines, fewMax)
	case n.Kind != NetworkFatTree && n.Spines != 0:
		return fmt.Errorf("spines = %d with kind %s; use kind fat-tree, or leave it out", n.Spines, n.Kind)
	case !(n.Oversubscription >= 0) || math.IsInf(n.Oversubscription, 1) ||
		tree && n.Oversubscription == 0:
		return fmt.Errorf("oversubscription = %v; want more than 0, 1 for uplinks that never block",
			n.Oversubscription)
	}
	if ways := []string{RailsNVLink, RailsSpine}; rails && !slices.Contains(ways, n.BetweenRails) {
		return fmt.Errorf("between-rails: %s", job.Unknown(n.BetweenRails, ways))
	}
	if !rails && n.BetweenRails != "" {
		return fmt.Errorf("between-rails = %q with kind %s; use kind rails, or leave it out", n.BetweenRails,
			n.Kind)
	}
	if err := checkLatency("latency", n.Latency); err != nil {
		return err
	}
	if err := checkLatency("spine-latency", n.SpineLatency); err != nil {
		return err
	}
	return n.validateZones()
}

func (n *Network) validateZones() error {
	for i, z := range n.Zones {
		if z.Between[0] == z.Between[1] {
			return fmt.Errorf("zones: link %d is between %q and itself; name two zones", i, z.Between[0])
		}
		if err := checkRate(fmt.Sprintf("zones: rate of link %d", i), z.Rate); err != nil {
			return err
		}
		if err := checkLatency(fmt.Sprintf("zones: latency of link %d", i), z.Latency); err != nil {
			return err
		}
		same := func(o ZoneLink) bool { return o.joins(z.Between[0], z.Between[1]) }
		if slices.ContainsFunc(n.Zones[:i], same) {
			return fmt.Errorf("zones: two links are between %q and %q; keep one", z.Between[0], z.Between[1])
		}
	}
	return nil
}

// joins reports whether the link is between two zones.
func (z *ZoneLink) joins(a, b string) bool {
	return z.Between == [2]string{a, b} || z.Between == [2]string{b, a}
}

func checkRate(name string, rate unit.BytesPerSec) error {
	if !(rate > 0) || math.IsInf(float64(rate), 1) {
		return fmt.Errorf("%s = %v; want more than 0", name, rate)
	}
	return nil
}

func checkLatency(name string, latency unit.Tick) error {
	if latency < 0 || latency > latencyMax {
		return fmt.Errorf("%s = %v; want 0 to %v", name, latency, latencyMax)
	}
	return nil
}

// NodeCount returns the number of nodes, also where Nodes is 0.
func (g *Group) NodeCount() int {
	if g.Accelerators == 0 {
		return g.Nodes
	}
	return (g.Accelerators + g.AcceleratorsPerNode - 1) / g.AcceleratorsPerNode
}

// validateRoutes checks that every two nodes can reach each other.
func (s *Spec) validateRoutes() error {
	zones := make([]string, len(s.Groups))
	nodes := 0
	for i := range s.Groups {
		zones[i] = s.Groups[i].Zone
		nodes += s.Groups[i].NodeCount()
	}
	for _, z := range s.Network.Zones {
		for _, name := range z.Between {
			if !slices.Contains(zones, name) {
				return fmt.Errorf("network: zones: no group is in zone %s", job.Unknown(name, zones))
			}
		}
	}
	for i := range s.Groups {
		a := &s.Groups[i]
		if nodes > 1 && a.Cards.Count == 0 {
			return fmt.Errorf("group %q: no card, so there is no route to the other nodes; set cards.count",
				a.Name)
		}
		if err := s.railRoutes(a); err != nil {
			return err
		}
		for j := range s.Groups[:i] {
			b := &s.Groups[j]
			if err := s.groupRoute(a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// railRoutes checks that the nodes of a group reach the other rails of their own group.
func (s *Spec) railRoutes(g *Group) error {
	n := &s.Network
	if n.Kind != NetworkRails || n.Oversubscription > 0 || g.NodeCount() == 1 || g.Accelerators == 0 {
		return nil
	}
	if n.NodesPerRack > 0 && g.NodeCount() > n.NodesPerRack {
		return fmt.Errorf("group %q: no route between its racks: rails without a spine; "+
			"set network.oversubscription, or nodes-per-rack to 0", g.Name)
	}
	if g.Cards.Count > 1 && !s.throughNVLink(g) {
		return fmt.Errorf("group %q: no route between its rails; give its nodes an inside wire and set "+
			"network.between-rails to nvlink, or set network.oversubscription", g.Name)
	}
	return nil
}

// throughNVLink reports whether traffic to another rail goes through the accelerators of the sending node.
func (s *Spec) throughNVLink(g *Group) bool {
	return s.Network.Kind == NetworkRails && s.Network.BetweenRails == RailsNVLink &&
		g.AcceleratorsPerNode > 1 && g.Inside.Kind != InsideHost
}

// groupRoute checks that the nodes of two groups can reach each other.
func (s *Spec) groupRoute(a, b *Group) error {
	n := &s.Network
	if a.Zone != b.Zone &&
		!slices.ContainsFunc(n.Zones, func(z ZoneLink) bool { return z.joins(a.Zone, b.Zone) }) {
		return fmt.Errorf("no route from group %q in zone %q to group %q in zone %q; add a link to "+
			"network.zones",
			b.Name, b.Zone, a.Name, a.Zone)
	}
	if n.Kind != NetworkRails || n.Oversubscription > 0 {
		return nil
	}
	if a.Accelerators == 0 && b.Accelerators == 0 {
		return nil
	}
	if a.Zone != b.Zone || n.NodesPerRack > 0 || a.Cards.Count != b.Cards.Count ||
		a.Accelerators == 0 || b.Accelerators == 0 {
		return fmt.Errorf("no route from group %q to group %q: their cards are on different rails without a "+
			"spine; set network.oversubscription", b.Name, a.Name)
	}
	return nil
}
