package batch_test

import (
	"fmt"

	"tandem/algo/numeric/batch"
)

// A global batch of 7 samples in 4 groups: two ranks get two neighbouring groups each.
func ExampleCut() {
	global := &batch.Batch{Samples: 7, Labels: []float32{0, 1, 0, 1, 0, 1, 0}}
	for rank, part := range batch.Cut(global, 4, 2) {
		fmt.Printf("rank %d: %d samples, groups from %d on, bounds %v\n",
			rank, part.Samples, part.FirstGroup, part.Bounds)
	}
	// Output:
	// rank 0: 3 samples, groups from 0 on, bounds [0 1 3]
	// rank 1: 4 samples, groups from 2 on, bounds [0 2 4]
}

// The same id names different rows in two slots, because the upper bits of a sign are the number of the
// feature group.
func ExampleSchema_Signer() {
	schema := batch.Schema{Slots: []batch.Slot{{Name: "user", Dim: 4}, {Name: "item", Dim: 4}}, PrefixBits: 8}
	for slot := range schema.Slots {
		fmt.Printf("%s 42: %#016x\n", schema.Slots[slot].Name, schema.Signer(slot).Sign(42, 0))
	}
	// Output:
	// user 42: 0x010000000000002a
	// item 42: 0x020000000000002a
}
