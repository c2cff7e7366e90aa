package topo

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/unit"
)

// Every wrong description is refused with an error that names the setting.
func TestWrongSpecsAreRefused(t *testing.T) {
	nan := math.NaN()
	for _, x := range []struct {
		want   string
		change func(*Spec)
	}{
		{"groups: none", func(s *Spec) { s.Groups = nil }},
		{"group 0 has no name", func(s *Spec) { s.Groups[0].Name = "" }},
		{`two groups are named "server"`, func(s *Spec) { s.Groups = append(s.Groups, s.Groups[0]) }},
		{"nodes = -1", func(s *Spec) { s.Groups[0].Nodes = -1 }},
		{"no host", func(s *Spec) {
			s.Groups = append(s.Groups,
				Group{Name: "PS", Cards: Cards{Count: 1, Rate: 1}})
		}},
		{"accelerators = -8", func(s *Spec) { s.Groups[0].Accelerators = -8 }},
		{"nodes = 5, but 64 accelerators at 8 a node need 8", func(s *Spec) { s.Groups[0].Nodes = 5 }},
		{"accelerators-per-node = 0", func(s *Spec) { s.Groups[0].AcceleratorsPerNode = 0 }},
		{"accelerators-per-node = 8 without", func(s *Spec) {
			s.Groups[0].Accelerators, s.Groups[0].Nodes = 0,
				1
		}},
		{"cards.count = 3; want a divisor of the 8", func(s *Spec) { s.Groups[0].Cards.Count = 3 }},
		{"cards.count = -1", func(s *Spec) { s.Groups[0].Cards.Count = -1 }},
		{"cards.rate = 0B/s", func(s *Spec) { s.Groups[0].Cards.Rate = 0 }},
		{"cards.rate", func(s *Spec) { s.Groups[0].Cards.Rate = unit.BytesPerSec(math.Inf(1)) }},
		{"no card, so there is no route", func(s *Spec) { s.Groups[0].Cards = Cards{} }},
		{`"nvswich" is unknown; the nearest is "nvswitch"`,
			func(s *Spec) { s.Groups[0].Inside.Kind = "nvswich" }},
		{"accelerators-per-node = 65 in a mesh", func(s *Spec) {
			s.Groups[0].Inside.Kind, s.Groups[0].AcceleratorsPerNode, s.Groups[0].Cards.Count = InsideMesh,
				65, 1
		}},
		{"accelerators-per-node = 9 in a cube mesh; want at most 8, or a switch", func(s *Spec) {
			s.Groups[0].Inside.Kind, s.Groups[0].AcceleratorsPerNode = InsideCubeMesh, 9
			s.Groups[0].Cards.Count = 1
		}},
		{"inside.rate = 0B/s", func(s *Spec) { s.Groups[0].Inside.Rate = 0 }},
		{"inside.latency = -1ns", func(s *Spec) { s.Groups[0].Inside.Latency = -1 }},
		{"host-link.rate", func(s *Spec) { s.Groups[0].HostLink.Rate = 0 }},
		{"host-link.latency", func(s *Spec) { s.Groups[0].HostLink.Latency = -1 }},
		{"host-link.sharing = 9", func(s *Spec) { s.Groups[0].HostLink.Sharing = 9 }},
		{`"fat-trees" is unknown; the nearest is "fat-tree"`, func(s *Spec) { s.Network.Kind = "fat-trees" }},
		{"network: latency", func(s *Spec) { s.Network.Latency = -1 }},
		{"spine-latency", func(s *Spec) { s.Network.SpineLatency = -1 }},
		{"nodes-per-rack = 0; want 1", func(s *Spec) { s.Network.Kind = NetworkRacks }},
		{"nodes-per-rack = 4 with kind flat", func(s *Spec) { s.Network.NodesPerRack = 4 }},
		{"oversubscription = 2 with kind flat", func(s *Spec) { s.Network.Oversubscription = 2 }},
		{"oversubscription = 0; want more", func(s *Spec) {
			s.Network.Kind,
				s.Network.NodesPerRack = NetworkRacks, 4
		}},
		{"oversubscription = NaN", func(s *Spec) {
			s.Network.Kind, s.Network.NodesPerRack, s.Network.Oversubscription = NetworkRacks, 4, nan
		}},
		{"spines = 0; want 1", func(s *Spec) { s.Network.Kind, s.Network.NodesPerRack = NetworkFatTree, 4 }},
		{"spines = 2 with kind flat", func(s *Spec) { s.Network.Spines = 2 }},
		{`between-rails: "nvlinks" is unknown; the nearest is "nvlink"`, func(s *Spec) {
			s.Network.Kind, s.Network.BetweenRails = NetworkRails, "nvlinks"
		}},
		{"between-rails = \"spine\" with kind flat", func(s *Spec) { s.Network.BetweenRails = RailsSpine }},
		{"no route between its rails", func(s *Spec) {
			s.Network.Kind, s.Network.BetweenRails = NetworkRails,
				RailsSpine
		}},
		{"no route between its rails", func(s *Spec) {
			s.Network.Kind, s.Network.BetweenRails, s.Groups[0].Inside.Kind = NetworkRails, RailsNVLink,
				InsideHost
		}},
		{"no route between its racks", func(s *Spec) {
			s.Network.Kind, s.Network.BetweenRails, s.Network.NodesPerRack = NetworkRails, RailsNVLink, 4
		}},
		{`no route from group "server" to group "PS": their cards are on different rails`, func(s *Spec) {
			s.Network.Kind, s.Network.BetweenRails = NetworkRails, RailsNVLink
			s.Groups = append(s.Groups, Group{Name: "PS", Nodes: 2, Cards: Cards{Count: 1, Rate: 1}})
		}},
		{`no route from group "server" in zone "" to group "PS" in zone "west"`, func(s *Spec) {
			s.Groups = append(s.Groups, Group{Name: "PS", Zone: "west", Nodes: 2,
				Cards: Cards{Count: 1, Rate: 1}})
		}},
		{`no group is in zone "wst" is unknown; the nearest is "west"`, func(s *Spec) {
			s.Groups[0].Zone = "west"
			s.Network.Zones = []ZoneLink{{[2]string{"west", "wst"}, 1, 0}}
		}},
		{`link 0 is between "a" and itself`,
			func(s *Spec) { s.Network.Zones = []ZoneLink{{[2]string{"a", "a"}, 1, 0}} }},
		{"rate of link 0", func(s *Spec) { s.Network.Zones = []ZoneLink{{[2]string{"a", "b"}, -1, 0}} }},
		{"latency of link 0", func(s *Spec) { s.Network.Zones = []ZoneLink{{[2]string{"a", "b"}, 1, -1}} }},
		{"two links are between", func(s *Spec) {
			s.Network.Zones = []ZoneLink{{[2]string{"a", "b"}, 1, 0}, {[2]string{"b", "a"}, 1, 0}}
		}},
	} {
		s := cluster(64)
		x.change(&s)
		if _, err := New(s); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, want one with %q", err, x.want)
		}
	}
	s := cluster(64)
	if _, err := New(s); err != nil {
		t.Errorf("the description that the others change: %v", err)
	}
}

