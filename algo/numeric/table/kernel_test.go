package table_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
)

// The kernels of every set of instructions read, count and update as the portable
// forms do, bit for bit: for any dimension, any number of signs, wherever the
// caller's slices lie, and beside rows that are absent.
func TestKernelsAreTheirPortableForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.SampledFrom([]int{1, 3, 8, 15, 16, 17, 31, 32, 33, 64, 128}).Draw(t, "dim")
		spec := opt.DefaultRow()
		spec.Kind = rapid.SampledFrom([]string{opt.SGD, opt.Adagrad, opt.RowwiseAdagrad, opt.Adam}).Draw(t,
			"optimizer")
		precision := rapid.SampledFrom([]table.Precision{table.FP32, table.BF16, table.FP16}).Draw(t,
			"precision")
		known := rapid.SampledFrom([]uint64{1, 100, 3000}).Draw(t, "known signs")
		seed, skip := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 15).Draw(t, "misalignment")
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(60, 200)), 1, 6).Draw(t,
			"batches")
		var want []string
		for _, set := range isa.Sets() {
			got := trace(dim, spec, precision, set, rng.New(seed, "kernels"), known, sizes, skip)
			if set == isa.Portable {
				want = got
			} else if !slices.Equal(got, want) {
				t.Fatalf("%v: %v\nportable Go: %v", set, got, want)
			}
		}
	})
}

// trace uses a table in all ways and returns what it has shown.
func trace(dim int, spec opt.RowSpec, precision table.Precision, set isa.Set,
	draw interface{ Uint64N(uint64) uint64 }, known uint64, sizes []int, skip int) (shown []string) {
	optimizer, _ := opt.NewRow(spec)
	tab, _ := table.New(table.Config{Dim: dim, Optimizer: optimizer, InitBound: 0.1, Precision: precision},
		table.Heap{})
	tab.Use(set)
	for step, n := range sizes {
		signs, counts := make([]uint64, skip+n)[skip:], make([]uint32, n)
		for i := range signs {
			signs[i] = draw.Uint64N(known)
		}
		values, again := make([]float32, skip+n*dim)[skip:], make([]float32, skip+n*dim+1)[skip+1:]
		if err := tab.LookupStep(step, signs, values, nil); err != nil {
			return []string{err.Error()}
		}
		for i := range signs { // half of them may be absent
			signs[i] += draw.Uint64N(2) * known / 2
		}
		for i := range values { // a few are not finite
			values[i] *= [...]float32{1, 2, -3, 0, 1e30, 1, 1, float32(math.Inf(1)), 1, 1,
				1}[(i*i+n)%(11-min(i%7, 3))]
		}
		outcome := tab.Apply(signs, values, 0.1, nil)
		missing := tab.Snapshot(signs, again) + tab.SnapshotTrained(signs[:n/2], again[:n/2*dim])
		tab.UpdateCounts(signs, counts)
		shown = append(shown, fmt.Sprint(n, fingerprint(values), counts, outcome, missing,
			fingerprint(again), tab.Digest()))
	}
	return shown
}

func fingerprint(values []float32) (h uint64) {
	for _, v := range values {
		h = rng.Mix(h ^ uint64(math.Float32bits(v)))
	}
	return h
}
