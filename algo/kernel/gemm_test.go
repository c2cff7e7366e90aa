package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// random returns n values in (−1, 1), about one in eight of them 0 as after a
// ReLU.
func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		if r.IntN(8) > 0 {
			x[i] = 2*r.Float32() - 1
		}
	}
	return x
}

// misaligned returns a copy of x that starts 4 bytes off the address that an
// allocation would have.
func misaligned(x []float32) []float32 {
	y := make([]float32, len(x)+1)[1:]
	copy(y, x)
	return y
}

func sameValues(x, y []float32) error {
	for i := range x {
		if x[i] != y[i] { // +0 and −0 are equal here, as Gemm allows
			return fmt.Errorf("element %d is %v, want %v", i, x[i], y[i])
		}
	}
	return nil
}

func TestGemmOfTwoByThree(t *testing.T) {
	// A = [1 2 3; 4 5 6], B = [1 0; 2 1; 0 3], C = [1 1; 1 1].
	// A·B = [1+4+0, 0+2+9; 4+10+0, 0+5+18] = [5 11; 14 23].
	// A·B + 3·C = [8 14; 17 26].
	a := []float32{1, 2, 3, 4, 5, 6}
	aT := []float32{1, 4, 2, 5, 3, 6}
	b := []float32{1, 0, 2, 1, 0, 3}
	bT := []float32{1, 2, 0, 0, 1, 3}
	want := []float32{8, 14, 17, 26}
	for _, gemm := range []func(bool, bool, int, int, int, []float32, int, []float32, int, float32, []float32, int){Gemm, GemmScalar} {
		for _, tt := range []struct {
			transA, transB bool
			a              []float32
			lda            int
			b              []float32
			ldb            int
		}{
			{false, false, a, 3, b, 2},
			{true, false, aT, 2, b, 2},
			{false, true, a, 3, bT, 3},
			{true, true, aT, 2, bT, 3},
		} {
			c := []float32{1, 1, 1, 1}
			gemm(tt.transA, tt.transB, 2, 2, 3, tt.a, tt.lda, tt.b, tt.ldb, 3, c, 2)
			if err := sameValues(c, want); err != nil {
				t.Errorf("transA %v, transB %v: %v", tt.transA, tt.transB, err)
			}
		}
	}
}

// drawSize draws a size that is 0, small, or just past a block border.
func drawSize(t *rapid.T, name string) int {
	return rapid.OneOf(rapid.IntRange(0, 9), rapid.SampledFrom([]int{63, 65, 129, 257})).Draw(t, name)
}

func TestGemmHasTheBitsOfItsScalarTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		transA, transB := rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB")
		m, n, k := drawSize(t, "m"), drawSize(t, "n"), drawSize(t, "k")
		pad := rapid.IntRange(0, 3).Draw(t, "padding")
		beta := rapid.SampledFrom([]float32{0, 1, 0.3}).Draw(t, "beta")
		rowsA, lda := m, k+pad
		if transA {
			rowsA, lda = k, m+pad
		}
		rowsB, ldb := k, n+pad
		if transB {
			rowsB, ldb = n, k+pad
		}
		a, b, c := random(r, rowsA*lda), random(r, rowsB*ldb), random(r, m*(n+pad))
		want := misaligned(c)
		GemmScalar(transA, transB, m, n, k, a, lda, b, ldb, beta, want, n+pad)
		Gemm(transA, transB, m, n, k, misaligned(a), lda, misaligned(b), ldb, beta, c, n+pad)
		if err := sameValues(c, want); err != nil { // padding included: it must stay
			t.Fatal(err)
		}
	})
}

func TestGemmIsNearTheFloat64Product(t *testing.T) {
	// Higham, Accuracy and Stability, 3.5: |error| ≤ γ_{k+2}·|A|·|B| with
	// γ_k ≈ k·u and u = 2⁻²⁴. All factors are below 1 in size, so |A|·|B| < k.
	const m, n, k = 5, 70, 300
	const bound = (k + 2) * k * (1.0 / (1 << 24))
	r := rand.New(rand.NewPCG(1, 2))
	a, b, c := random(r, m*k), random(r, n*k), make([]float32, m*n)
	Gemm(false, true, m, n, k, a, k, b, k, 0, c, n)
	for i := range m {
		for j := range n {
			var want float64
			for l := range k {
				want += float64(a[i*k+l]) * float64(b[j*k+l])
			}
			if diff := math.Abs(float64(c[i*n+j]) - want); diff > bound {
				t.Fatalf("element (%d, %d) is off by %g, want at most %g", i, j, diff, bound)
			}
		}
	}
}

