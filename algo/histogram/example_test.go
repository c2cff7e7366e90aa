package histogram_test

import (
	"fmt"

	"tandem/algo/histogram"
)

// The staleness of the reads of two ranks, in steps, merged into one histogram.
func Example() {
	var first, second histogram.Histogram
	for _, staleness := range []int{0, 0, 1, 2} {
		first.Add(staleness)
	}
	second.AddCount(1, 6) // six reads missed one step each
	first.Merge(&second)

	fmt.Printf("mean %.1f, p99 %d, max %d\n", first.Mean(), first.Quantile(0.99), first.Max())
	for staleness, reads := range first.All() {
		fmt.Println(staleness, reads)
	}
	// Output:
	// mean 0.9, p99 2, max 2
	// 0 2
	// 1 7
	// 2 1
}

// The distance says how far values must be moved on average: half of the reads are two steps staler.
func ExampleHistogram_Distance() {
	var real, simulated histogram.Histogram
	for _, staleness := range []int{1, 1, 2, 2} {
		real.Add(staleness)
	}
	for _, staleness := range []int{1, 1, 4, 4} {
		simulated.Add(staleness)
	}
	fmt.Println(real.Distance(&simulated))
	// Output: 1
}
