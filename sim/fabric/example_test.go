package fabric_test

import (
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// Two senders with cards of 10 Gbit/s send 1 GB and 3 GB to one receiver with a card of 10 Gbit/s. They share
// the receiver's card equally until the first has finished; then the second has the card to itself.
func Example() {
	const sender1, sender2, receiver = fabric.LinkID(0), fabric.LinkID(1), fabric.LinkID(2)
	f := fabric.New([]fabric.Link{
		{Name: "uplink 1", Capacity: 1.25e9}, {Name: "uplink 2", Capacity: 1.25e9},
		{Name: "downlink", Capacity: 1.25e9},
	})
	over := func(uplink fabric.LinkID) []fabric.Hop {
		return []fabric.Hop{{Link: uplink, Multiplicity: 1}, {Link: receiver, Multiplicity: 1}}
	}
	f.Start(0, fabric.Flow{Path: over(sender1), Bytes: 1e9, Tag: 1})
	second := f.Start(0, fabric.Flow{Path: over(sender2), Bytes: 3e9, Tag: 2})
	f.Settle(0)
	fmt.Println("the second flow has", f.Rate(second))
	for {
		at, ok := f.NextFinish()
		if !ok {
			break
		}
		for _, c := range f.Finished(at, nil) {
			fmt.Printf("flow %d finishes after %.1f s\n", c.Tag, at.Seconds())
		}
		f.Settle(at)
	}
	fmt.Printf("the downlink has carried %v\n", unit.Bytes(f.Carried(4*unit.Second, receiver)))
	// Output:
	// the second flow has 5Gbps
	// flow 1 finishes after 1.6 s
	// flow 2 finishes after 3.2 s
	// the downlink has carried 4GB
}
