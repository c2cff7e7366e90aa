package kerneltest

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
)

// A Case runs a kernel on matrices of rows × cols values that draw returns, and returns
// everything that the kernel wrote, padding included.
type Case struct {
	Name string
	Run  func(draw func(n int) []float32, rows, cols int) [][]float32
}

// SameBitsOnEverySet fails the test unless every case has the same bits with every set
// of instructions. Use makes the package use a set.
func SameBitsOnEverySet(t *testing.T, cases []Case, use func(isa.Set)) {
	defer use(isa.Best())
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rows := rapid.IntRange(0, 9).Draw(t, "rows")
				cols := rapid.OneOf(rapid.IntRange(0, 40),
					rapid.SampledFrom([]int{255, 256, 257, 600})).Draw(t, "cols")
				seed := rapid.Uint64().Draw(t, "seed")
				values := rapid.SampledFrom([]func(*rand.Rand, int) []float32{Awkward, Tame}).Draw(t,
					"values")
				run := func(set isa.Set) [][]float32 {
					use(set)
					r := rand.New(rand.NewPCG(seed, 0))
					return c.Run(func(n int) []float32 { return values(r, n) }, rows, cols)
				}
				want := run(isa.Portable)
				for _, set := range isa.Sets()[1:] {
					for i, got := range run(set) {
						if err := SameBits(got, want[i]); err != nil {
							t.Fatalf("%v, output %d: %v", set, i, err)
						}
					}
				}
			})
		})
	}
}

// NoAllocation fails the test if a case allocates more for many rows than for none,
// when it allocates its list of outputs and its scratch.
func NoAllocation(t *testing.T, cases []Case) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		buffer := Random(r, 1<<14)
		var taken int
		draw := func(n int) []float32 { taken += n; return buffer[taken-n : taken] }
		own := testing.AllocsPerRun(5, func() { taken = 0; c.Run(draw, 0, 33) })
		if got := testing.AllocsPerRun(5, func() { taken = 0; c.Run(draw, 7, 33) }); got > own {
			t.Errorf("%s: %v allocations, want %v", c.Name, got, own)
		}
	}
}

// OnEverySet runs a test with each set of instructions that the machine has. Use makes
// the package use a set.
func OnEverySet(t *testing.T, use func(isa.Set), test func(t *testing.T)) {
	t.Helper()
	defer use(isa.Best())
	for _, set := range isa.Sets() {
		use(set)
		t.Run(set.String(), test)
	}
}
