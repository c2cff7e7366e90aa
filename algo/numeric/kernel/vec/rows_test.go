package vec

import (
	"math"
	"testing"

	"tandem/algo/numeric/kernel/internal/kerneltest"
)

func TestRowSums(t *testing.T) {
	dst := []float32{1, 2}
	Axpy(dst, 2, []float32{10, 20})
	kerneltest.WantSlice(t, "axpy", dst, []float32{21, 42})
	Add(dst, []float32{-1, -2})
	kerneltest.WantSlice(t, "add", dst, []float32{20, 40})

	x := []float32{1, 2, 3, 4, 5, 6}
	AddBias(x, 3, 2, []float32{10, 20})
	kerneltest.WantSlice(t, "bias", x, []float32{11, 22, 13, 24, 15, 26})

	sums := []float32{7, 7}
	ColumnSums(sums, x, 3, 2)
	kerneltest.WantSlice(t, "column sums", sums, []float32{39, 72}) // 11+13+15, 22+24+26
	ColumnSums(sums, nil, 0, 2)
	kerneltest.WantSlice(t, "column sums of nothing", sums, []float32{0, 0})
}

func TestCopyColumnsJoinsAndSplits(t *testing.T) {
	left, right := []float32{1, 2, 3, 4}, []float32{5, 6}
	joint := make([]float32, 6)
	CopyColumns(joint, 3, 0, left, 2, 0, 2, 2)
	CopyColumns(joint, 3, 2, right, 1, 0, 2, 1)
	kerneltest.WantSlice(t, "joint", joint, []float32{1, 2, 5, 3, 4, 6})
	back := make([]float32, 2)
	CopyColumns(back, 1, 0, joint, 3, 2, 2, 1)
	kerneltest.WantSlice(t, "right half", back, right)
}

func TestFinite(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, tt := range []struct {
		name string
		x    []float32
		want bool
	}{
		{"empty", nil, true},
		{"largest and smallest", []float32{math.MaxFloat32, -math.SmallestNonzeroFloat32, 0}, true},
		{"infinity", []float32{0, inf}, false},
		{"minus infinity", []float32{-inf, 0}, false},
		{"NaN", []float32{1, inf - inf, 1}, false},
	} {
		if got := Finite(tt.x); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRowKernelsPanicWithBothSizes(t *testing.T) {
	x := make([]float32, 4)
	kerneltest.WantPanic(t, "axpy", "kernel: len(x) = 3, want 4", func() { Axpy(x, 1, x[:3]) })
	kerneltest.WantPanic(t, "bias", "kernel: len(bias) = 1, want at least 2",
		func() { AddBias(x, 2, 2, x[:1]) })
}
