package device

import (
	"fmt"

	"tandem/algo/unit"
)

// Product is a batch of products of an M×K and a K×N matrix.
type Product struct {
	Batch, M, N, K int
	Value          unit.Bytes // of an element of the three matrices
	Precision      Precision
}

// tile is a part of an output matrix that one unit of an accelerator computes at a time.
type tile struct {
	rows, columns int
	// rate is the speed of a unit, relative to its speed with the largest tile: a smaller tile loads more
	// values for each multiplication.
	rate float64
}

// tiles are the tiles that libraries choose from. The guide below gives their order; the rates are guesses.
var tiles = [...]tile{{256, 128, 1}, {128, 256, 1}, {128, 128, 0.93}, {128, 64, 0.8}, {64, 128, 0.8},
	{64, 64, 0.62}}

// The depth of products.
const (
	depthStep  = 8   // matrix units multiply this many values at a time
	splitDepth = 512 // the smallest part of a product that is worth a unit of its own
	splitRate  = 0.95
)

// MatMul returns the kernel of a batch of matrix products, one launch. Its FLOPs are 2 · batch · M · N · K,
// its bytes those of the three matrices, and its fill is that of the best of six tiles:
//
//	fill = rate · FLOPs / (waves · units · FLOPs of a tile),  waves = ⌈tiles / units⌉
//
// because tiles at the edges are computed whole (tile quantization), and units wait for the last tiles of the
// last wave (wave quantization). If there are fewer tiles than half of the units, several units share the
// depth of a tile, each at least 512, and their sums are added up. MatMul panics if a size is less than 1.
//
// Source: NVIDIA, "Matrix Multiplication Background User's Guide" (2023), sections on tile and wave
// quantization. Deviation: real libraries choose by heuristics and do not always find the best tile.
func (a *Accelerator) MatMul(p Product) Kernel {
	if p.Batch < 1 || p.M < 1 || p.N < 1 || p.K < 1 || p.Value < 1 {
		panic(fmt.Sprintf("device: %d products of %d×%d and %d×%d of %d B, want at least 1 each", p.Batch,
			p.M, p.K,
			p.K, p.N, p.Value))
	}
	m, n, k := float64(p.M), float64(p.N), float64(p.K)
	batch := float64(p.Batch)
	best := 0.0
	for _, t := range tiles {
		best = max(best, t.fill(p, a.Units))
	}
	return Kernel{
		Launches: 1, FLOPs: unit.FLOPs(2 * batch * m * n * k), Precision: p.Precision, Fill: best,
		Bytes: unit.Bytes(p.Batch) * p.Value * unit.Bytes(p.M*p.K+p.K*p.N+p.M*p.N),
	}
}

// fill returns the part of the units' time that makes results, where the largest tile at full depth is 1.
func (t tile) fill(p Product, units int) float64 {
	count := p.Batch * ceil(p.M, t.rows) * ceil(p.N, t.columns)
	rate, parts := t.rate, 1
	if 2*count < units {
		if parts = min(units/count, p.K/splitDepth); parts > 1 {
			rate *= splitRate
		}
		parts = max(parts, 1)
	}
	waves := ceil(count*parts, units)
	depth := float64(ceil(p.K, depthStep)*depthStep) / float64(parts)
	made := float64(p.Batch) * float64(p.M) * float64(p.N) * float64(p.K)
	return rate * made / (float64(waves*units) * float64(t.rows*t.columns) * depth)
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
