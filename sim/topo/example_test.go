package topo_test

import (
	"fmt"

	"tandem/sim/topo"
)

// 14 servers of 8 accelerators with a card each, in racks of 4 with half of the uplinks that they could fill.
// The 112 accelerators all-reduce 100 MB of gradients and exchange 100 MB of embeddings each.
func Example() {
	spec := topo.Spec{
		Fold: true,
		Groups: []topo.Group{{
			Name: "server", Accelerators: 112, AcceleratorsPerNode: 8,
			Inside:   topo.Inside{Kind: topo.InsideSwitch, Rate: 300e9, Latency: 3400},
			HostLink: topo.HostLink{Rate: 25e9, Latency: 5700},
			Cards:    topo.Cards{Count: 8, Rate: 25e9},
		}},
		Network: topo.Network{
			Kind: topo.NetworkRacks, NodesPerRack: 4, Oversubscription: 2, Latency: 14_000,
		},
	}
	g, err := topo.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	world, pricing := g.World(), &topo.Pricing{Protocols: topo.NCCL()}
	reduce, err := world.AllReduce(100e6, pricing)
	if err != nil {
		fmt.Println(err)
		return
	}
	exchange, err := world.AllToAll(100e6, pricing)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("all-reduce: %s, %v\n", reduce.Name, g.Alone(&reduce))
	fmt.Printf("all-to-all: %s, %v\n", exchange.Name, g.Alone(&exchange))

	route, err := g.Route(g.Accelerator(0), g.Accelerator(111))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hop := range route.Hops {
		fmt.Println(g.Links()[hop.Link].Name)
	}
	// Output:
	// all-reduce: tree Simple, 1.263ms
	// all-to-all: pairwise Simple, 5.841ms
	// server uplink of a rack, out
	// server card, out
	// server uplink of a rack, in
	// server card, in
}
