package vec

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
	"tandem/algo/rng"
)

// Every set of instructions copies as the plain form does, to none, one or many places, and leaves what lies
// between them.
func TestSpreadIsItsPlainForm(t *testing.T) {
	defer use(isa.Best())
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(0, 20),
			rapid.SampledFrom([]int{31, 32, 33, 63, 64, 65, 127, 128, 200})).Draw(t, "dim")
		vectors := rapid.IntRange(0, 12).Draw(t, "vectors")
		first := rapid.IntRange(0, 17).Draw(t, "misaligned by")
		src := make([]float32, first+vectors*dim)[first:]
		for i := range src {
			src[i] = []float32{rng.Unit(7, i), kerneltest.NegativeZero}[rng.Mix(uint64(i))%2]
		}
		places := rapid.IntRange(0, 40).Draw(t, "places")
		at := make([]int32, places)
		for i := range at { // in any order, and apart
			at[i] = int32((i*7)%max(places, 1)) * int32(dim+2)
		}
		if places%7 == 0 {
			slices.Sort(at)
			at = slices.Compact(at)
		}
		ends := rapid.SliceOfN(rapid.Int32Range(0, int32(len(at))), vectors+1, vectors+1).Draw(t, "ends")
		slices.Sort(ends)
		want := slices.Repeat([]float32{7}, places*(dim+2)+1)
		before := slices.Clone(want)
		spread(want, at, ends, src, dim)
		for _, set := range isa.Sets() {
			got := append(make([]float32, first), before...)[first:]
			use(set)
			Spread(got, at, ends, src, dim)
			if !equalSums(got, want) {
				t.Fatalf("%v: %v\nwant %v", set, got, want)
			}
		}
	})
}

// What lies outside its slice is never written.
func TestSpreadPanics(t *testing.T) {
	six := make([]float32, 6)
	for want, call := range map[string]func(){
		"kernel: 6 values, want 2 vectors of 2": func() {
			Spread(six, make([]int32, 2), []int32{0, 1, 2}, six, 2)
		},
		"kernel: vector 5 of 3 values, 1 apart, in 6": func() {
			Spread(six, []int32{0, 5}, []int32{0, 1, 2}, six, 3)
		},
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v", got)
				}
			}()
			call()
		})
	}
}
