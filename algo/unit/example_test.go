package unit_test

import (
	"fmt"

	"tandem/algo/unit"
)

// Sizes and bandwidths have types of their own. Converting between them is explicit.
func Example() {
	size, err := unit.ParseBytes("48MB")
	if err != nil {
		fmt.Println(err)
		return
	}
	speed, err := unit.ParseBytesPerSec("25Gbps")
	if err != nil {
		fmt.Println(err)
		return
	}
	seconds := float64(size) / float64(speed)
	fmt.Println(unit.Tick(seconds * float64(unit.Second)))
	// Output: 15.36ms
}

// Rounded texts are for people; MarshalText keeps every digit.
func ExampleTick_MarshalText() {
	t := unit.Tick(1_234_567_891)
	exact, _ := t.MarshalText()
	fmt.Println(t, string(exact))
	// Output: 1.235s 1234567891ns
}

// An error lists the accepted units.
func ExampleParseTick() {
	t, err := unit.ParseTick("1.5ms")
	fmt.Println(int64(t), err)
	_, err = unit.ParseTick("12")
	fmt.Println(err)
	// Output:
	// 1500000 <nil>
	// unit: duration "12" has no unit: add one of ns, us, µs, ms, s, min, m, h, d
}
