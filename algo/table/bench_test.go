package table_test

import (
	"testing"

	"tandem/algo/rng"
	"tandem/algo/table"
)

// rowAdagrad stands for a real optimizer's memory traffic: one state value a row.
type rowAdagrad struct{}

func (rowAdagrad) StateSize(int) int    { return 1 }
func (rowAdagrad) Init(state []float32) { state[0] = 0.01 }
func (rowAdagrad) Rate(int) float32     { return 0.1 }
func (rowAdagrad) Apply(embedding, state, grad []float32, rate float32) bool {
	sum := float32(0)
	for i, g := range grad {
		sum += float32(g * g)
		embedding[i] -= rate * g
	}
	state[0] += sum
	return true
}

const (
	benchRows  = 1_000_000
	benchDim   = 16
	benchBatch = 4096
)

// filled returns a table of benchRows rows and batches of random signs of it.
func filled(b *testing.B) (tab *table.Table, batches [][]uint64, values []float32) {
	tab = mustNew(b, table.Config{Dim: benchDim, Optimizer: rowAdagrad{}, InitBound: 0.01})
	values = make([]float32, benchBatch*benchDim)
	signs := make([]uint64, benchBatch)
	for lo := 0; lo < benchRows; lo += benchBatch {
		for i := range signs {
			signs[i] = uint64(lo + i)
		}
		if err := tab.Lookup(signs, values); err != nil {
			b.Fatal(err)
		}
	}
	stream := rng.New(1, "bench")
	for range 64 {
		batch := make([]uint64, benchBatch)
		for i := range batch {
			batch[i] = stream.Uint64N(benchRows)
		}
		batches = append(batches, batch)
	}
	return tab, batches, values
}

func reportRows(b *testing.B) {
	b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkLookup(b *testing.B) {
	tab, batches, values := filled(b)
	i := 0
	for b.Loop() {
		if err := tab.Lookup(batches[i%len(batches)], values); err != nil {
			b.Fatal(err)
		}
		i++
	}
	reportRows(b)
}

func BenchmarkApply(b *testing.B) {
	tab, batches, grads := filled(b)
	i := 0
	for b.Loop() {
		tab.Apply(batches[i%len(batches)], grads, 0.1, nil)
		i++
	}
	reportRows(b)
}
