package cost

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/topo"
)

// Network returns the network between the hosts of some groups. The latency is that of a message between any
// two hosts: what the switches of a spine add to it is not known.
func (r *Resolved) Network(groups []topo.Group) topo.Network {
	t := &r.Cluster.Topology
	n := topo.Network{Kind: cmp.Or(t.Kind, job.TopologyFlat), Latency: r.NetworkWire.Latency}
	var zones []string
	for _, g := range groups {
		if slices.Contains(zones, g.Zone) {
			continue
		}
		for _, z := range zones {
			n.Zones = append(n.Zones, topo.ZoneLink{
				Between: [2]string{z, g.Zone}, Rate: t.ZoneRate, Latency: t.ZoneLatency,
			})
		}
		zones = append(zones, g.Zone)
	}
	if n.Kind == job.TopologyFlat {
		return n
	}
	n.NodesPerRack, n.Oversubscription = t.HostsPerRack, max(1, t.Oversubscription)
	switch n.Kind {
	case job.TopologyFatTree:
		n.Spines = 1 // traffic spreads over all of them, so one can stand for them
	case job.TopologyRails:
		n.BetweenRails = topo.RailsNVLink
	}
	return n
}

// Racks reports whether hosts share the uplinks of racks, so that one PS cannot stand for all.
func (r *Resolved) Racks() bool {
	kind := r.Cluster.Topology.Kind
	return kind == job.TopologyRacks || kind == job.TopologyFatTree
}

// Hosts returns a number of hosts without accelerators.
func (r *Resolved) Hosts(name, zone string, host *device.Host, nodes int) topo.Group {
	return topo.Group{
		Name: name, Zone: zone, Nodes: nodes, Cards: r.cards(host.Network, max(1, host.NetworkCards)),
		Front: r.cards(host.FrontNetwork, host.FrontNetworkCards),
	}
}

// cards returns network cards by their rate together.
func (r *Resolved) cards(rate unit.BytesPerSec, count int) topo.Cards {
	if count == 0 {
		return topo.Cards{}
	}
	return topo.Cards{Count: count, Rate: rate * r.NetworkShare / unit.BytesPerSec(count)}
}

// Servers returns the servers of a number of accelerators: those with the accelerator of the cluster, and
// then a group for each of Mixed, which hold the last accelerators. The last server need not be full. Devices
// says which of r.Devices each group has.
func (r *Resolved) Servers(name string, accelerators int) (groups []topo.Group, devices []int) {
	k := r.Cluster.AcceleratorsPerServer
	s := r.OneServer(name, k)
	s.Zone = r.Cluster.ServerZone
	// Cards that accelerators cannot share evenly count as fewer and faster ones.
	s.Cards = r.cards(r.ServerHost.Network, divisor(k, max(1, r.ServerHost.NetworkCards)))
	s.Front = r.cards(r.ServerHost.FrontNetwork, r.ServerHost.FrontNetworkCards)
	full := (accelerators + k - 1) / k * k
	for _, m := range r.Mixed {
		full -= m.Servers * k
	}
	add := func(name string, device, most int) {
		s.Name, s.Accelerators = name, min(accelerators, most)
		if s.Accelerators > 0 {
			groups, devices = append(groups, s), append(devices, device)
			accelerators -= s.Accelerators
		}
	}
	add(name, 0, full)
	for i, m := range r.Mixed {
		add(fmt.Sprintf("%s, mixed %d", name, i+1), i+1, m.Servers*k)
	}
	return groups, devices
}

// devicesOf returns the indexes in Devices of the accelerators of a number of ranks.
func (r *Resolved) devicesOf(ranks int) []int {
	if r.Colocated() {
		return []int{0}
	}
	_, devices := r.Servers("", ranks)
	return devices
}

// OneServer returns one server of a number of accelerators without a network. On one machine there is no link
// between them and the host but the memory.
func (r *Resolved) OneServer(name string, accelerators int) topo.Group {
	inside := topo.Inside{
		Kind: topo.InsideSwitch, Rate: r.InsideWire.Bandwidth, Latency: r.InsideWire.Latency,
	}
	if r.Inside.Shape != "" {
		inside.Kind = r.Inside.Shape
	}
	link := topo.HostLink{
		Rate:    cmp.Or(r.HostLinkWire.Bandwidth, r.InsideWire.Bandwidth),
		Latency: r.HostLinkWire.Latency,
	}
	if inside.Kind == topo.InsideCubeMesh {
		link.Sharing = min(cubeMeshSharing, accelerators)
	}
	return topo.Group{
		Name: name, Accelerators: accelerators, AcceleratorsPerNode: accelerators, Inside: inside,
		HostLink: link,
	}
}

// cubeMeshSharing is the number of accelerators behind a PCIe switch of a server whose accelerators are a
// cube mesh: see topo.InsideCubeMesh.
const cubeMeshSharing = 2

// divisor returns the largest number of at most count that divides n.
func divisor(n, count int) int {
	for n%count != 0 {
		count--
	}
	return count
}
