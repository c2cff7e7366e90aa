package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
)

// Every bf16 survives the conversion to float32 and back; between two neighbours everything below the middle
// goes down, everything above goes up, and the middle to the even one.
func TestBF16IsTheNearest(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := FromBF16(h)
		if f != f {
			if BF16(f) != h|0x40 {
				t.Fatalf("NaN %#x becomes %#x", h, BF16(f))
			}
			continue
		}
		if BF16(f) != h {
			t.Fatalf("%#x is %v, which becomes %#x", h, f, BF16(f))
		}
		next := FromBF16(h + 1)
		if h&0x7fff >= 0x7f7f || next != next { // no finite value beyond
			continue
		}
		middle := float32((float64(f) + float64(next)) / 2) // exact: one bit more
		even := h + h&1
		below, above := math.Nextafter32(middle, f), math.Nextafter32(middle, next)
		if BF16(below) != h || BF16(above) != h+1 || BF16(middle) != even {
			t.Fatalf("between %#x and the next: %v becomes %#x, %v %#x, %v %#x", h, below, BF16(below),
				middle, BF16(middle), above, BF16(above))
		}
	}
	for f, want := range map[float32]uint16{ // 0x7f7f is the greatest finite one, 2¹²⁸ − 2¹²⁰
		0x1.fefp127: 0x7f7f, 0x1.ffp127: 0x7f80, math.MaxFloat32: 0x7f80, float32(math.Inf(-1)): 0xff80,
	} {
		if got := BF16(f); got != want {
			t.Errorf("%v becomes %#x, want %#x", f, got, want)
		}
	}
}

func TestToBF16HasTheBitsOfItsScalarTwin(t *testing.T) {
	for _, set := range isa.Sets() {
		t.Run(set.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.OneOf(rapid.IntRange(1, 40), rapid.SampledFrom([]int{1000, 4097})).Draw(t, "n")
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
				shift := rapid.IntRange(0, 3).Draw(t,
					"shift") // of both, against the alignment of an allocation
				src := make([]float32, n+shift)[shift:]
				for i := range src {
					src[i] = math.Float32frombits(r.Uint32()) // any bits: NaN, Inf and subnormals too
				}
				const guard = 0xabcd
				dst, want := make([]uint16, n+shift+1)[shift:], make([]uint16, n)
				dst[n] = guard
				bySet[set].toBF16(dst[:n], src)
				toBF16(want, src)
				for i := range want {
					if dst[i] != want[i] {
						t.Fatalf("value %d, %v, becomes %#x, want %#x", i, src[i], dst[i], want[i])
					}
				}
				if dst[n] != guard {
					t.Fatal("written beyond the end")
				}
			})
		})
	}
	ToBF16(nil, nil) // nothing
	kerneltest.WantPanic(t, "lengths", "kernel: len(dst) = 1, want 2",
		func() { ToBF16(make([]uint16, 1), make([]float32, 2)) })
}

// BenchmarkToBF16 beside a copy of as many bytes, which is the limit.
func BenchmarkToBF16(b *testing.B) {
	for _, n := range []int{4096, 1 << 23} {
		src, dst := make([]float32, n), make([]uint16, n)
		for _, set := range isa.Sets() {
			b.Run(fmt.Sprintf("%d/%s", n, set), func(b *testing.B) {
				b.SetBytes(int64(6 * n))
				for b.Loop() {
					bySet[set].toBF16(dst, src)
				}
			})
		}
		from, to := make([]byte, 3*n), make([]byte, 3*n)
		b.Run(fmt.Sprintf("%d/copy", n), func(b *testing.B) {
			b.SetBytes(int64(6 * n))
			for b.Loop() {
				copy(to, from)
			}
		})
	}
}
