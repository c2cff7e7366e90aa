package vec

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
	"tandem/algo/rng"
)

// equalSums compares bits, but for those of a NaN, which processors choose.
func equalSums(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
	})
}

// Every set of instructions gives the bits of the plain form: segments of none, one
// and many vectors, of any length, overlapping ones too, wherever they begin; NaN,
// infinities and zeros of both signs among the values; and leaves what lies between
// the sums.
func TestSumSegmentsIsItsPlainForm(t *testing.T) {
	defer use(isa.Best())
	special := []float32{0, kerneltest.NegativeZero, float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(-1)), 1e-40, math.MaxFloat32}
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(0, 20),
			rapid.SampledFrom([]int{31, 32, 33, 63, 64, 65, 80, 127, 128, 200})).Draw(t, "dim")
		unit := rapid.SampledFrom([]int{1, 2, max(dim, 1), dim + 3}).Draw(t, "unit")
		vectors := rapid.IntRange(1, 20).Draw(t, "vectors")
		first := rapid.IntRange(0, 17).Draw(t, "kerneltest.Misaligned by")
		src := make([]float32, first+(vectors-1)*unit+dim)[first:]
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range src {
			src[i] = 2*rng.Unit(seed, i) - 1
			if pick := rng.Mix(seed + uint64(i)); pick%16 == 0 {
				src[i] = special[pick>>8%uint64(len(special))]
			}
		}
		at := rapid.SliceOfN(rapid.Int32Range(0, int32(vectors)-1), 0, 60).Draw(t, "at")
		ends := rapid.SliceOfN(rapid.Int32Range(0, int32(len(at))), 1, 12).Draw(t, "ends")
		slices.Sort(ends)
		stride := dim + rapid.IntRange(0, 3).Draw(t, "between sums")
		start := rapid.SampledFrom([]float32{0, kerneltest.NegativeZero, 3}).Draw(t, "start")

		size := max((len(ends)-2)*stride+dim, 0)
		want := make([]float32, size+1)
		for i := range want {
			want[i] = 7
		}
		before := slices.Clone(want)
		if len(ends) > 1 {
			sumSegments(want, stride, src, unit, at, ends, dim, start)
		}
		for _, set := range isa.Sets() {
			got := append(make([]float32, first), before...)[first:]
			use(set)
			SumSegments(got, stride, src, unit, at, ends, dim, start)
			if !equalSums(got, want) {
				t.Fatalf("%v: %v\nwant %v", set, got, want)
			}
		}
	})
}

// A million vectors in one segment, and a million segments of one.
func TestSumSegmentsIsLong(t *testing.T) {
	defer use(isa.Best())
	const n = 1 << 20
	src, at := []float32{1, 2, 3}, make([]int32, n)
	ends := make([]int32, n+1)
	for i := range n {
		at[i], ends[i+1] = int32(i%3), int32(i+1)
	}
	for _, set := range isa.Sets() {
		sum, each := make([]float32, 1), make([]float32, n)
		use(set)
		SumSegments(sum, 1, src, 1, at, []int32{0, n}, 1, 0)
		SumSegments(each, 1, src, 1, at, ends, 1, 0)
		// n/3 rounds of 1+2+3, all below 2²⁴, and n%3 = 1 more.
		if want := float32(n/3*6 + 1); sum[0] != want || each[n-1] != 1 || each[n-2] != 3 {
			t.Errorf("%v: sum %v, want %v; each ends with %v", set, sum[0], want, each[n-2:])
		}
	}
}

// What lies outside its slice is never read or written.
func TestSumSegmentsPanics(t *testing.T) {
	six := make([]float32, 6)
	for want, call := range map[string]func(){
		"kernel: a segment ends at 1, want 2 to 3": func() {
			SumSegments(six, 1, six, 1,
				make([]int32, 3), []int32{0, 2, 1}, 1, 0)
		},
		"kernel: a segment ends at 4, want 0 to 3": func() {
			SumSegments(six, 1, six, 1,
				make([]int32, 3), []int32{0, 4}, 1, 0)
		},
		"kernel: a segment ends at -1, want 0 to 3": func() {
			SumSegments(six, 1, six, 1,
				make([]int32, 3), []int32{-1, 2}, 1, 0)
		},
		"kernel: 4 sums of 2 values, 2 apart, in 6": func() {
			SumSegments(six, 2, six, 2, nil,
				make([]int32, 5), 2, 0)
		},
		"kernel: vector 3 of 2 values, 2 apart, in 6": func() {
			SumSegments(six, 2, six, 2,
				[]int32{0, 3}, []int32{0, 1, 2}, 2, 0)
		},
		"kernel: vector -1 of 2 values, 2 apart, in 6": func() {
			SumSegments(six, 2, six, 2,
				[]int32{-1}, []int32{0, 1}, 2, 0)
		},
		"kernel: vector 2147483647 of 2 values, 3 apart, in 6": func() {
			SumSegments(six, 2, six, 3,
				[]int32{math.MaxInt32}, []int32{0, 1}, 2, 0)
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

// BenchmarkSumSegments pools one vector a segment out of few megabytes, as the rows
// of a batch are, and sums segments of eight. The limit is what it takes to copy as
// many bytes out of the same memory, from its begin to its end.
func BenchmarkSumSegments(b *testing.B) {
	const total = 1 << 16
	for _, dim := range []int{16, 32, 64, 128} {
		for _, each := range []int{1, 8} {
			src, at, ends := make([]float32, total/4*dim), make([]int32, total), []int32{0}
			for i := range at {
				at[i] = int32(rng.Mix(uint64(i)) % (total / 4))
				if (i+1)%each == 0 {
					ends = append(ends, int32(i+1))
				}
			}
			dst := make([]float32, total/each*dim)
			limit := time.Duration(math.MaxInt64)
			for range 10 {
				begin := time.Now()
				for i := range total {
					copy(dst[i/each*dim:][:dim], src[i%(total/4)*dim:])
				}
				limit = min(limit, time.Since(begin))
			}
			for _, set := range isa.Sets() {
				b.Run(fmt.Sprintf("dim=%d/each=%d/%v", dim, each, set), func(b *testing.B) {
					use(set)
					defer use(isa.Best())
					b.SetBytes(int64(4 * dim * total))
					for b.Loop() {
						SumSegments(dst, dim, src, dim, at, ends, dim, 0)
					}
					took := b.Elapsed() / time.Duration(b.N)
					b.ReportMetric(total/took.Seconds()/1e6, "Mrows/s")
					b.ReportMetric(100*limit.Seconds()/took.Seconds(), "%copy")
				})
			}
		}
	}
}
