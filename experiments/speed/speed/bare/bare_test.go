package bare_test

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/numeric/isa"
	"tandem/experiments/speed/speed/bare"
)

// The bare loops do the work that they are compared by.
func TestBareLoopsDoTheWork(t *testing.T) {
	if isa.Best() == isa.Portable {
		t.Skip("no vector instructions")
	}
	const dim, n = 32, 50
	rows, grads, places := make([]float32, 2*dim*n), make([]float32, dim*n), make([]int32, n)
	for i := range rows {
		rows[i] = float32(i%17) / 16
	}
	for i := range grads {
		grads[i] = float32(i%11-5) / 8
	}
	for i := range places {
		places[i] = int32(i * 7 % n)
	}
	want, read := slices.Clone(rows), []float32(nil)
	for i, at := range places {
		row := want[2*dim*at:][:2*dim]
		read = append(read, row[:dim]...)
		for j := range dim {
			g := grads[i*dim+j]
			row[j] -= float32(0.5*g) / float32(math.Sqrt(float64(row[dim+j]+0.01)))
			row[dim+j] += float32(g * g)
		}
	}
	got := make([]float32, dim*n)
	if bare.Gather(got, rows, places, dim); !slices.Equal(got, read) {
		t.Error("gather has copied other values")
	}
	if bare.Adagrad(rows, places, grads, dim, 0.5, 0.01); !slices.Equal(rows, want) {
		t.Error("Adagrad has left other values")
	}
}
