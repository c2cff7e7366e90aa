package compress_test

import (
	"fmt"

	"tandem/algo/numeric/compress"
)

// Values travel as fp32, as halves, or as halves with a power of two for each block, which keeps the
// precision of values that are too small for a half.
func ExamplePack() {
	gradients := []float32{1e-6, -2e-6, 3e-6}
	for _, form := range compress.Forms() {
		packed := compress.Pack(form, gradients)
		values, err := packed.Unpack(3)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%-11s %2d bytes: %.4g\n", form, packed.Size(), values)
	}
	// Output:
	// fp32        12 bytes: [1e-06 -2e-06 3e-06]
	// fp16         6 bytes: [1.013e-06 -2.027e-06 2.98e-06]
	// fp16-block   7 bytes: [1e-06 -2e-06 3.001e-06]
}

// Distinct signs of one feature group differ in their lower bits only.
func ExamplePackSigns() {
	signs := []uint64{1<<56 + 17, 1<<56 + 3, 1<<56 + 250}
	packed := compress.PackSigns(signs, 8)
	unpacked, err := packed.Unpack()
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d signs in %d bytes instead of %d: %#x\n", len(unpacked), packed.Size(), 8*len(signs),
		unpacked)
	// Output:
	// 3 signs in 8 bytes instead of 24: [0x100000000000011 0x100000000000003 0x1000000000000fa]
}
