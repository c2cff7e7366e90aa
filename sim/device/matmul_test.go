package device

import (
	"math"
	"testing"
)

// A product of the size of a tile takes a unit as long as the tile's results alone, at the tile's rate; one
// that has a row or a column more takes two tiles, of which nearly half is lost. Larger tiles are faster.
func TestAProductOfATileFillsAUnit(t *testing.T) {
	a := &Accelerator{Units: 1}
	for _, c := range []struct {
		rows, columns int
		rate          float64
	}{{256, 128, 1}, {128, 256, 1}, {128, 128, 0.93}, {128, 64, 0.8}, {64, 128, 0.8}, {64, 64, 0.62}} {
		fill := func(m, n, k int) float64 {
			return a.MatMul(Product{Batch: 1, M: m, N: n, K: k, Value: 2}).Fill
		}
		if got := fill(c.rows, c.columns, 64); math.Abs(got-c.rate) > 1e-12 {
			t.Errorf("%+v: a fill of %v", c, got)
		}
		for _, more := range [][2]int{{1, 0}, {0, 1}} {
			if got := fill(c.rows+more[0], c.columns+more[1], 64); got >= c.rate {
				t.Errorf("%+v and %v more: a fill of %v", c, more, got)
			}
		}
		// The depth is computed in steps of 8.
		if got, want := fill(c.rows, c.columns, 60), c.rate*60/64; math.Abs(got-want) > 1e-12 {
			t.Errorf("%+v at depth 60: a fill of %v, want %v", c, got, want)
		}
	}
}

// A product of few tiles is cut along its depth among units that would idle, into parts of at least 512, and
// a batch has as many tiles as its products together.
func TestFewTilesShareUnits(t *testing.T) {
	for _, c := range []struct {
		units, batch, m, n, k int
		want                  float64
	}{
		{8, 1, 256, 128, 511, 1. / 8 * 511 / 512}, // too flat to be cut
		{8, 1, 256, 128, 1024, 2. / 8 * 0.95},     // in two
		{8, 1, 256, 128, 1 << 20, 0.95},           // in as many as there are units
		{8, 3, 256, 128, 1024, 6. / 8 * 0.95},
		{8, 4, 256, 128, 4096, 4. / 8}, // half of the units is not few
		{8, 9, 256, 128, 64, 9. / 16},
	} {
		a := &Accelerator{Units: c.units}
		p := Product{Batch: c.batch, M: c.m, N: c.n, K: c.k, Value: 2}
		got := tiles[0].fill(p, c.units)
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: the first tile has a fill of %v", c, got)
		}
		kernel := a.MatMul(p)
		flops := 2 * float64(c.batch) * float64(c.m) * float64(c.n) * float64(c.k)
		bytes := c.batch * 2 * (c.m*c.k + c.k*c.n + c.m*c.n)
		if float64(kernel.FLOPs) != flops || int(kernel.Bytes) != bytes || kernel.Fill < got {
			t.Errorf("%+v: %+v, want %v FLOPs and %v bytes", c, kernel, flops, bytes)
		}
	}
}
