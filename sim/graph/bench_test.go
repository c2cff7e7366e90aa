package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tandem/sim/model"
)

func BenchmarkRun(b *testing.B) {
	j := example(b, dgxH100(b), "mlperf-dcnv2", 128, 55296)
	for b.Loop() {
		if _, err := Run(b.Context(), j); err != nil {
			b.Fatal(err)
		}
	}
}

// uneven returns a model of some tables of 100 to 30 million rows of 16 to 256 values, with 1 to 50 ids of a
// sample.
func uneven(tb testing.TB, tables int) *model.Model {
	m := even(tb, 1, 1e6)
	group := m.Groups[0]
	m.Groups = nil
	r := rand.New(rand.NewPCG(1, 800))
	for i := range tables {
		group.Name, group.Count = fmt.Sprint("t", i), 1
		group.Rows = math.Round(math.Pow(10, 2+5.5*r.Float64()))
		group.Dim, group.IDs = 16<<r.IntN(5), []float64{1, 1, 1, 2, 5, 20, 50}[r.IntN(7)]
		m.Groups = append(m.Groups, group)
	}
	return m
}

// BenchmarkUnevenTables places 800 uneven tables on 16 GPUs and simulates a step.
func BenchmarkUnevenTables(b *testing.B) {
	j := example(b, dgxH100(b), "mlperf-dcnv2", 16, 65536)
	j.Model = uneven(b, 800)
	for b.Loop() {
		if _, err := Run(b.Context(), j); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnevenTablesOfAPoint is BenchmarkUnevenTables with the layouts given, as at most points of a
// prediction.
func BenchmarkUnevenTablesOfAPoint(b *testing.B) {
	j := example(b, dgxH100(b), "mlperf-dcnv2", 16, 65536)
	j.Model = uneven(b, 800)
	for _, rule := range run(b, j).Rules() {
		rule.Ranks = nil
		j.Placement = append(j.Placement, rule)
	}
	for b.Loop() {
		if _, err := Run(b.Context(), j); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFewTables tries all placements of seven tables on two GPUs, and simulates steps.
func BenchmarkFewTables(b *testing.B) {
	j := example(b, dgxH100(b), "mlperf-dcnv2", 2, 65536)
	j.Model = unevenModel(b, rand.New(rand.NewPCG(2, 3)), 7)
	for i := range j.Model.Groups {
		j.Model.Groups[i].Dim = 16
	}
	for b.Loop() {
		if _, err := Run(b.Context(), j); err != nil {
			b.Fatal(err)
		}
	}
}
