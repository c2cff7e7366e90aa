package topo

import (
	"fmt"
	"testing"

	"tandem/algo/unit"
)

// BenchmarkPrice compiles a folded cluster and prices a step's three collectives with the fastest of NCCL's
// algorithms and protocols.
func BenchmarkPrice(b *testing.B) {
	for _, n := range []int{64, 16_384} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := &Pricing{Protocols: NCCL()}
			for b.Loop() {
				g := compile(b, folded(superpod(n)))
				c := g.World()
				for _, plan := range []Plan{
					must(b)(c.AllReduce(100_000_000, p)), must(b)(c.AllToAll(100_000_000, p)),
					must(b)(c.ReduceScatter(100_000_000, p)),
				} {
					g.Alone(&plan)
				}
			}
		})
	}
}

// BenchmarkPlan plans and moves one all-reduce of a known algorithm.
func BenchmarkPlan(b *testing.B) {
	g := compile(b, folded(superpod(16_384)))
	c, p := g.World(), &Pricing{Algorithm: Ring}
	for b.Loop() {
		plan := must(b)(c.AllReduce(100_000_000, p))
		g.Alone(&plan)
	}
}

// superpod returns servers of 8 with a card each on rails of 32 nodes below an oversubscribed spine.
func superpod(accelerators int) Spec {
	s := cluster(accelerators)
	s.Network = Network{
		Kind: NetworkRails, NodesPerRack: 32, Oversubscription: 2, BetweenRails: RailsNVLink, Latency: 14_000,
	}
	return s
}

// A folded cluster of 16,384 accelerators has the links of one node and of the switches of one rack, so its
// prices cost what those of 64 do.
func TestManyAcceleratorsHaveFewLinks(t *testing.T) {
	for _, x := range []struct{ accelerators, links int }{
		{16_384, 48 + 16}, {16_384 - 4, 3*48 + 2*16}, {112, 48 + 16}, {24, 48 + 16}, {300, 3*48 + 2*16},
	} {
		g := compile(t, folded(superpod(x.accelerators)))
		if len(g.Links()) != x.links || g.Accelerators() != x.accelerators {
			t.Errorf("%d accelerators: %d links, want %d for %d", g.Accelerators(), len(g.Links()), x.links,
				x.accelerators)
		}
		plan := must(t)(g.World().AllToAll(unit.Bytes(x.accelerators)*1000, &Pricing{}))
		for _, s := range plan.Stages {
			if len(s.Flows) > 20 {
				t.Errorf("%d accelerators: %d flows", x.accelerators, len(s.Flows))
			}
		}
	}
}
