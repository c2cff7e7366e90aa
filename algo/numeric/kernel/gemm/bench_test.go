package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
)

// BenchmarkGemm runs the three products of a layer (forward, input gradient,
// weight gradient) at shapes of Persia's tower, of the default network and of
// tiny ones, on one core.
func BenchmarkGemm(b *testing.B) {
	for _, set := range isa.Sets() {
		gemm := newProducts(nil, set).Gemm
		for _, layer := range []struct{ samples, in, out int }{
			{512, 4096, 2048}, {256, 1024, 512}, {32, 4096, 2048}, {64, 512, 256}, {512, 256, 1},
			{64, 208, 64}, {16, 13, 64},
		} {
			if set == isa.Portable && layer.samples*layer.in*layer.out > 1<<24 {
				continue
			}
			benchmarkLayer(b, set, gemm, layer.samples, layer.in, layer.out)
		}
	}
}

func benchmarkLayer(b *testing.B, set isa.Set, gemm gemm, samples, in, out int) {
	r := rand.New(rand.NewPCG(7, 8))
	x, w, y := kerneltest.Random(r, samples*in), kerneltest.Random(r, out*in),
		kerneltest.Random(r, samples*out)
	for _, product := range []struct {
		name string
		run  func()
	}{
		{"forward", func() { gemm(false, true, samples, out, in, x, in, w, in, 0, y, out) }},
		{"input", func() { gemm(false, false, samples, in, out, y, out, w, in, 0, x, in) }},
		{"weight", func() { gemm(true, false, out, in, samples, y, out, x, in, 0, w, in) }},
	} {
		b.Run(fmt.Sprintf("%v/%s/%dx%dx%d", set, product.name, samples, in, out), func(b *testing.B) {
			for b.Loop() {
				product.run()
			}
			rate := 2 * float64(samples*in*out) * float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate/1e9, "GFLOP/s")
		})
	}
}