func TestGemmRowDoesNotDependOnOtherRows(t *testing.T) {
	const m, n, k = 67, 130, 70
	r := rand.New(rand.NewPCG(3, 4))
	a, b := random(r, m*k), random(r, k*n)
	for _, transB := range []bool{false, true} {
		ldb := n
		if transB {
			ldb = k
		}
		all, one := make([]float32, m*n), make([]float32, n)
		Gemm(false, transB, m, n, k, a, k, b, ldb, 0, all, n)
		for i := range m {
			Gemm(false, transB, 1, n, k, a[i*k:], k, b, ldb, 0, one, n)
			if err := sameValues(one, all[i*n:(i+1)*n]); err != nil {
				t.Fatalf("row %d, transB %v: %v", i, transB, err)
			}
		}
	}
}

func TestGemmOverwritesNaNWhenBetaIsZero(t *testing.T) {
	c := []float32{float32(math.NaN())}
	Gemm(false, false, 1, 1, 1, []float32{2}, 1, []float32{3}, 1, 0, c, 1)
	if c[0] != 6 {
		t.Errorf("c = %v, want 6", c[0])
	}
}

func TestGemmPanicsWithBothSizes(t *testing.T) {
	x := make([]float32, 6)
	for _, tt := range []struct {
		name, want string
		call       func()
	}{
		{"short a", "kernel: len(a) = 5, want at least 6",
			func() { Gemm(false, false, 2, 1, 3, x[:5], 3, x, 1, 0, x, 1) }},
		{"stride", "kernel: ldb = 1, want at least 2",
			func() { Gemm(false, false, 2, 2, 3, x, 3, x, 1, 0, x, 2) }},
		{"negative", "kernel: gemm of size m=-1, n=1, k=1, want none negative",
			func() { Gemm(false, false, -1, 1, 1, x, 1, x, 1, 0, x, 1) }},
	} {
		wantPanic(t, tt.name, tt.want, tt.call)
	}
}

func wantPanic(t *testing.T, name, want string, call func()) {
	t.Helper()
	defer func() {
		if got := recover(); got != want {
			t.Errorf("%s: panic %v, want %q", name, got, want)
		}
	}()
	call()
}

func TestGemmDoesNotAllocate(t *testing.T) {
	const size = 200
	r := rand.New(rand.NewPCG(5, 6))
	a, b, c := random(r, size*size), random(r, size*size), make([]float32, size*size)
	for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		allocs := testing.AllocsPerRun(2, func() {
			Gemm(trans[0], trans[1], size, size, size, a, size, b, size, 0, c, size)
		})
		if allocs != 0 {
			t.Errorf("transposed %v: %v allocations, want 0", trans, allocs)
		}
	}
}

// BenchmarkGemm runs the three products of a layer (forward, input gradient,
// weight gradient) at the shapes of Persia's tower and of the default network.
func BenchmarkGemm(b *testing.B) {
	for _, layer := range []struct{ samples, in, out int }{
		{64, 4096, 2048}, {64, 1024, 512}, {64, 256, 128}, {16, 256, 128},
	} {
		r := rand.New(rand.NewPCG(7, 8))
		x := random(r, layer.samples*layer.in)
		w := random(r, layer.out*layer.in)
		y := random(r, layer.samples*layer.out)
		for _, product := range []struct {
			name string
			run  func()
		}{
			{"forward", func() {
				Gemm(false, true, layer.samples, layer.out, layer.in, x, layer.in, w, layer.in, 0, y, layer.out)
			}},
			{"input", func() {
				Gemm(false, false, layer.samples, layer.in, layer.out, y, layer.out, w, layer.in, 0, x, layer.in)
			}},
			{"weight", func() {
				Gemm(true, false, layer.out, layer.in, layer.samples, y, layer.out, x, layer.in, 0, w, layer.in)
			}},
		} {
			b.Run(fmt.Sprintf("%s/%dx%dx%d", product.name, layer.samples, layer.in, layer.out), func(b *testing.B) {
				for b.Loop() {
					product.run()
				}
				flops := 2 * float64(layer.samples) * float64(layer.in) * float64(layer.out)
				b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
