package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tandem/algo/numeric/isa"
)

// peak returns the most operations a second that one core was seen to do just
// now: multiply-adds in registers, the best of a few short runs.
func peak(set isa.Set) float64 {
	best := 0.0
	for range 5 {
		start := time.Now()
		flops := BareLoop(set, 100_000)
		best = max(best, flops/time.Since(start).Seconds())
	}
	return best
}

// BenchmarkGemm runs the three products of a layer (forward, input gradient,
// weight gradient) at shapes of Persia's tower, of the default network and of
// tiny ones, on one core, and reports the share of the core's peak.
func BenchmarkGemm(b *testing.B) {
	for _, set := range isa.Sets() {
		gemm := newProducts(nil, set).Gemm
		for _, layer := range []struct{ samples, in, out int }{
			{512, 4096, 2048}, {256, 1024, 512}, {32, 4096, 2048}, {64, 512, 256}, {512, 256, 1}, {64, 208, 64}, {16, 13, 64},
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
	x, w, y := random(r, samples*in), random(r, out*in), random(r, samples*out)
	for _, product := range []struct {
		name string
		run  func()
	}{
		{"forward", func() { gemm(false, true, samples, out, in, x, in, w, in, 0, y, out) }},
		{"input", func() { gemm(false, false, samples, in, out, y, out, w, in, 0, x, in) }},
		{"weight", func() { gemm(true, false, out, in, samples, y, out, x, in, 0, w, in) }},
	} {
		b.Run(fmt.Sprintf("%v/%s/%dx%dx%d", set, product.name, samples, in, out), func(b *testing.B) {
			limit := peak(set)
			for b.Loop() {
				product.run()
			}
			rate := 2 * float64(samples*in*out) * float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate/1e9, "GFLOP/s")
			if limit > 0 {
				b.ReportMetric(100*rate/limit, "%peak")
			}
		})
	}
}
