//go:build !static && (linux || darwin) && (amd64 || arm64)

package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
)

// eachLibrary runs a test on every library that this machine has.
func eachLibrary(t *testing.T, test func(t *testing.T, p *products)) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			opened, err := openLibrary(name, nil)
			if err != nil {
				t.Skip(err)
			}
			switch p := opened.(type) {
			case *products:
				test(t, p)
			case *bf16Capable:
				test(t, p.products)
			}
		})
	}
}

// A pool claims to have this size and runs every task on a goroutine of its own.
type pool int

func (p pool) Size() int { return int(p) }

func (p pool) ForEach(tasks int, task func(index int)) {
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() { task(i) })
	}
	all.Wait()
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n+1)[1:] // 4 bytes off the address of an allocation
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

// shape is the arguments of a product.
type shape struct {
	transA, transB         bool
	m, n, k, lda, ldb, ldc int
}

func drawShape(t *rapid.T) shape {
	size := func(name string) int {
		return rapid.OneOf(rapid.IntRange(0, 9), rapid.SampledFrom([]int{63, 129, 300})).Draw(t, name)
	}
	pad := rapid.IntRange(0, 3).Draw(t, "padding")
	s := shape{transA: rapid.Bool().Draw(t, "transA"), transB: rapid.Bool().Draw(t, "transB"), m: size("m"),
		n: size("n"), k: size("k")}
	s.lda, s.ldb, s.ldc = s.k+pad, s.n+pad, s.n+pad
	if s.transA {
		s.lda = s.m + pad
	}
	if s.transB {
		s.ldb = s.k + pad
	}
	return s
}

// operands returns random matrices for a shape.
func (s shape) operands(r *rand.Rand) (a, b, c []float32) {
	rowsA, rowsB := s.m, s.k
	if s.transA {
		rowsA = s.k
	}
	if s.transB {
		rowsB = s.n
	}
	return random(r, rowsA*s.lda), random(r, rowsB*s.ldb), random(r, s.m*s.ldc)
}

// exact returns beta·C + op(A)·op(B) in float64, padding left as it was.
func (s shape) exact(a, b []float32, beta float32, c []float32) []float64 {
	out := make([]float64, len(c))
	for i := range c {
		out[i] = float64(c[i])
	}
	for i := range s.m {
		for j := range s.n {
			sum := float64(beta) * out[i*s.ldc+j]
			for l := range s.k {
				atA, atB := i*s.lda+l, l*s.ldb+j
				if s.transA {
					atA = l*s.lda + i
				}
				if s.transB {
					atB = j*s.ldb + l
				}
				sum += float64(a[atA]) * float64(b[atB])
			}
			out[i*s.ldc+j] = sum
		}
	}
	return out
}

