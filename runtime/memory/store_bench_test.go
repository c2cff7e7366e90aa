package memory_test

import (
	"fmt"
	"math"
	"testing"
	"time"
	"unsafe"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/experiments/speed/speed/bare"
	"tandem/runtime/memory"
)

// The store at full size, in huge pages: ten million rows or as many as go in
// storeBytes, and a tenth of that under -short. Beside it, in turns with it, the
// loop that has only to fetch, copy and compute: same dimension, draws and
// instructions, places known. Of each batch the shortest time counts, so that
// what else runs on the machine matters little.
const (
	storeRows  = 10_000_000
	storeBytes = 3 << 30
	batchRows  = 26 * 1024
	batches    = 16
)

// store is a filled table and bare rows of the same number and dimension.
type store struct {
	dim, rows int
	arena     memory.Arena
	table     *table.Table
	bare      []float32
	values    []float32 // of a batch
}

func newStore(b *testing.B, dim int, precision table.Precision) *store {
	s := &store{dim: dim, rows: min(storeRows, storeBytes/(8*dim)), values: make([]float32, batchRows*dim)}
	if testing.Short() {
		s.rows /= 10
	}
	adagrad, err := opt.NewRow(opt.DefaultRow())
	if err != nil {
		b.Fatal(err)
	}
	if s.table, err = table.New(table.Config{Dim: dim, Optimizer: adagrad, Seed: 1, InitBound: 0.01,
		Precision: precision}, &s.arena); err != nil {
		b.Fatal(err)
	}
	signs := make([]uint64, batchRows)
	for lo := 0; lo < s.rows; lo += batchRows {
		n := min(batchRows, s.rows-lo)
		for i := range signs[:n] {
			signs[i] = signOf(lo + i)
		}
		if err := s.table.Lookup(signs[:n], s.values[:n*dim]); err != nil {
			b.Fatal(err)
		}
	}
	slab, err := s.arena.Slab(8 * dim * s.rows)
	if err != nil {
		b.Fatal(err)
	}
	s.bare = unsafe.Slice((*float32)(unsafe.Pointer(&slab[0])), 2*dim*s.rows)
	for i := range s.bare {
		s.bare[i] = 0.01
	}
	for i := range s.values {
		s.values[i] = 1e-3
	}
	return s
}

func signOf(row int) uint64 { return uint64(row) * 0x9e3779b97f4a7c15 }

// draw returns batches of places, and of the signs that are there.
func (s *store) draw(zipf bool) (places [][]int32, signs [][]uint64) {
	stream := rng.New(1, "store", uint64(s.dim))
	const exponent = 1.05
	tail := math.Pow(float64(s.rows), 1-exponent) - 1
	for range batches {
		place, sign := make([]int32, batchRows), make([]uint64, batchRows)
		for i := range place {
			at := uint64(float64(s.rows) * stream.Float64())
			if zipf { // the inverse of the distribution function, its ranks scattered
				at = uint64(math.Pow(1+tail*stream.Float64(), 1/(1-exponent))) * 7_919_999 % uint64(s.rows)
			}
			place[i], sign[i] = int32(at), signOf(int(at))
		}
		places, signs = append(places, place), append(signs, sign)
	}
	return places, signs
}

// compare times both by turns, batch after batch.
func (s *store) compare(b *testing.B, zipf bool, ours func(signs []uint64), limit func(places []int32)) {
	places, signs := s.draw(zipf)
	us, them := [batches]time.Duration{}, [batches]time.Duration{}
	for b.Loop() {
		for i := range batches {
			start := time.Now()
			ours(signs[i])
			middle := time.Now()
			limit(places[i])
			end := time.Now()
			if us[i] == 0 || middle.Sub(start) < us[i] {
				us[i] = middle.Sub(start)
			}
			if them[i] == 0 || end.Sub(middle) < them[i] {
				them[i] = end.Sub(middle)
			}
		}
	}
	mine, bound := 0.0, 0.0 // mean seconds a batch
	for i := range batches {
		mine += us[i].Seconds() / batches
		bound += them[i].Seconds() / batches
	}
	b.ReportMetric(batchRows/mine/1e6, "Mrows/s")
	b.ReportMetric(batchRows/bound/1e6, "bare-Mrows/s")
	b.ReportMetric(100*bound/mine, "%-of-bare")
	b.ReportMetric(0, "ns/op") // of both, which says nothing
}

// both times lookups and updates of rows of all precisions and dimensions given,
// uniform and Zipf.
func both(b *testing.B, dims []int, precisions ...table.Precision) {
	if isa.Best() == isa.Portable {
		b.Skip("no vector instructions to compare with")
	}
	for _, dim := range dims {
		for _, precision := range precisions {
			b.Run(fmt.Sprintf("dim=%d/%v", dim, precision), func(b *testing.B) {
				s := newStore(b, dim, precision)
				defer s.arena.Close()
				use, err := s.arena.Use()
				if err != nil {
					b.Fatal(err)
				}
				b.Logf("%d rows: table %v, arena %v of which %v in huge pages", s.rows, s.table.Memory(),
					use.Resident, use.Huge)
				for _, zipf := range []bool{false, true} {
					name := map[bool]string{false: "uniform", true: "zipf"}[zipf]
					b.Run("lookup/"+name, func(b *testing.B) {
						s.compare(b, zipf, func(signs []uint64) {
							if err := s.table.Lookup(signs, s.values); err != nil {
								b.Fatal(err)
							}
						}, func(places []int32) { bare.Gather(s.values, s.bare, places, s.dim) })
					})
					b.Run("update/"+name, func(b *testing.B) {
						s.compare(b, zipf, func(signs []uint64) { s.table.Apply(signs, s.values, 0.01, nil) },
							func(places []int32) {
								bare.Adagrad(s.bare, places, s.values, s.dim, 0.01,
									1e-10)
							})
					})
				}
			})
		}
	}
}

func BenchmarkStore(b *testing.B) { both(b, []int{16, 32, 64, 128}, table.FP32) }

// Narrow rows are compared with bare rows of float32.
func BenchmarkNarrowStore(b *testing.B) { both(b, []int{32}, table.BF16, table.FP16) }

// BenchmarkCreate times the first lookup of a million rows, which creates them, and a second one of the same
// rows in the same order: in a new table, whose index grows and whose memory was not used before.
func BenchmarkCreate(b *testing.B) {
	for _, dim := range []int{16, 128} {
		b.Run(fmt.Sprintf("dim=%d", dim), func(b *testing.B) {
			const rows = 1_000_000
			signs, values := make([]uint64, batchRows), make([]float32, batchRows*dim)
			adagrad, err := opt.NewRow(opt.DefaultRow())
			if err != nil {
				b.Fatal(err)
			}
			var took [2]time.Duration
			tables := 0
			for b.Loop() {
				var arena memory.Arena
				t, err := table.New(table.Config{Dim: dim, Optimizer: adagrad, Seed: 1, InitBound: 0.01},
					&arena)
				if err != nil {
					b.Fatal(err)
				}
				for pass := range took {
					start := time.Now()
					for lo := 0; lo < rows; lo += batchRows {
						n := min(batchRows, rows-lo)
						for i := range signs[:n] {
							signs[i] = signOf(lo + i)
						}
						if err := t.Lookup(signs[:n], values[:n*dim]); err != nil {
							b.Fatal(err)
						}
					}
					took[pass] += time.Since(start)
				}
				tables++
				arena.Close()
			}
			for pass, name := range []string{"create", "read"} {
				b.ReportMetric(float64(took[pass].Nanoseconds())/float64(tables*rows), name+"-ns/row")
			}
		})
	}
}