func TestPortsThatDoNotExistHaveNoRoute(t *testing.T) {
	g := compile(t, cluster(12))
	for _, x := range []struct {
		port Port
		want string
	}{
		{Port{2, 0}, "port on node 2; want 0 to 1"},
		{Port{-1, 0}, "port on node -1"},
		{Port{0, 8}, "accelerator 8 of node 0, which has 8"},
		{Port{1, 4}, "accelerator 4 of node 1, which has 4"},
		{Port{1, -2}, "accelerator -2 of node 1"},
	} {
		for _, ends := range [][2]Port{{x.port, {0, 0}}, {{0, 0}, x.port}} {
			if _, err := g.Route(ends[0], ends[1]); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("route from %v to %v: error %v, want one with %q", ends[0], ends[1], err, x.want)
			}
		}
	}
}

func TestCommunicatorsThatDoNotFitAreRefused(t *testing.T) {
	g := compile(t, folded(cluster(44)))
	var all, first []Port
	for i := range g.Accelerators() {
		p := g.Accelerator(i)
		all = append(all, p)
		if p.Accelerator == 0 {
			first = append(first, p)
		}
	}
	for _, x := range []struct {
		ranks []Port
		want  string
	}{
		{nil, "without ranks"},
		{[]Port{{9, 0}}, "rank on node 9"},
		{[]Port{{0, HostMemory}}, "accelerator -1 of node 0"},
		{[]Port{{5, 4}}, "accelerator 4 of node 5, which has 4"},
		{[]Port{{0, 1}, {0, 1}}, "two ranks on accelerator 1 of node 0"},
		{all[:16], "ranks on 2 of 5 equal nodes"},
		{all[1:], "an equal node"},
	} {
		if _, err := g.Communicator(x.ranks); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, want one with %q", err, x.want)
		}
	}
	for _, x := range []struct {
		ranks   []Port
		members int
		nodes   int
	}{{all, 44, 6}, {first, 6, 6}, {all[8:16], 8, 1}, {all[:40], 40, 5}, {all[3:4], 1, 1}} {
		c, err := g.Communicator(x.ranks)
		if err != nil || c.Members() != x.members || c.Nodes() != x.nodes {
			t.Errorf("communicator %+v, error %v; want %d members on %d nodes", c, err, x.members, x.nodes)
		}
	}
}

func TestUnknownAlgorithmIsRefused(t *testing.T) {
	c := compile(t, cluster(16)).World()
	_, err := c.AllToAll(1, &Pricing{Algorithm: "pairwse"})
	if err == nil || !strings.Contains(err.Error(), `the nearest is "pairwise"`) {
		t.Errorf("error %v", err)
	}
	if _, err := c.AllReduce(-1, &Pricing{}); err == nil {
		t.Error("no error for -1 bytes")
	}
}
