package cost

import (
	"fmt"
	"math"
	"sync"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/sim/model"
	"tandem/sim/popularity"
)

// ModelWorkload returns the workload of a model whose rows are kept in a format. Tables of several dimensions
// are priced at the mean dimension of their rows. Hot says which rows are hot; CheckHotModel has the models
// for which it can.
func ModelWorkload(m *model.Model, rows model.Format, hot job.Hot) Workload {
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
	if hot.Share > 0 {
		w.Hot = hotOfModel(m.Tables(), hot)
	}
	return w
}

// skew returns the function Workload.Skew of a model. The rows of all tables are hashed to the PSs. Systems
// without PSs never ask for it, and finding the popularity of many tables takes time.
func skew(m *model.Model) func(samples, servers int) float64 {
	tables := m.Tables()
	occurrences := 0.0
	for i := range tables {
		occurrences += tables[i].IDs
	}
	mixed := sync.OnceValue(func() popularity.Popularity {
		var columns []popularity.Popularity
		var ids []float64
		for _, t := range tables {
			columns, ids = append(columns, popularity.New(t.Rows, t.Frequencies.Share)), append(ids, t.IDs)
		}
		return popularity.Mix(columns, ids)
	})
	return func(samples, servers int) float64 {
		return mixed().Skew(servers, occurrences*float64(samples))
	}
}

// CheckHotModel returns an error if the hot rows of a model cannot be told from its popularity.
func CheckHotModel(m *model.Model) error {
	for _, t := range m.Tables() {
		if t.Derived && t.IDs > 1 {
			return fmt.Errorf("rows.hot: the ids of a sample in table %s of model %s depend on each other, "+
				"so that the number of frequent rows is not known; choose another model", t.Name, m.Name)
		}
	}
	return nil
}

// hotOfModel describes the hot rows of tables.
func hotOfModel(tables []model.Table, hot job.Hot) *HotRows {
	h := &HotRows{}
	rows := model.HotRows(tables, hot.Share, hot.Most)
	var each HotBatch // of a sample; without distinct rows
	var columns []popularity.Popularity
	var cold []float64   // ids of a sample in the columns
	var shared []float64 // by table, draws for a sample, of which the cold ones are in bags with hot ones
	coldIDs := 0.0
	for i, t := range tables {
		b := t.HotBags(rows[i])
		h.Rows += rows[i]
		h.Values += rows[i] * float64(t.Dim)
		each.Occurrences += b.IDs
		each.Pooled += b.Pooled
		each.Bags += b.WithHot
		each.ToRank += t.Values() * (1 - b.WithHot)
		each.ToEW += t.Values() * (1 - b.WhollyHot)
		ids, draws := t.IDs-b.IDs, 0.0
		if ids > 0 && t.Rows-rows[i] >= 1 {
			columns, cold, coldIDs = append(columns, beyond(&t, rows[i])), append(cold, ids), coldIDs+ids
			draws = max(0, b.Pooled-b.IDs) * t.IDs / ids
		}
		shared = append(shared, draws)
	}
	h.Batch = func(samples int) HotBatch {
		n := float64(samples)
		b := HotBatch{Occurrences: n * each.Occurrences, Pooled: n * each.Pooled, Bags: n * each.Bags,
			ToRank: n * each.ToRank, ToEW: n * each.ToEW}
		for i := range tables {
			f, draws := &tables[i].Frequencies, n*tables[i].IDs
			b.Rows += min(rows[i], max(0, f.Distinct(draws)-f.DistinctBeyond(draws, rows[i])))
			b.Cold += f.DistinctBeyond(n*shared[i], rows[i])
		}
		return b
	}
	mixed := sync.OnceValue(func() popularity.Popularity { return popularity.Mix(columns, cold) })
	h.Skew = func(samples, servers int) float64 {
		if len(columns) == 0 {
			return 1
		}
		return mixed().Skew(servers, coldIDs*float64(samples))
	}
	return h
}

// beyond returns the popularity of the rows of a table apart from the most frequent ones.
func beyond(t *model.Table, frequent float64) popularity.Popularity {
	taken := t.Frequencies.Share(frequent)
	return popularity.New(t.Rows-frequent, func(n float64) float64 {
		return (t.Frequencies.Share(frequent+n) - taken) / (1 - taken)
	})
}