func TestProductsAreNearTheFloat64Products(t *testing.T) {
	eachLibrary(t, func(t *testing.T, p *products) {
		rapid.Check(t, func(t *rapid.T) {
			s := drawShape(t)
			beta := rapid.SampledFrom([]float32{0, 1, 0.3}).Draw(t, "beta")
			a, b, c := s.operands(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
			want := s.exact(a, b, beta, c)
			p.Gemm(s.transA, s.transB, s.m, s.n, s.k, a, s.lda, b, s.ldb, beta, c, s.ldc)
			// Higham, Accuracy and Stability, 3.5: |error| ≤ γ_{k+2}·|A|·|B| with
			// γ_k ≈ k·u and u = 2⁻²⁴, in any order; all factors are below 1 in size.
			bound := float64(s.k+2) * float64(s.k+1) / (1 << 24)
			for i := range c {
				if d := math.Abs(float64(c[i]) - want[i]); !(d <= bound) {
					t.Fatalf("element %d is off by %g, want at most %g", i, d, bound)
				}
			}
		})
	})
}

func TestBitsDoNotDependOnThePool(t *testing.T) {
	eachLibrary(t, func(t *testing.T, p *products) {
		for _, s := range []shape{
			{m: 700, n: 130, k: 65, lda: 65, ldb: 130, ldc: 130},
			{m: 130, n: 1500, k: 65, lda: 65, ldb: 65, ldc: 1500, transB: true},
			{m: 513, n: 257, k: 64, lda: 513, ldb: 257, ldc: 257, transA: true},
		} {
			if countTasks(s.m, s.n, s.k) < 2 {
				t.Fatalf("%+v is not cut", s)
			}
			a, b, c := s.operands(rand.New(rand.NewPCG(1, 2)))
			want := append([]float32(nil), c...)
			p.Gemm(s.transA, s.transB, s.m, s.n, s.k, a, s.lda, b, s.ldb, 1, want, s.ldc)
			newProducts(p.library, pool(3)).Gemm(s.transA, s.transB, s.m, s.n, s.k, a, s.lda, b, s.ldb, 1, c,
				s.ldc)
			for i := range c {
				if c[i] != want[i] {
					t.Fatalf("%+v: element %d is %v with a pool, %v without", s, i, c[i], want[i])
				}
			}
		}
	})
}

// Ranks multiply at the same time, and each gets the result of a single caller.
func TestConcurrentProducts(t *testing.T) {
	eachLibrary(t, func(t *testing.T, p *products) {
		const callers, rounds, size = 8, 20, 150
		r := rand.New(rand.NewPCG(3, 4))
		a, b := random(r, size*size), random(r, size*size)
		want := make([]float32, size*size)
		p.Gemm(false, true, size, size, size, a, size, b, size, 0, want, size)
		failed := make(chan error, callers)
		pool(callers).ForEach(callers, func(int) {
			c := make([]float32, size*size)
			for range rounds {
				p.Gemm(false, true, size, size, size, a, size, b, size, 0, c, size)
				for i := range c {
					if c[i] != want[i] {
						failed <- fmt.Errorf("element %d is %v, alone %v", i, c[i], want[i])
						return
					}
				}
			}
		})
		select {
		case err := <-failed:
			t.Error(err)
		default:
		}
	})
}

func TestNaNAndInfinityAreSeenAndOverwritten(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	eachLibrary(t, func(t *testing.T, p *products) {
		// With beta = 0, what C held does not matter; what A and B hold does.
		c := []float32{nan, nan}
		p.Gemm(false, false, 1, 2, 2, []float32{2, 1}, 2, []float32{3, inf, 1, 1}, 2, 0, c, 2)
		if c[0] != 7 || c[1] != inf {
			t.Errorf("c = %v, want [7 +Inf]", c)
		}
		p.Gemm(false, false, 1, 2, 1, []float32{nan}, 1, []float32{1, 1}, 2, 1, c, 2)
		if c[0] == c[0] || c[1] == c[1] {
			t.Errorf("c = %v, want NaN twice", c)
		}
	})
}

func TestEmptyProducts(t *testing.T) {
	eachLibrary(t, func(t *testing.T, p *products) {
		c := []float32{1, 2}
		p.Gemm(false, false, 1, 2, 0, nil, 0, nil, 2, 3, c, 2)
		if c[0] != 3 || c[1] != 6 {
			t.Errorf("k = 0, beta = 3: c = %v, want [3 6]", c)
		}
		p.Gemm(false, false, 0, 2, 1, nil, 1, c, 2, 0, nil, 2) // nothing to write
	})
}

// Products in bf16, by a library or on top of one, are the float64 products of what
// the operands round to, up to the error of an fp32 sum; nor do they depend on the
// pool, or allocate.
func TestBF16ProductsAreNearThoseOfRoundedOperands(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			opened, err := openLibrary(name, nil)
			if err != nil {
				t.Skip(err)
			}
			withPool, _ := openLibrary(name, pool(3))
			p, q := gemm.BF16Products(opened), gemm.BF16Products(withPool)
			t.Log(p.Name())
			rapid.Check(t, func(t *rapid.T) {
				s := drawShape(t)
				beta := rapid.SampledFrom([]float32{0, 1, 0.3}).Draw(t, "beta")
				a, b, c := s.operands(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
				c2 := slices.Clone(c)
				rounded := func(x []float32) []float32 {
					x = slices.Clone(x)
					for i := range x {
						x[i] = vec.FromBF16(vec.BF16(x[i]))
					}
					return x
				}
				want := s.exact(rounded(a), rounded(b), beta, c)
				p.Gemm(s.transA, s.transB, s.m, s.n, s.k, a, s.lda, b, s.ldb, beta, c, s.ldc)
				q.Gemm(s.transA, s.transB, s.m, s.n, s.k, a, s.lda, b, s.ldb, beta, c2, s.ldc)
				// The bound is that of TestProductsAreNearTheFloat64Products.
				bound := float64(s.k+2) * float64(s.k+1) / (1 << 24)
				for i := range c {
					if d := math.Abs(float64(c[i]) - want[i]); !(d <= bound) {
						t.Fatalf("element %d is off by %g, want at most %g", i, d, bound)
					}
					if c[i] != c2[i] {
						t.Fatalf("element %d is %v, and %v with a pool", i, c[i], c2[i])
					}
				}
			})
			if raceDetector {
				return
			}
			const size = 100
			x, y := make([]float32, size*size), make([]float32, size*size)
			if n := testing.AllocsPerRun(10, func() {
				p.Gemm(true, false, size, size, size, x, size, x, size,
					0, y, size)
			}); n != 0 {
				t.Errorf("%v allocations a product, want 0", n)
			}
		})
	}
}

