package system

import (
	"fmt"
	"testing"

	"tandem/algo/numeric/table"
)

// The benchmarks of the repository on the reference machine, with -cpu 1, in ns: runtime/memory
// BenchmarkStore/uniform, whose tables are in huge pages; algo/numeric/route BenchmarkRoute, BenchmarkPool
// and BenchmarkMerge.
func TestTandemCostsWhatItsBenchmarksTook(t *testing.T) {
	p := load(t, "tandem")
	host := reference(1)
	for _, m := range []struct {
		rows, dim    int
		read, update float64
	}{
		{1e7, 16, 60.2, 77.8}, {1e7, 32, 72.6, 99.1}, {6.3e6, 64, 86.2, 147.5}, {3.1e6, 128, 124, 217},
		{2000, 16, 10.6, 16.1}, {2000, 128, 28.1, 56.2},
	} {
		name := fmt.Sprintf("%d rows of %d values", m.rows, m.dim)
		read := rowPrice(&p.EmbeddingPS.Read, host, m.rows, m.dim, table.Overhead)
		update := rowPrice(&p.EmbeddingPS.Update, host, m.rows, m.dim, table.Overhead)
		if m.rows == 2000 { // in cache, where a value costs a third: the better end
			within(t, name+", read", read[2], m.read, 0.25)
			within(t, name+", update", update[2], m.update, 0.25)
			continue
		}
		contains(t, name+", read", read, m.read, 0.1)
		contains(t, name+", update", update, m.update, 0.12)
	}
	w := &p.EmbeddingWorker
	contains(t, "route", priced(func(x float64) float64 { return float64(w.IDTime.At(x)) }), 8.4, 0.1)
	contains(t, "pool at 16", w.poolPrice(16), 4.6, 0.25)
	contains(t, "pool at 128", w.poolPrice(128), 53, 0.4) // 22.5 ns where the rows are in cache
	contains(t, "merge at 16", w.mergePrice(16), 27, 0.1)
	contains(t, "merge at 128", w.mergePrice(128), 70, 0.05)
}
