package system

import (
	"testing"

	"tandem/algo/unit"
	"tandem/sim/device"
)

// reference is the machine on which the prices of persia-2021 and tandem were measured: one core of speed 1
// of a virtual machine on an AMD Zen 4. A chase of pointers through memory in pages of 4 KiB took 164, 215,
// 267, 272, 357 and 439 ns a step at 64, 256, 512, 1,024, 2,048 and 4,096 MiB there: 8 MB of the cache, which
// other machines share, and 150 ns for the memory itself.
func reference(hugePages float64) *device.Host {
	return &device.Host{
		Virtual: true, Sockets: 1, MemoryLatency: 150, Cache: 8e6, CacheLatency: 18, TLBEntries: 3072,
		HugePageShare: hugePages,
	}
}

// The law of memory describes the reference machine as the chase of pointers does.
func TestReferenceMachine(t *testing.T) {
	for size, ns := range map[unit.Bytes]float64{
		64 << 20: 164, 256 << 20: 215, 512 << 20: 267, 1 << 30: 272, 2 << 30: 357, 4 << 30: 439,
	} {
		within(t, "chase", reference(0).Access(size).Time*1e9, ns, 0.15)
	}
}

// A price is a time in nanoseconds at the worst end, the middle and the best end of a profile's ranges.
type price [3]float64

// priced evaluates a time at the positions −1, 0 and 1 of all ranges.
func priced(time func(position float64) float64) price { return price{time(-1), time(0), time(1)} }

// rowPrice is of one row of a table with rows of a dimension and Adagrad's state, and overhead bytes beside
// them.
func rowPrice(w *RowWork, host *device.Host, rows, dim, overhead int) price {
	table := unit.Bytes(rows * (8*dim + overhead))
	return priced(func(x float64) float64 {
		return float64(w.RowTime.At(x)) + float64(dim)*float64(w.ValueTime.At(x)) +
			float64(w.Misses.At(x))*host.Access(table).Time*1e9
	})
}

// poolPrice is of one pooled occurrence, without conversion; mergePrice of one merged one.
func (w *EmbeddingWorker) poolPrice(dim int) price {
	return priced(func(x float64) float64 {
		return float64(w.PoolIDTime.At(x)) + float64(dim)*float64(w.PoolValueTime.At(x))
	})
}

func (w *EmbeddingWorker) mergePrice(dim int) price {
	return priced(func(x float64) float64 {
		return float64(w.MergeIDTime.At(x)) + float64(dim)*float64(w.MergeValueTime.At(x))
	})
}

// contains reports a price that does not contain what was measured, or is further from it than a tolerance in
// the middle.
func contains(t *testing.T, what string, p price, measured, tolerance float64) {
	t.Helper()
	if measured > p[0] || measured < p[2] {
		t.Errorf("%s: %.4g ns measured, outside %.4g to %.4g", what, measured, p[2], p[0])
	}
	within(t, what, p[1], measured, tolerance)
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got < want*(1-tolerance) || got > want*(1+tolerance) {
		t.Errorf("%s: %.4g ns, want %.4g within %.0f %%", what, got, want, 100*tolerance)
	}
}

func load(t testing.TB, name string) *Profile {
	t.Helper()
	p, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
