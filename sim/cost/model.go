package cost

import (
	"math"

	"tandem/algo/unit"
	"tandem/sim/model"
)

// ModelWorkload returns the workload of a model whose rows are kept in a format. Tables of several dimensions
// are priced at the mean dimension of their rows.
func ModelWorkload(m *model.Model, rows model.Format) Workload {
	w := Workload{Distinct: m.Distinct(), Labels: m.Labels}
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
