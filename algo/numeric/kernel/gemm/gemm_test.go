package gemm

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
)

// nearValues returns an error for the first element in which y is not nearly x, which is a sum of up to some
// hundred terms below 1.
func nearValues(x, y []float32) error {
	for i := range x {
		if !(math.Abs(float64(x[i]-y[i])) <= 1e-3) {
			return fmt.Errorf("element %d is %v, want about %v", i, x[i], y[i])
		}
	}
	return nil
}

// backwards is a pool that runs its tasks on the calling goroutine, the last one first.
type backwards struct{}

func (backwards) Size() int { return 3 }

func (backwards) ForEach(tasks int, task func(index int)) {
	for i := tasks - 1; i >= 0; i-- {
		task(i)
	}
}

// forSets runs a test for the products of every instruction set.
func forSets(t *testing.T, test func(t *testing.T, set isa.Set)) {
	for _, set := range isa.Sets() {
		t.Run(set.String(), func(t *testing.T) { test(t, set) })
	}
}

// gemm is the signature of a product.
type gemm = func(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32,
	c []float32, ldc int)

// gemmRounded is Scalar with every operation rounded: what portable products
// are held to, up to the sign of a zero.
func gemmRounded(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32,
	c []float32, ldc int) {
	scaleRows(m, n, beta, c, ldc)
	for i := range m {
		for j := range n {
			for l := range k {
				if x := a[at(transA, i, l, lda)]; x != 0 {
					c[i*ldc+j] += float32(x * b[at(transB, l, j, ldb)])
				}
			}
		}
	}
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
	forms := []gemm{Scalar, gemmRounded}
	for _, set := range isa.Sets() {
		forms = append(forms, newProducts(nil, set).Gemm)
	}
	for _, gemm := range forms {
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
			if err := kerneltest.SameValues(c, want); err != nil {
				t.Errorf("transA %v, transB %v: %v", tt.transA, tt.transB, err)
			}
		}
	}
}

// operands are those of a product, at strides of their own.
type operands struct {
	transA, transB bool
	m, n, k        int
	a, b, c        []float32
	lda, ldb, ldc  int
	beta           float32
}

func drawOperands(t *rapid.T, sizes *rapid.Generator[int]) operands {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	o := operands{transA: rapid.Bool().Draw(t, "transA"), transB: rapid.Bool().Draw(t, "transB"),
		m: sizes.Draw(t, "m"), n: sizes.Draw(t, "n"), k: sizes.Draw(t, "k"),
		beta: rapid.SampledFrom([]float32{0, 1, 0.3}).Draw(t, "beta")}
	pad := rapid.IntRange(0, 3).Draw(t, "padding")
	rowsA, rowsB := o.m, o.k
	o.lda, o.ldb, o.ldc = o.k+pad, o.n+pad, o.n+pad
	if o.transA {
		rowsA, o.lda = o.k, o.m+pad
	}
	if o.transB {
		rowsB, o.ldb = o.n, o.k+pad
	}
	o.a, o.b, o.c = kerneltest.Misaligned(kerneltest.Random(r, rowsA*o.lda)),
		kerneltest.Misaligned(kerneltest.Random(r, rowsB*o.ldb)), kerneltest.Random(r, o.m*o.ldc)
	return o
}

// result returns C after a product; padding included, which must stay.
func (o operands) result(gemm gemm) []float32 {
	c := kerneltest.Misaligned(o.c)
	gemm(o.transA, o.transB, o.m, o.n, o.k, o.a, o.lda, o.b, o.ldb, o.beta, c, o.ldc)
	return c
}

// drawSize draws a size that is 0, small, or just past a block border.
func drawSize() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(0, 50), rapid.SampledFrom([]int{63, 65, 129, 257}))
}

