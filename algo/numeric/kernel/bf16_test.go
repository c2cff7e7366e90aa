package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
)

// Every bf16 comes back as itself; between two neighbours everything below the
// middle goes down, everything above goes up, and the middle to the even one.
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
			t.Fatalf("between %#x and the next: %v becomes %#x, %v %#x, %v %#x", h, below, BF16(below), middle, BF16(middle), above, BF16(above))
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
				shift := rapid.IntRange(0, 3).Draw(t, "shift") // of both, against the alignment of an allocation
				src := make([]float32, n+shift)[shift:]
				for i := range src {
					src[i] = math.Float32frombits(r.Uint32()) // any bits: NaN, Inf and subnormals too
				}
				const guard = 0xabcd
				dst, want := make([]uint16, n+shift+1)[shift:], make([]uint16, n)
				dst[n] = guard
				toBF16With(set, dst[:n], src)
				toBF16Scalar(want, src)
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
	wantPanic(t, "lengths", "kernel: len(dst) = 1, want 2", func() { ToBF16(make([]uint16, 1), make([]float32, 2)) })
}

// A product of rounded operands is the product of what they round to, up to the
// error of an fp32 sum: |error| ≤ γ_{k+1}·|A|·|B| < (k+2)·k·2⁻²⁴ for factors up to
// 1 (Higham, Accuracy and Stability, 3.5). That operands were rounded at all shows
// in sums that fp32 would have exactly.
func TestBF16ProductsAreThoseOfRoundedOperands(t *testing.T) {
	const m, n, k, pad = 7, 33, 90, 2
	p := BF16Products(NewProducts(nil))
	r := rand.New(rand.NewPCG(1, 2))
	for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		rowsA, colsA := stored(trans[0], m, k)
		rowsB, colsB := stored(trans[1], k, n)
		a, b, c := random(r, rowsA*(colsA+pad)), random(r, rowsB*(colsB+pad)), random(r, m*n)
		want := make([]float64, m*n)
		for i := range m {
			for j := range n {
				want[i*n+j] = float64(c[i*n+j])
				for l := range k {
					x, y := a[at(trans[0], i, l, colsA+pad)], b[at(trans[1], l, j, colsB+pad)]
					want[i*n+j] += float64(FromBF16(BF16(x))) * float64(FromBF16(BF16(y)))
				}
			}
		}
		p.Gemm(trans[0], trans[1], m, n, k, a, colsA+pad, b, colsB+pad, 1, c, n)
		for i := range c {
			if d := math.Abs(float64(c[i]) - want[i]); d > (k+2)*(k+1)*0x1p-24 {
				t.Fatalf("transposed %v: element %d is off by %g", trans, i, d)
			}
		}
	}
	c := make([]float32, 1)
	p.Gemm(false, false, 1, 1, 1, []float32{1 + 0x1p-9}, 1, []float32{1}, 1, 0, c, 1)
	if c[0] != 1 {
		t.Errorf("(1 + 2⁻⁹)·1 is %v, want 1", c[0])
	}
	p.Gemm(false, false, 1, 1, 0, nil, 0, nil, 1, 3, c, 1)
	if c[0] != 3 {
		t.Errorf("k = 0, beta = 3: %v, want 3", c[0])
	}
}

// BenchmarkToBF16 beside a copy of as many bytes, which is the limit.
func BenchmarkToBF16(b *testing.B) {
	for _, n := range []int{4096, 1 << 23} {
		src, dst := make([]float32, n), make([]uint16, n)
		for _, set := range isa.Sets() {
			b.Run(fmt.Sprintf("%d/%s", n, set), func(b *testing.B) {
				b.SetBytes(int64(6 * n))
				for b.Loop() {
					toBF16With(set, dst, src)
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
