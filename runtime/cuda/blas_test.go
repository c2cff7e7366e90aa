package cuda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tandem/runtime/cuda"
	"tandem/runtime/cuda/softgpu"
)

// stored returns numbers as memory of a type has them, and their values.
func stored(t cuda.Type, x []float32) (memory []byte, values []float64) {
	values = make([]float64, len(x))
	if t.Bytes() == 4 {
		for i, v := range x {
			values[i] = float64(v)
			if t == cuda.TF32 {
				values[i] = rounded(float64(v), 11)
			}
		}
		return cuda.Bytes(x), values
	}
	half := make([]uint16, len(x))
	for i, v := range x {
		if t == cuda.BF16 {
			values[i] = rounded(float64(v), 8)
			half[i] = uint16(math.Float32bits(float32(values[i])) >> 16)
			continue
		}
		if math.Abs(float64(v)) < 0x1p-14 {
			continue // 0, so that this function need not know subnormal numbers
		}
		values[i] = rounded(float64(v), 11)
		bits := math.Float32bits(float32(values[i]))
		half[i] = uint16(bits>>16&0x8000 | (bits&0x7fffffff-0x38000000)>>13)
	}
	return cuda.Bytes(half), values
}

// rounded rounds to a number of significant bits, ties to even.
func rounded(x float64, bits int) float64 {
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(fraction, bits)), exponent-bits)
}

// at returns number (i, j) of op(X), where the rows of X lie stride apart.
func at(x []float64, i, j, stride int, transposed bool) float64 {
	if transposed {
		i, j = j, i
	}
	return x[i*stride+j]
}

func random(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// TestProducts compares products with sums in float64 of the numbers that the type has.
func TestProducts(t *testing.T) {
	b := newBench(t)
	blas := must(b.device.NewBLAS())
	defer func() { b.check(blas.Close()) }()
	rng := rand.New(rand.NewPCG(1, 2))
	const m, n, k, gap = 7, 20, 12, 4
	for i, kind := range []cuda.Type{cuda.F32, cuda.TF32, cuda.BF16, cuda.F16} {
		for _, bias := range []bool{false, true} {
			for _, transposed := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
				p := cuda.Product{Rows: m, Columns: n, Inner: k, TransposeA: transposed[0],
					TransposeB: transposed[1], Type: kind, Bias: bias, StrideC: n + gap}
				if i%2 == 0 {
					p.Batch, p.BatchA, p.BatchB, p.BatchC = 3, m*k+8, n*k+8, m*(n+gap)
				}
				b.multiply(blas, p, rng)
			}
		}
	}
}

func (b bench) multiply(blas *cuda.BLAS, p cuda.Product, rng *rand.Rand) {
	b.Helper()
	const alpha, beta = 0.5, 2
	m, n, k, batch := p.Rows, p.Columns, p.Inner, max(p.Batch, 1)
	memoryA, valuesA := stored(p.Type, random(rng, (batch-1)*p.BatchA+m*k))
	memoryB, valuesB := stored(p.Type, random(rng, (batch-1)*p.BatchB+k*n))
	before, bias := random(rng, batch*m*p.StrideC), random(rng, n)
	dA, dB, dC, dBias := b.uploadBytes(memoryA), b.uploadBytes(memoryB), b.upload(before), b.upload(bias)
	plan := must(blas.Plan(p))
	b.check(b.stream.Multiply(plan, dA, dB, dC, dBias, alpha, beta))
	got := b.download(dC, len(before))
	b.check(plan.Close())
	strideA, strideB := k, n
	if p.TransposeA {
		strideA = m
	}
	if p.TransposeB {
		strideB = k
	}
	for x := range batch {
		for i := range m {
			for j := range p.StrideC {
				index := (x*m+i)*p.StrideC + j
				if j >= n {
					if got[index] != before[index] {
						b.Fatalf("%v: the gap after row %d was written", p, i)
					}
					continue
				}
				sum := 0.0
				for l := range k {
					sum += at(valuesA[x*p.BatchA:], i, l, strideA, p.TransposeA) *
						at(valuesB[x*p.BatchB:], l, j, strideB, p.TransposeB)
				}
				want := alpha*sum + beta*float64(before[index])
				if p.Bias {
					want += float64(bias[j])
				}
				// Sums of k numbers of about 1 in fp32.
				if math.Abs(float64(got[index])-want) > 1e-5 {
					b.Fatalf("%v, bias %v: number (%d, %d) of matrix %d is %v, want %v", p, p.Bias, i, j, x,
						got[index], want)
				}
			}
		}
	}
}

