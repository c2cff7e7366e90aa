package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"tandem/algo/numeric/kernel/internal/kerneltest"
	"tandem/algo/numeric/kernel/vec"
)

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
		a, b, c := kerneltest.Random(r, rowsA*(colsA+pad)), kerneltest.Random(r, rowsB*(colsB+pad)),
			kerneltest.Random(r, m*n)
		want := make([]float64, m*n)
		for i := range m {
			for j := range n {
				want[i*n+j] = float64(c[i*n+j])
				for l := range k {
					x, y := a[at(trans[0], i, l, colsA+pad)], b[at(trans[1], l, j, colsB+pad)]
					want[i*n+j] += float64(vec.FromBF16(vec.BF16(x))) * float64(vec.FromBF16(vec.BF16(y)))
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
