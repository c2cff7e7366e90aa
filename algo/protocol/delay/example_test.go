package delay_test

import (
	"fmt"

	"tandem/algo/protocol/delay"
)

// The delay of a step depends on the seed and the step only. A read misses the updates that have not arrived.
func Example() {
	spec, err := delay.Parse("at-most 3")
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := delay.NewModel(spec, 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := range 6 {
		missed := 0
		for earlier := range step {
			if earlier+model.DelayOf(earlier) >= step {
				missed++
			}
		}
		fmt.Printf("step %d: delay %d, its read misses %d updates\n", step, model.DelayOf(step), missed)
	}
	// Output:
	// step 0: delay 2, its read misses 0 updates
	// step 1: delay 1, its read misses 1 updates
	// step 2: delay 3, its read misses 2 updates
	// step 3: delay 0, its read misses 1 updates
	// step 4: delay 0, its read misses 1 updates
	// step 5: delay 1, its read misses 1 updates
}

// A trace gives the delays that were measured in a run.
func ExampleSpec_Load() {
	spec, err := delay.Parse("trace measured.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	// os.ReadFile in a program
	read := func(string) ([]byte, error) { return []byte("delay\n3\n0\n1\n"), nil }
	if err := spec.Load(read); err != nil {
		fmt.Println(err)
		return
	}
	model, err := delay.NewModel(spec, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := range 5 {
		fmt.Print(model.DelayOf(step), " ")
	}
	// Output: 3 0 1 3 0
}