// TestNarrowResults multiplies by one, so that the result is the rounded number.
func TestNarrowResults(t *testing.T) {
	b := newBench(t)
	blas := must(b.device.NewBLAS())
	defer func() { b.check(blas.Close()) }()
	x := random(rand.New(rand.NewPCG(3, 4)), 64)
	for _, kind := range []cuda.Type{cuda.BF16, cuda.F16} {
		one, _ := stored(kind, []float32{1})
		memory, _ := stored(kind, x)
		dOne, dX, dC := b.uploadBytes(one), b.uploadBytes(memory), b.alloc(len(memory))
		plan := must(blas.Plan(cuda.Product{Rows: 1, Columns: len(x), Inner: 1, Type: kind, Out: kind}))
		b.check(b.stream.Multiply(plan, dOne, dX, dC, 0, 1, 0))
		got := make([]byte, len(memory))
		b.check(b.stream.CopyOut(got, dC))
		b.check(b.stream.Sync())
		if string(got) != string(memory) {
			t.Errorf("%v: numbers times one have other bits", kind)
		}
		b.check(plan.Close())
	}
}

func TestBadProducts(t *testing.T) {
	b := newBench(t)
	blas := must(b.device.NewBLAS())
	defer func() { b.check(blas.Close()) }()
	for _, c := range []struct {
		product cuda.Product
		want    string
	}{
		{cuda.Product{Rows: 2, Columns: 3},
			"cuda: a product of 2×0 by 0×3 in fp32, 1 times: sizes must be positive"},
		{cuda.Product{Rows: 2, Columns: 3, Inner: 4, StrideB: 2},
			"cuda: a product of 2×4 by 4×3 in fp32 has strides 4, 2, 3: the rows have 4, 3, 3 numbers"},
		{cuda.Product{Rows: 2, Columns: 3, Inner: 4, Out: cuda.BF16},
			"cuda: a product of 2×4 by 4×3 in fp32 cannot have a result in bf16: want fp32"},
	} {
		if _, err := blas.Plan(c.product); err == nil || err.Error() != c.want {
			t.Errorf("error %v\nwant  %s", err, c.want)
		}
	}
	plan := must(blas.Plan(cuda.Product{Rows: 1, Columns: 1, Inner: 1}))
	x := b.alloc(64)
	if err := b.stream.Multiply(plan, x.Add(4), x, x, 0, 1, 0); err == nil ||
		!strings.Contains(err.Error(), "want multiples of 16") {
		t.Errorf("error of a matrix at an odd address: %v", err)
	}
	b.check(plan.Close())
}

// TestCapturedProducts replays products whose bias changes between them.
func TestCapturedProducts(t *testing.T) {
	softgpu.Set(t, "TANDEM_SOFTGPU_SEED", "5")
	b := newBench(t)
	blas := must(b.device.NewBLAS())
	plan := must(blas.Plan(cuda.Product{Rows: 1, Columns: 4, Inner: 1, Bias: true}))
	one, x := b.upload([]float32{1}), b.upload(ramp(4))
	first, second := b.upload([]float32{10, 10, 10, 10}), b.upload([]float32{20, 20, 20, 20})
	c, d := b.alloc(16), b.alloc(16)
	b.check(b.stream.BeginCapture())
	b.check(b.stream.Multiply(plan, one, x, c, first, 2, 0))
	b.check(b.stream.Multiply(plan, one, c, d, second, 1, 0))
	graph := must(b.stream.EndCapture())
	for range 2 {
		b.check(b.stream.LaunchGraph(graph))
	}
	if got := fmt.Sprint(b.download(d, 4)); got != "[30 32 34 36]" {
		t.Errorf("the graph computes %s, want [30 32 34 36]", got)
	}
	for _, err := range []error{graph.Close(), plan.Close(), blas.Close()} {
		b.check(err)
	}
}
