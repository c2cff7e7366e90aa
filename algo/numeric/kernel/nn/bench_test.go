package nn

import (
	"fmt"
	"testing"
	"time"

	"tandem/algo/numeric/kernel/vec"
)

// copyRate returns the bytes that a copy of n values reads and writes in a second,
// the best of several: the limit of what works element by element.
func copyRate(n int) float64 {
	from, to := make([]float32, n), make([]float32, n)
	best := 0.0
	for range 10 {
		began, bytes := time.Now(), 0
		for time.Since(began) < 5*time.Millisecond {
			for range 1 + 4096/n {
				copy(to, from)
				bytes += 8 * n
			}
		}
		best = max(best, float64(bytes)/time.Since(began).Seconds())
	}
	return best
}

// BenchmarkElementwise runs the kernels over matrices of 256 rows that fit the
// first-level cache, the second-level cache and neither, and reports the rate of
// what they read and write and its share of a copy's.
func BenchmarkElementwise(b *testing.B) {
	const rows = 256
	for _, cols := range []int{8, 256, 16384} {
		n := rows * cols
		limit := copyRate(n)
		// Ones everywhere: sums grow past 2²⁴ nowhere near infinity, roots and
		// quotients take their usual time.
		full := func() []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = 1
			}
			return x
		}
		x := make([][]float32, 8)
		for i := range x {
			x[i] = full()
		}
		row, row2, column := full()[:cols], full()[:cols], full()[:cols]
		for _, k := range []struct {
			name    string
			streams int // matrices read and written
			run     func()
		}{
			{"add", 3, func() { vec.Add(x[0], x[1]) }},
			{"add eight", 9, func() { vec.AddEight(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]) }},
			{"bias and relu", 2, func() { AddBiasReLU(x[0], rows, cols, row) }},
			{"bias and relu backward", 3, func() { AddBiasReLUBackward(row, x[0], x[1], rows, cols) }},
			{"column sums", 1, func() { vec.ColumnSums(row, x[0], rows, cols) }},
			{"gate backward", 9, func() { GateBackward(x[0], x[1], x[2], x[3], x[4], x[5]) }},
			{"cross-entropy", 3, func() { CrossEntropy(x[0], x[1], x[2], row[:1]) }},
			{"finite", 1, func() { vec.Finite(x[0]) }},
			{"sum of squares", 1, func() { vec.SumSquares(x[0]) }},
			{"sgd", 3, func() { Descend(x[0], x[1], 1e-9) }},
			{"adagrad", 5, func() { AdagradAfter(x[0], x[1], x[2], 1e-9, 1e-8) }},
			{"adam", 7, func() {
				Adam(x[0], x[1], x[2], x[3],
					AdamFactors{1e-9, 1, 1e-8, 0.9, 0.999, 0.1, 0.001})
			}},
			// Two passes over x for the moments, a third that writes two matrices.
			{"batch norm", 5, func() {
				BatchNormTrain(x[0], x[1], x[2], rows, cols, row, row, 1e-5, row2, column, column)
			}},
			{"batch norm backward", 5, func() {
				BatchNormBackward(x[0], x[1], rows, cols, row, row, row2,
					column)
			}},
		} {
			b.Run(fmt.Sprintf("%s/%dx%d", k.name, rows, cols), func(b *testing.B) {
				for b.Loop() {
					k.run()
				}
				rate := float64(4*n*k.streams) * float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rate/1e9, "GB/s")
				b.ReportMetric(100*rate/limit, "%copy")
			})
		}
	}
}
