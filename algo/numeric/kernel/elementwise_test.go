package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
)

// onEverySet runs a test with each set of instructions that the machine has.
func onEverySet(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	defer func() { set = isa.Best() }()
	for _, s := range isa.Sets() {
		set = s
		t.Run(s.String(), test)
	}
}

// awkward returns n values of any size, among them zeros of both signs, numbers
// that are nearly 0, infinities and NaN, 4 bytes off the address of an allocation.
func awkward(r *rand.Rand, n int) []float32 {
	special := []float32{0, float32(math.Copysign(0, -1)), 1e-42, -1e-42, math.MaxFloat32,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	x := make([]float32, n+1)[1:]
	for i := range x {
		x[i] = float32(r.NormFloat64())
		if k := r.IntN(40); k < len(special) {
			x[i] = special[k]
		}
	}
	return x
}

// tame returns n values in (−1, 1), misaligned.
func tame(r *rand.Rand, n int) []float32 { return misaligned(random(r, n)) }

// elementwise are the kernels that work element by element: each returns all that
// it wrote, padding included, given matrices of rows × cols values drawn by draw.
var elementwise = []struct {
	name string
	run  func(draw func(n int) []float32, rows, cols int) [][]float32
}{
	{"axpy", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, y := draw(rows*cols), draw(rows*cols)
		Axpy(x, draw(1)[0], y)
		return [][]float32{x}
	}},
	{"add", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, y := draw(rows*cols), draw(rows*cols)
		Add(x, y)
		return [][]float32{x}
	}},
	{"add columns", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, y := draw(rows*(cols+4)), draw(rows*(cols+3))
		AddColumns(x, cols+4, 1, y, cols+3, 2, rows, cols)
		return [][]float32{x}
	}},
	{"copy columns", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, y := draw(rows*(cols+4)), draw(rows*(cols+3))
		CopyColumns(x, cols+4, 1, y, cols+3, 2, rows, cols)
		return [][]float32{x}
	}},
	{"add four", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		x := draw(n)
		AddFour(x, draw(n), draw(n), draw(n))
		return [][]float32{x}
	}},
	{"add eight", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		x := draw(n)
		AddEight(x, draw(n), draw(n), draw(n), draw(n), draw(n), draw(n), draw(n))
		return [][]float32{x}
	}},
	{"scale", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		Scale(x, draw(1)[0])
		return [][]float32{x}
	}},
	{"divide", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		Divide(x, draw(1)[0])
		return [][]float32{x}
	}},
	{"add bias", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows*cols + 5)
		AddBias(x, rows, cols, draw(cols))
		return [][]float32{x}
	}},
	{"column sums", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		sums := draw(cols + 5)
		ColumnSums(sums, draw(rows*cols), rows, cols)
		return [][]float32{sums}
	}},
	{"relu", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		ReLU(x)
		return [][]float32{x}
	}},
	{"bias and relu", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows*cols + 5)
		AddBiasReLU(x, rows, cols, draw(cols))
		return [][]float32{x}
	}},
	{"relu backward", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		ReLUBackward(x, draw(rows*cols))
		return [][]float32{x}
	}},
	{"bias and relu backward", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		sums, x := draw(cols+5), draw(rows*cols+5)
		AddBiasReLUBackward(sums, x, draw(rows*cols), rows, cols)
		return [][]float32{sums, x}
	}},
	{"gate", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		out := draw(n)
		Gate(out, draw(n), draw(n), draw(n))
		return [][]float32{out}
	}},
	{"gate backward", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		x, y := draw(n), draw(n)
		GateBackward(x, y, x, draw(n), draw(n), draw(n)) // x and z in one value
		return [][]float32{x, y}
	}},
	{"sgd", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		w, g := draw(rows*cols), draw(rows*cols)
		Descend(w, g, 0.1)
		return [][]float32{w}
	}},
	{"adagrad after", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		w, s := draw(n), draw(n)
		AdagradAfter(w, s, draw(n), 0.1, 1e-8)
		return [][]float32{w, s}
	}},
	{"adagrad before", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		w, s := draw(n), draw(n)
		AdagradBefore(w, s, draw(n), 0.1, 1e-8)
		return [][]float32{w, s}
	}},
	{"adam", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		w, m, s := draw(n), draw(n), draw(n)
		Adam(w, m, s, draw(n), AdamFactors{0.01, 3, 1e-8, 0.9, 0.999, 0.1, 0.001})
		return [][]float32{w, m, s}
	}},
	{"sum of squares", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		s := SumSquares(draw(rows * cols))
		return [][]float32{{float32(s), float32(s - float64(float32(s)))}}
	}},
	{"batch norm", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		out, normalized, grad := draw(n+5), draw(n+5), draw(n+5)
		gamma, beta := draw(cols), draw(cols)
		mean, variance, inverse := draw(cols+1), draw(cols+1), draw(cols+1)
		gradGamma, gradBeta := draw(cols+1), draw(cols+1)
		BatchNormTrain(out, normalized, draw(n), rows, cols, gamma, beta, 1e-5, mean, variance, inverse)
		BatchNormBackward(grad, normalized, rows, cols, gamma, inverse, gradGamma, gradBeta)
		eval := draw(n + 5)
		BatchNormEval(eval, draw(n), rows, cols, gamma, beta, 1e-5, mean, variance)
		return [][]float32{out, normalized, mean, variance, inverse, grad, gradGamma, gradBeta, eval}
	}},
	{"cross-entropy", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		weights, grad := draw(cols%3+1), draw(rows*cols)
		loss := CrossEntropy(grad, draw(rows*cols), draw(rows*cols), weights)
		alone := CrossEntropy(nil, draw(rows*cols), draw(rows*cols), weights)
		return [][]float32{{float32(loss), float32(loss - float64(float32(loss))), float32(alone)}, grad}
	}},
	{"pair sum", func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, gradX := draw(rows*cols), draw(rows*cols)
		sums, squares := make([]float64, cols), make([]float64, cols)
		sum := PairSum(sums, squares, x)
		PairSumBackward(gradX, x, sums, draw(1)[0])
		return [][]float32{{float32(sum)}, gradX}
	}},
}

