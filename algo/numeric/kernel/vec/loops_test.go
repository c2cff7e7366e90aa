package vec

import (
	"math"
	"testing"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
)

// use makes the package use a set of instructions.
func use(set isa.Set) { active = bySet[set] }

var cases = []kerneltest.Case{
	{Name: "axpy", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, y := draw(rows*cols), draw(rows*cols)
		Axpy(x, draw(1)[0], y)
		return [][]float32{x}
	}},
	{Name: "add", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, y := draw(rows*cols), draw(rows*cols)
		Add(x, y)
		return [][]float32{x}
	}},
	{Name: "add columns", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, y := draw(rows*(cols+4)), draw(rows*(cols+3))
		AddColumns(x, cols+4, 1, y, cols+3, 2, rows, cols)
		return [][]float32{x}
	}},
	{Name: "copy columns", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, y := draw(rows*(cols+4)), draw(rows*(cols+3))
		CopyColumns(x, cols+4, 1, y, cols+3, 2, rows, cols)
		return [][]float32{x}
	}},
	{Name: "add four", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		x := draw(n)
		AddFour(x, draw(n), draw(n), draw(n))
		return [][]float32{x}
	}},
	{Name: "add eight", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		x := draw(n)
		AddEight(x, draw(n), draw(n), draw(n), draw(n), draw(n), draw(n), draw(n))
		return [][]float32{x}
	}},
	{Name: "scale", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		Scale(x, draw(1)[0])
		return [][]float32{x}
	}},
	{Name: "divide", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		Divide(x, draw(1)[0])
		return [][]float32{x}
	}},
	{Name: "quotient", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		Quotient(x, draw(rows*cols), draw(1)[0])
		return [][]float32{x}
	}},
	{Name: "add bias", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows*cols + 5)
		AddBias(x, rows, cols, draw(cols))
		return [][]float32{x}
	}},
	{Name: "column sums", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		sums := draw(cols + 5)
		ColumnSums(sums, draw(rows*cols), rows, cols)
		return [][]float32{sums}
	}},
	{Name: "sum of squares", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		s := SumSquares(draw(rows * cols))
		return [][]float32{{float32(s), float32(s - float64(float32(s)))}}
	}},
}

func TestLoopsHaveTheSameBitsOnEverySet(t *testing.T) { kerneltest.SameBitsOnEverySet(t, cases, use) }

func TestKernelsDoNotAllocate(t *testing.T) { kerneltest.NoAllocation(t, cases) }

func TestFiniteFindsOneValueAnywhere(t *testing.T) {
	kerneltest.OnEverySet(t, use, func(t *testing.T) {
		x := make([]float32, finiteBlock+200)
		for i := range x {
			x[i] = -math.MaxFloat32
		}
		if !Finite(x) {
			t.Error("Finite is false for finite values")
		}
		for i := 0; i < len(x); i += 37 {
			for _, v := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
				x[i] = v
				if Finite(x) {
					t.Errorf("Finite misses %v at %d", v, i)
				}
			}
			x[i] = 0
		}
	})
}