func TestShapeMismatchPanicsWithBothSizes(t *testing.T) {
	eachLibrary(t, func(t *testing.T, p *products) {
		defer func() {
			if got, want := recover(), "kernel: len(a) = 5, want at least 6"; got != want {
				t.Errorf("panic %v, want %q", got, want)
			}
		}()
		x := make([]float32, 6)
		p.Gemm(false, false, 2, 1, 3, x[:5], 3, x, 1, 0, x, 1)
	})
}

func TestProductsDoNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector has sync.Pool forget what it is given")
	}
	eachLibrary(t, func(t *testing.T, p *products) {
		const size = 300
		r := rand.New(rand.NewPCG(5, 6))
		a, b, c := random(r, size*size), random(r, size*size), make([]float32, size*size)
		if n := testing.AllocsPerRun(10, func() {
			p.Gemm(true, false, size, size, size, a, size, b, size, 0,
				c, size)
		}); n != 0 {
			t.Errorf("%v allocations a product, want 0", n)
		}
	})
}

// BenchmarkProducts runs the three products of a layer (forward, input gradient,
// weight gradient) at shapes of Persia's tower, beside the built-in ones.
func BenchmarkProducts(b *testing.B) {
	all := map[string]gemm.Products{"built-in": gemm.NewProducts(nil)}
	for _, name := range Names() {
		if p, err := openLibrary(name, nil); err == nil {
			all[name], all[name+"-bf16"] = p, gemm.BF16Products(p)
		}
	}
	for _, layer := range []struct{ samples, in, out int }{{256, 1024, 512}, {4096, 64, 32}, {16, 32, 16}} {
		r := rand.New(rand.NewPCG(7, 8))
		x, w, y := random(r, layer.samples*layer.in), random(r, layer.out*layer.in),
			random(r, layer.samples*layer.out)
		for name, p := range all {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", layer.samples, layer.in, layer.out, name), func(b *testing.B) {
				for b.Loop() {
					p.Gemm(false, true, layer.samples, layer.out, layer.in, x, layer.in, w, layer.in, 0, y,
						layer.out)
					p.Gemm(false, false, layer.samples, layer.in, layer.out, y, layer.out, w, layer.in, 0, x,
						layer.in)
					p.Gemm(true, false, layer.out, layer.in, layer.samples, y, layer.out, x, layer.in, 0, w,
						layer.in)
				}
				flops := 6 * float64(layer.samples) * float64(layer.in) * float64(layer.out)
				b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
