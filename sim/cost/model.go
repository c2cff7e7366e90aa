package cost

import (
	"math"
	"sync"

	"tandem/algo/unit"
	"tandem/sim/model"
	"tandem/sim/popularity"
)

// ModelWorkload returns the workload of a model whose rows are kept in a format. Tables of several dimensions
// are priced at the mean dimension of their rows.
func ModelWorkload(m *model.Model, rows model.Format) Workload {
	w := Workload{Distinct: m.Distinct(), Skew: skew(m), Labels: m.Labels}
	values, read := 0.0, 0.0
	for _, t := range m.Tables() {
		w.Slots++
		w.Occurrences += t.IDs
		w.Rows += t.Rows
		values += t.Rows * float64(t.Dim)
		read += t.IDs * float64(t.Dim)
	}
	w.RowDim = max(1, int(math.Round(read/w.Occurrences)))
	dim := max(1, int(math.Round(values/w.Rows)))
	w.RowBytes = unit.Bytes(dim) * rows.Bytes()
	w.RowState = m.Optimizers.Rows.State(dim)
	return w
}

// skew returns the function Workload.Skew of a model. The rows of all tables are hashed to the PSs.
func skew(m *model.Model) func(samples, servers int) float64 {
	var columns []popularity.Popularity
	var ids []float64
	for _, t := range m.Tables() {
		columns = append(columns, popularity.New(t.Rows, t.Frequencies.Share))
		ids = append(ids, t.IDs)
	}
	mixed := sync.OnceValue(func() popularity.Popularity { return popularity.Mix(columns, ids) })
	occurrences := 0.0
	for _, n := range ids {
		occurrences += n
	}
	return func(samples, servers int) float64 {
		return mixed().Skew(servers, occurrences*float64(samples))
	}
}
