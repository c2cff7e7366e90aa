package device

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// embeddingAccelerator has 1000 GB/s, of which streams reach 0.8; rows of 128 B reach half as much as long
// ones; 1 MB of cache; no time for launches.
func embeddingAccelerator() *Accelerator {
	return &Accelerator{
		Bandwidth: 1e12, Peak: [precisions]unit.FLOPsPerSec{1e12, 1e12, 1e12}, Cache: 1e6,
		MemoryShare: Curve{Sizes: []float64{0}, Shares: []float64{0.8}},
		RowShare:    Curve{Sizes: []float64{128, 512}, Shares: []float64{0.4, 0.8}},
	}
}

// The bytes are counted by hand. A stream of 0.8 of the bandwidth takes 1/0.8 ps a byte.
func TestBytesOfEmbeddingKernels(t *testing.T) {
	e := Embedding{Lookups: 1e6, Distinct: 1e6, Outputs: 1e5, Dim: 128, Value: 4, Pooled: 2, Forward: 0.8,
		Backward: 0.4, Passes: 4}
	short, skewed, cached := e, e, e
	short.Dim = 32
	skewed.Distinct = 2e5 // 1 MB of cache for 102.4 MB
	cached.Distinct = 1e3 // all in the cache
	adagrad, rowwise := e, e
	adagrad.State, rowwise.State = 512, 4
	hit := 1 / 102.4
	for _, c := range []struct {
		name   string
		kernel func(a *Accelerator, e Embedding) Kernel
		work   Embedding
		bytes  float64
	}{
		{"lookup", (*Accelerator).Lookup, e, 1e6*(8+512) + 1e5*(8+256)},
		{"lookup of short rows", (*Accelerator).Lookup, short, 1e6*(8+2*128) + 1e5*(8+64)},
		{"lookup of repeated rows", (*Accelerator).Lookup, skewed,
			1e6*8 + 1e5*264 + 512*(2e5+8e5*(1-hit+hit/2.4))},
		{"lookup in the cache", (*Accelerator).Lookup, cached, 1e6*8 + 1e5*264 + 512*(1e3+999e3/2.4)},
		{"sort", (*Accelerator).SortIDs, e, 1e6 * (8 + 24*5)},
		// Gradients: 10 reads of each of 1e5, of 256 B, which reach 0.8/(0.4 + 0.4/3) of long rows; 1 of 25.6
		// MB in the cache. Backward reaches half of a stream.
		{"update with SGD", (*Accelerator).UpdateRows, e, 2 * (1e6*12 + 2*1e6*512 +
			256*1.5*(1e5+9e5*(1-1/25.6+1/25.6/2.4)))},
		{"update with Adagrad", (*Accelerator).UpdateRows, adagrad, 2 * (1e6*12 + 2*1e6*1024 +
			256*1.5*(1e5+9e5*(1-1/25.6+1/25.6/2.4)))},
		// 4 bytes of state take a sector of 32.
		{"update with row-wise Adagrad", (*Accelerator).UpdateRows, rowwise, 2 * (1e6*12 + 2*1e6*544 +
			256*1.5*(1e5+9e5*(1-1/25.6+1/25.6/2.4)))},
		// Without the optimizer, 1e6 sums of 512 B are written, which its kernel reads and clears.
		{"merge", (*Accelerator).MergeRows, e, 2 * (1e6*12 + 1e6*512 +
			256*1.5*(1e5+9e5*(1-1/25.6+1/25.6/2.4)))},
		{"step with SGD", (*Accelerator).StepRows, e, 2 * 1e6 * (2*512 + 2*512)},
		{"step with row-wise Adagrad", (*Accelerator).StepRows, rowwise, 2 * 1e6 * (2*512 + 2*544)},
	} {
		a := embeddingAccelerator()
		k := c.kernel(a, c.work)
		if got := float64(k.Bytes); math.Abs(got-c.bytes) > 1e-6*c.bytes+1 {
			t.Errorf("%s: %.6g B, want %.6g", c.name, got, c.bytes)
		}
		if got, want := a.Time(k).Seconds(), c.bytes/0.8e12; math.Abs(got-want) > 1e-6*want+2e-9 {
			t.Errorf("%s: %.6g s, want %.6g", c.name, got, want)
		}
	}
	if k := embeddingAccelerator().SortIDs(e); k.Launches != 7 {
		t.Errorf("sort with 4 passes has %d launches, want 7", k.Launches)
	}
}

// 3 vectors of 4 halves for each of 10 samples: 240 B in, 3 products of 2 B out; 9 products of 4 terms.
func TestInteraction(t *testing.T) {
	i := Interaction{Samples: 10, Vectors: 3, Dim: 4, Value: 2, Precision: Half}
	if got, want := i.Forward(), (Kernel{Launches: 1, FLOPs: 720, Bytes: 240 + 60,
		Precision: Half}); got != want {
		t.Errorf("forward %+v, want %+v", got, want)
	}
	if got, want := i.Backward(), (Kernel{Launches: 1, FLOPs: 1440, Bytes: 480 + 60,
		Precision: Half}); got != want {
		t.Errorf("backward %+v, want %+v", got, want)
	}
}

// On an A100, HierarchicalKV finds keys and copies their values, or only finds pointers to them (its README,
// billions of keys a second, 1M keys an operation). A copy reads a row and writes it. It takes at most the
// time of the whole, and at least the whole less finding pointers; so does the law.
func TestLookupsAgainstHierarchicalKV(t *testing.T) {
	a := mustLoadAccelerator(t, "A100-SXM4-80GB")
	for _, c := range []struct {
		dim             int
		values, pointer float64
	}{{8, 2.470, 3.726}, {32, 2.272, 3.718}, {64, 1.982, 3.950}} {
		const keys = 1 << 20
		k := a.Lookup(Embedding{Lookups: keys, Distinct: keys, Outputs: keys, Dim: c.dim, Value: 4, Pooled: 4,
			Forward: 0.8, Backward: 0.8})
		law, whole, least := a.Time(k).Seconds()*1e9/keys, 1/c.values, 1/c.values-1/c.pointer
		t.Logf("%d floats: %.3f ns a key, measured between %.3f and %.3f", c.dim, law, least, whole)
		if law < least || law > whole {
			t.Errorf("%d floats: %.3f ns a key, measured between %.3f and %.3f", c.dim, law, least, whole)
		}
	}
}
