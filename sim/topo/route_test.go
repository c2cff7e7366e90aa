package topo

import (
	"slices"
	"strings"
	"testing"

	"tandem/sim/fabric"
)

// A server's host memory uses the front cards, its accelerators the rails. Only what passes from one to the
// other crosses the spine.
func TestFrontCardsCarryHostTraffic(t *testing.T) {
	s := cluster(16)
	s.Network = Network{
		Kind: NetworkRails, BetweenRails: RailsNVLink, Oversubscription: 1, Latency: 10, SpineLatency: 1000,
	}
	s.Groups[0].Front = Cards{Count: 2, Rate: 5e9}
	s.Groups = append(s.Groups, Group{Name: "PS", Nodes: 3, Cards: Cards{Count: 1, Rate: 2e9}})
	g := compile(t, s)
	for _, x := range []struct {
		from, to Port
		latency  int64
		names    []string
	}{
		{Port{0, HostMemory}, Port{1, HostMemory}, 10,
			[]string{"server front card, out", "server front card, out",
				"server front card, in", "server front card, in"}},
		{Port{0, HostMemory}, Port{2, HostMemory}, 10,
			[]string{"server front card, out", "server front card, out",
				"PS card, in"}},
		{Port{0, 3}, Port{1, 3}, 10, []string{"server card, out", "server card, in"}},
		{Port{0, 3}, Port{1, 4}, 3410, []string{"server accelerator, out", "server accelerator, in",
			"server card, out", "server card, in"}},
		{Port{2, HostMemory}, Port{1, 4}, 1010, []string{"uplink of a rail switch, in", "server card, in",
			"PS card, out"}},
	} {
		r, err := g.Route(x.from, x.to)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, h := range r.Hops {
			names = append(names, g.Links()[h.Link].Name)
		}
		if !slices.Equal(names, x.names) || int64(r.Latency) != x.latency {
			t.Errorf("from %v to %v: %q with %v, want %q with %d ns", x.from, x.to, names, r.Latency, x.names,
				x.latency)
		}
	}
}

// The links of accelerators and of their hosts are inside nodes; cards, uplinks and links of zones are not.
func TestLinksInsideNodes(t *testing.T) {
	rails := cluster(24)
	rails.Groups[0].Front = Cards{Count: 2, Rate: 5e9}
	rails.Network = Network{Kind: NetworkRails, BetweenRails: RailsNVLink, Oversubscription: 2}
	rails.Groups = append(rails.Groups, Group{Name: "PS", Nodes: 3, Cards: Cards{Count: 1, Rate: 2e9}})
	mesh := cluster(16)
	mesh.Groups[0].Inside.Kind = InsideMesh
	for _, s := range []Spec{cluster(8), rails, folded(rails), mesh} {
		g := compile(t, s)
		inside := 0
		for i, link := range g.Links() {
			want := strings.Contains(link.Name, "accelerator") || strings.Contains(link.Name, "host link")
			if got := g.InsideNode(fabric.LinkID(i)); got != want {
				t.Errorf("%s is inside: %v", link.Name, got)
			}
			if want {
				inside++
			}
		}
		if inside == 0 {
			t.Error("no link is inside a node")
		}
	}
}
