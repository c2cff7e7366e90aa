package shard_test

import (
	"fmt"

	"tandem/algo/numeric/shard"
)

// Neighbouring signs are spread evenly over the PSs.
func ExamplePlan_Owner() {
	plan, rows := shard.Rows(4), make([]int, 4)
	for sign := range uint64(100_000) {
		rows[plan.Owner(sign)]++
	}
	fmt.Println(rows)
	// Output:
	// [24722 25130 25119 25029]
}