func TestGemmHasTheBitsOfItsScalarTwin(t *testing.T) {
	forSets(t, func(t *testing.T, set isa.Set) {
		alone, pooled := newProducts(nil, set), newProducts(backwards{}, set)
		rapid.Check(t, func(t *rapid.T) {
			o := drawOperands(t, drawSize())
			if set == isa.Portable {
				same := kerneltest.SameValues
				if runtime.GOARCH != "amd64" {
					same = nearValues // there the compiler may fuse in gonum's loops
				}
				if err := same(o.result(alone.Gemm), o.result(gemmRounded)); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := o.result(Scalar)
			if err := kerneltest.SameBits(o.result(alone.Gemm), want); err != nil {
				t.Fatal(err)
			}
			if err := kerneltest.SameBits(o.result(pooled.Gemm), want); err != nil {
				t.Fatalf("with a pool: %v", err)
			}
		})
	})
}

// Every border of a block is crossed; all sets and pool sizes agree, and a few rows are computed by the
// scalar form.
func TestGemmOverManyBlocks(t *testing.T) {
	for _, size := range [][3]int{
		{1020, 70, 600},   // tasks of rows
		{70, 1100, 600},   // tasks of columns, or a turned product
		{1030, 1040, 300}, // A packed for all in three parts
		{2100, 2080, 600}, // B packed for all in two parts, two depths at a time
		{1, 5000, 1}, {5000, 1, 1}, {1, 1, 5000},
	} {
		m, n, k := size[0], size[1], size[2]
		r := rand.New(rand.NewPCG(9, 10))
		for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}} {
			o := operands{transA: trans[0], transB: trans[1], m: m, n: n, k: k, beta: 1,
				a: kerneltest.Random(r, m*k), b: kerneltest.Random(r, k*n), c: kerneltest.Random(r, m*n),
				lda: k, ldb: n, ldc: n}
			if o.transA {
				o.lda = m
			}
			if o.transB {
				o.ldb = k
			}
			for _, set := range isa.Sets()[1:] {
				got := o.result(newProducts(backwards{}, set).Gemm)
				for _, i := range []int{0, m / 3, m - 1} {
					want := slices.Clone(o.c[i*n : (i+1)*n])
					Scalar(o.transA, o.transB, 1, n, k, o.a[at(o.transA, i, 0, o.lda):], o.lda, o.b, o.ldb,
						1, want, n)
					if err := kerneltest.SameBits(got[i*n:(i+1)*n], want); err != nil {
						t.Fatalf("%v, %dx%dx%d, transposed %v, row %d: %v", set, m, n, k, trans, i, err)
					}
				}
			}
		}
	}
}

// What gonum may skip, assembly shows: 0·Inf and 0·NaN are NaN.
func TestGemmShowsWhatIsNotFinite(t *testing.T) {
	for _, set := range isa.Sets()[1:] {
		for _, bad := range []float32{float32(math.Inf(1)), float32(math.NaN())} {
			r := rand.New(rand.NewPCG(11, 12))
			o := operands{m: 20, n: 50, k: 30, a: make([]float32, 20*30), b: kerneltest.Random(r, 30*50),
				c: make([]float32, 20*50), lda: 30, ldb: 50, ldc: 50}
			o.b[7*50+33] = bad
			c := o.result(newProducts(nil, set).Gemm)
			for i := range c {
				if nan := c[i] != c[i]; nan != (i%50 == 33) {
					t.Fatalf("%v: element %d is %v though only column 33 of B has %v", set, i, c[i], bad)
				}
			}
			if err := kerneltest.SameBits(c, o.result(Scalar)); err != nil {
				t.Errorf("%v: %v", set, err)
			}
		}
	}
}

// The float32 nearest to the exact x·y + z, ties to even, equals the result of math/big.
func TestFusedMultiplyAddRoundsOnce(t *testing.T) {
	any := rapid.Custom(func(t *rapid.T) float32 {
		return math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
	})
	near := rapid.Custom(func(t *rapid.T) float32 { // sums that cancel and tie
		return float32(math.Ldexp(float64(rapid.IntRange(-1<<24, 1<<24).Draw(t, "digits")),
			rapid.IntRange(-40, 10).Draw(t, "exponent")))
	})
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SampledFrom([]*rapid.Generator[float32]{any, near}).Draw(t, "kind")
		x, y, z := draw.Draw(t, "x"), draw.Draw(t, "y"), draw.Draw(t, "z")
		if rapid.Bool().Draw(t, "halfway") { // z, then half of its last digit, and a trifle
			x, y = float32(math.Ldexp(1, -25+math.Ilogb(float64(z)))),
				1+float32(rapid.IntRange(-1, 1).Draw(t, "trifle"))/(1<<23)
		}
		got := fusedMultiplyAdd(x, y, z)
		sum := float64(x)*float64(y) + float64(z)
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			if float32(sum) != got && got == got {
				t.Fatalf("%v·%v + %v = %v, want %v", x, y, z, got, sum)
			}
			return
		}
		exact := new(big.Float).SetPrec(1000)
		exact.Mul(exact.SetFloat64(float64(x)), big.NewFloat(float64(y)))
		exact.Add(exact, big.NewFloat(float64(z)))
		if want, _ := exact.Float32(); got != want {
			t.Fatalf("%v·%v + %v = %v, want %v", x, y, z, got, want)
		}
	})
}

