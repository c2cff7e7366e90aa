// Package kerneltest draws operands for the tests of the kernels and compares results.
package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// NegativeZero added to x is x for every x, −0 included.
var NegativeZero = float32(math.Copysign(0, -1))

// Random returns n values in (−1, 1), about one in eight of them 0 as after a ReLU.
func Random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		if r.IntN(8) > 0 {
			x[i] = 2*r.Float32() - 1
		}
	}
	return x
}

// Misaligned returns a copy of x that starts 4 bytes after the address that an
// allocation would have.
func Misaligned(x []float32) []float32 {
	y := make([]float32, len(x)+1)[1:]
	copy(y, x)
	return y
}

// Tame returns n values in (−1, 1), misaligned.
func Tame(r *rand.Rand, n int) []float32 { return Misaligned(Random(r, n)) }

// Awkward returns n values of any size, among them zeros of both signs, subnormal
// numbers, infinities and NaN, misaligned.
func Awkward(r *rand.Rand, n int) []float32 {
	special := []float32{0, NegativeZero, 1e-42, -1e-42, math.MaxFloat32,
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

// SameValues returns an error that names the first element in which x is not want.
// Zeros of both signs are the same value.
func SameValues(x, want []float32) error {
	for i := range x {
		if x[i] != want[i] {
			return fmt.Errorf("element %d is %v, want %v", i, x[i], want[i])
		}
	}
	return nil
}

// SameBits returns an error that names the first element in which x has other bits
// than want. All NaN are the same.
func SameBits(x, want []float32) error {
	for i := range x {
		if math.Float32bits(x[i]) != math.Float32bits(want[i]) && !(x[i] != x[i] && want[i] != want[i]) {
			return fmt.Errorf("element %d is %v, want %v", i, x[i], want[i])
		}
	}
	return nil
}

// WantSlice fails the test unless got has the values of want.
func WantSlice(t *testing.T, name string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has length %d, want %d", name, len(got), len(want))
	}
	if err := SameValues(got, want); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// WantPanic fails the test unless call panics with want.
func WantPanic(t *testing.T, name, want string, call func()) {
	t.Helper()
	defer func() {
		if got := recover(); got != want {
			t.Errorf("%s: panic %v, want %q", name, got, want)
		}
	}()
	call()
}
