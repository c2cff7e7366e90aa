package rng_test

import (
	"fmt"

	"tandem/algo/rng"
)

// Each purpose and entity has a stream of its own: drawing more numbers for one of them does not change
// the numbers of another.
func ExampleNew() {
	const seed = 1
	order := rng.New(seed, "order", 0) // the order of rows in epoch 0
	fmt.Println(order.Perm(5))

	again := rng.New(seed, "order", 0)
	fmt.Println(again.Perm(5))

	next := rng.New(seed, "order", 1)
	fmt.Println(next.Perm(5))
	// Output:
	// [2 0 3 1 4]
	// [2 0 3 1 4]
	// [3 0 1 2 4]
}

// The initial values of a row follow from the seed and the id of the row, so that every process computes
// the same values.
func ExampleUnit() {
	const seed, id = 1, 42
	key := rng.Key(seed, "row", id)
	for element := range 3 {
		fmt.Printf("%.4f\n", 2*rng.Unit(key, element)-1)
	}
	// Output:
	// -0.0246
	// -0.2723
	// -0.4537
}