func TestElementwiseKernelsHaveTheBitsOfTheirScalarTwins(t *testing.T) {
	defer func() { set = isa.Best() }()
	for _, k := range elementwise {
		t.Run(k.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rows, cols := rapid.IntRange(0, 9).Draw(t, "rows"), rapid.OneOf(rapid.IntRange(0, 40), rapid.SampledFrom([]int{255, 256, 257, 600})).Draw(t, "cols")
				seed := rapid.Uint64().Draw(t, "seed")
				values := rapid.SampledFrom([]func(*rand.Rand, int) []float32{awkward, tame}).Draw(t, "values")
				run := func(s isa.Set) [][]float32 {
					set = s
					r := rand.New(rand.NewPCG(seed, 0))
					return k.run(func(n int) []float32 { return values(r, n) }, rows, cols)
				}
				want := run(isa.Portable)
				for _, s := range isa.Sets()[1:] {
					for i, got := range run(s) {
						if err := sameBits(got, want[i]); err != nil {
							t.Fatalf("%v, output %d: %v", s, i, err)
						}
					}
				}
			})
		})
	}
}

func TestFiniteFindsOneValueAnywhere(t *testing.T) {
	onEverySet(t, func(t *testing.T) {
		x := make([]float32, blockOfChecks+200)
		for i := range x {
			x[i] = -math.MaxFloat32
		}
		if !Finite(x) {
			t.Error("finite values are said not to be")
		}
		for i := 0; i < len(x); i += 37 {
			for _, v := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
				x[i] = v
				if Finite(x) {
					t.Errorf("%v at %d is not seen", v, i)
				}
			}
			x[i] = 0
		}
	})
}

func TestElementwiseKernelsDoNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range elementwise {
		buffer := random(r, 1<<14)
		var taken int
		draw := func(n int) []float32 { taken += n; return buffer[taken-n : taken] }
		// What a case itself allocates is the list of its outputs, and of pair sum its scratch.
		own := testing.AllocsPerRun(5, func() { taken = 0; k.run(draw, 0, 33) })
		if got := testing.AllocsPerRun(5, func() { taken = 0; k.run(draw, 7, 33) }); got > own {
			t.Errorf("%s: %v allocations, want %v", k.name, got, own)
		}
	}
}