func TestGemmIsNearTheFloat64Product(t *testing.T) {
	// Higham, Accuracy and Stability, 3.5: |error| ≤ γ_{k+2}·|A|·|B| with
	// γ_k ≈ k·u and u = 2⁻²⁴. All factors are below 1 in size, so |A|·|B| < k.
	const m, n, k = 5, 70, 300
	const bound = (k + 2) * k * (1.0 / (1 << 24))
	r := rand.New(rand.NewPCG(1, 2))
	a, b, c := kerneltest.Random(r, m*k), kerneltest.Random(r, n*k), make([]float32, m*n)
	NewProducts(nil).Gemm(false, true, m, n, k, a, k, b, k, 0, c, n)
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
	forSets(t, rowDoesNotDependOnOtherRows)
}

func rowDoesNotDependOnOtherRows(t *testing.T, set isa.Set) {
	gemm := newProducts(nil, set).Gemm
	const m, n, k = 67, 130, 70
	r := rand.New(rand.NewPCG(3, 4))
	a, b := kerneltest.Random(r, m*k), kerneltest.Random(r, k*n)
	for _, transB := range []bool{false, true} {
		ldb := n
		if transB {
			ldb = k
		}
		all, one := make([]float32, m*n), make([]float32, n)
		gemm(false, transB, m, n, k, a, k, b, ldb, 0, all, n)
		for i := range m {
			gemm(false, transB, 1, n, k, a[i*k:], k, b, ldb, 0, one, n)
			if err := kerneltest.SameValues(one, all[i*n:(i+1)*n]); err != nil {
				t.Fatalf("row %d, transB %v: %v", i, transB, err)
			}
		}
	}
}

func TestGemmOverwritesNaNWhenBetaIsZero(t *testing.T) {
	forSets(t, func(t *testing.T, set isa.Set) {
		c := []float32{float32(math.NaN())}
		newProducts(nil, set).Gemm(false, false, 1, 1, 1, []float32{2}, 1, []float32{3}, 1, 0, c, 1)
		if c[0] != 6 {
			t.Errorf("c = %v, want 6", c[0])
		}
	})
}

func TestGemmPanicsWithBothSizes(t *testing.T) {
	forSets(t, panicsWithBothSizes)
}

func panicsWithBothSizes(t *testing.T, set isa.Set) {
	x, gemm := make([]float32, 6), newProducts(nil, set).Gemm
	for _, tt := range []struct {
		name, want string
		call       func()
	}{
		{"short a", "kernel: len(a) = 5, want at least 6",
			func() { gemm(false, false, 2, 1, 3, x[:5], 3, x, 1, 0, x, 1) }},
		{"stride", "kernel: ldb = 1, want at least 2",
			func() { gemm(false, false, 2, 2, 3, x, 3, x, 1, 0, x, 2) }},
		{"negative", "kernel: gemm of size m=-1, n=1, k=1, want none negative",
			func() { gemm(false, false, -1, 1, 1, x, 1, x, 1, 0, x, 1) }},
	} {
		kerneltest.WantPanic(t, tt.name, tt.want, tt.call)
	}
}

func TestGemmDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector a sync.Pool forgets at kerneltest.Random")
	}
	forSets(t, doesNotAllocate)
}

func doesNotAllocate(t *testing.T, set isa.Set) {
	const size = 203 // which ends within a register
	gemm := newProducts(backwards{}, set).Gemm
	r := rand.New(rand.NewPCG(5, 6))
	a, b, c := kerneltest.Random(r, size*size), kerneltest.Random(r, size*size), make([]float32, size*size)
	for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		allocs := testing.AllocsPerRun(2, func() {
			gemm(trans[0], trans[1], size, size, size, a, size, b, size, 0, c, size)
		})
		if allocs != 0 {
			t.Errorf("transposed %v: %v allocations, want 0", trans, allocs)
		}
	}
}
