package cuda_test

import (
	"math/rand/v2"
	"testing"

	"tandem/runtime/cuda"
	"tandem/runtime/cuda/softgpu"
)

// The software GPU counts what a launch reads, what it only writes, and what it does both with.
func TestMovedBytes(t *testing.T) {
	softgpu.Only(t)
	b := newBench(t)
	const n = 5000 // values, of five pages
	x, y := b.upload(random(rand.New(rand.NewPCG(1, 2)), n)), b.alloc(4*n)
	axpy := func() {
		b.launch("axpy", cuda.Size{X: (n + 255) / 256}, cuda.Size{X: 256}, 0, cuda.Pointer(y),
			cuda.Pointer(x), cuda.Float(1), cuda.Int(n))
	}
	moved := func(kernel string, launch func()) softgpu.Moved {
		before := softgpu.MovedBy(t, kernel)
		launch()
		b.check(b.stream.Sync())
		now := softgpu.MovedBy(t, kernel)
		return softgpu.Moved{Launches: now.Launches - before.Launches, Read: now.Read - before.Read,
			Written: now.Written - before.Written}
	}
	if got := moved("axpy", axpy); got != (softgpu.Moved{}) {
		t.Errorf("counted %+v, which was not asked for", got)
	}
	softgpu.Set(t, "TANDEM_SOFTGPU_MOVED", "1")
	for _, c := range []struct {
		kernel string
		launch func()
		want   softgpu.Moved
	}{
		{"axpy", axpy, softgpu.Moved{Launches: 1, Read: 8 * n, Written: 4 * n}},
		{"fill", func() {
			b.launch("fill", cuda.Size{X: 1}, cuda.Size{X: 1}, 0, cuda.Pointer(y), cuda.Int(n), cuda.Float(1))
		}, softgpu.Moved{Launches: 1, Written: 4 * n}},
	} {
		if got := moved(c.kernel, c.launch); got != c.want {
			t.Errorf("%s: counted %+v, want %+v", c.kernel, got, c.want)
		}
	}
	blas := must(b.device.NewBLAS())
	plan := must(blas.Plan(cuda.Product{Rows: 100, Columns: 50, Inner: 40, Type: cuda.BF16, Out: cuda.BF16}))
	left, right, out := b.alloc(2*100*40), b.alloc(2*40*50), b.alloc(2*100*50)
	for _, beta := range []float32{0, 1} {
		want := softgpu.Moved{Launches: 1, Read: 2 * (100*40 + 40*50), Written: 2 * 100 * 50}
		if beta != 0 {
			want.Read += want.Written
		}
		multiply := func() { b.check(b.stream.Multiply(plan, left, right, out, 0, 1, beta)) }
		if got := moved("product", multiply); got != want {
			t.Errorf("a product, beta %v: counted %+v, want %+v", beta, got, want)
		}
	}
	b.check(plan.Close())
	b.check(blas.Close())
}
