package vec

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
	"tandem/algo/rng"
)

// Every set of instructions gives the bits of the plain form: sums of none, one and many
// vectors along any trees, of any length, wherever they begin, with zeros of both signs.
func TestSumTreesIsItsPlainForm(t *testing.T) {
	defer use(isa.Best())
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(0, 20),
			rapid.SampledFrom([]int{31, 32, 33, 63, 64, 65, 80, 127, 128, 200})).Draw(t, "dim")
		places := rapid.IntRange(1, 50).Draw(t, "places")
		first := rapid.IntRange(0, 17).Draw(t, "misaligned by")
		src := make([]float32, first+places-1+dim)[first:]
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range src {
			src[i] = 2*rng.Unit(seed, i) - 1
			if rng.Mix(seed+uint64(i))%16 == 0 {
				src[i] = []float32{0, kerneltest.NegativeZero}[i%2]
			}
		}
		at := rapid.SliceOfN(rapid.Int32Range(0, int32(places)-1), 0, 60).Draw(t, "at")
		joins := make([]uint8, len(at))
		levels := rapid.SampledFrom([]int{1, 2, 4, joinLimit}).Draw(t, "levels")
		for i := range joins {
			joins[i] = uint8(rng.Mix(seed^uint64(i)) % uint64(levels))
		}
		ends := rapid.SliceOfN(rapid.Int32Range(0, int32(len(at))), 1, 12).Draw(t, "ends")
		slices.Sort(ends)

		want := make([]float32, (len(ends)-1)*dim+1)
		want[len(want)-1] = 7 // behind the sums
		before := slices.Clone(want)
		sumTrees(want, dim, src, at, joins, ends)
		for _, set := range isa.Sets() {
			got := append(make([]float32, first), before...)[first:]
			use(set)
			SumTrees(got, dim, src, at, joins, ends)
			if !equalSums(got, want) {
				t.Fatalf("%v: %v\nwant %v", set, got, want)
			}
		}
	})
}

// Levels that descend from 31 to 1 leave the most branches waiting.
func TestSumTreesHasRoomForEveryLevel(t *testing.T) {
	defer use(isa.Best())
	src, at, joins := make([]float32, 40), []int32{0}, []uint8{0}
	for i := range src {
		src[i] = float32(i % 8)
	}
	for level := joinLimit - 1; level > 0; level-- {
		at, joins = append(at, int32(joinLimit-level)), append(joins, uint8(level))
	}
	for _, set := range isa.Sets() {
		use(set)
		sum := make([]float32, 8)
		SumTrees(sum, 8, src, at, joins, []int32{0, int32(len(at))})
		// 32 vectors, each of which has every whole number below 8 in turn: 4·28.
		if !slices.Equal(sum, slices.Repeat([]float32{112}, 8)) {
			t.Errorf("%v: %v", set, sum)
		}
	}
}

// What lies outside its slice is never read, and no level is out of range.
func TestSumTreesPanics(t *testing.T) {
	six := make([]float32, 6)
	for want, call := range map[string]func(){
		"kernel: 2 levels of 3 vectors": func() {
			SumTrees(six, 1, six, make([]int32, 3), make([]uint8, 2), []int32{0, 1})
		},
		"kernel: a level of 32 or more": func() {
			SumTrees(six, 1, six, make([]int32, 3), []uint8{0, 0, 32}, []int32{0, 3})
		},
		"kernel: vector 5 of 2 values, 1 apart, in 6": func() {
			SumTrees(six, 2, six, []int32{0, 5}, make([]uint8, 2), []int32{0, 1, 2})
		},
		"kernel: 4 sums of 2 values, 2 apart, in 6": func() {
			SumTrees(six, 2, six, nil, nil, make([]int32, 5))
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

// BenchmarkSumTrees sums vectors that lie apart as the gradients of one slot do: rows of
// one vector, and rows that have one in each of eight groups.
func BenchmarkSumTrees(b *testing.B) {
	const total, width = 1 << 12, 26
	for _, dim := range []int{16, 32, 64, 128} {
		for _, each := range []int{1, 8} {
			src, at, ends := make([]float32, total*width*dim), make([]int32, total), []int32{0}
			joins := make([]uint8, total)
			for i := range at {
				at[i] = int32(i * width * dim)
				if i%each != 0 {
					joins[i] = uint8(bits.Len(uint(i%each ^ (i%each - 1))))
				}
				if (i+1)%each == 0 {
					ends = append(ends, int32(i+1))
				}
			}
			dst := make([]float32, total/each*dim)
			for _, set := range isa.Sets() {
				b.Run(fmt.Sprintf("dim=%d/each=%d/%v", dim, each, set), func(b *testing.B) {
					use(set)
					defer use(isa.Best())
					for b.Loop() {
						SumTrees(dst, dim, src, at, joins, ends)
					}
					b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*total), "ns/vector")
				})
			}
		}
	}
}
