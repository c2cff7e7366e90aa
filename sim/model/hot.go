package model

import "math"

// HotRows returns, by table, the number of rows that at least a share of the samples contain: the most
// frequent rows of the table. If these are more than most rows in all tables together, HotRows returns the
// numbers of the most frequent ones; 0 is no limit. Rows of a Sequence table are never hot: the network gets
// their embeddings one by one, from the PSs. The tables must not be Derived.
func HotRows(tables []Table, leastShare float64, most int) (rows []float64) {
	rows, all := rowsAbove(tables, leastShare)
	if most <= 0 || all <= float64(most) {
		return rows
	}
	// Bisection over the logarithm of the share. At lo there are too many rows, and at hi there are not.
	lo, hi := math.Log(leastShare), 0.1 // the logarithm of a share that no row has
	for range 60 {
		middle := (lo + hi) / 2
		if _, all := rowsAbove(tables, math.Exp(middle)); all > float64(most) {
			lo = middle
		} else {
			hi = middle
		}
	}
	// Rows between the two are equally frequent. Every table gets its part of the places that are left.
	rows, all = rowsAbove(tables, math.Exp(hi))
	more, sum := rowsAbove(tables, math.Exp(lo))
	part := (float64(most) - all) / (sum - all)
	for i := range rows {
		rows[i] += float64(part * (more[i] - rows[i]))
	}
	return rows
}

// rowsAbove returns, by table, the number of rows that at least a share of the samples contain, and their
// sum.
func rowsAbove(tables []Table, leastShare float64) (rows []float64, sum float64) {
	rows = make([]float64, len(tables))
	for i := range tables {
		if !tables[i].Sequence {
			rows[i] = tables[i].rowsAbove(leastShare)
		}
		sum += rows[i]
	}
	return rows, sum
}

// rowsAbove returns the number of rows of the table that at least a share of the samples contain. A sample
// contains a row of probability p with probability 1 − (1 − p)^ids.
func (t *Table) rowsAbove(leastShare float64) float64 {
	// At most IDs/share rows are in a share of the samples each.
	lo, hi := 0.0, math.Floor(min(t.Rows, t.IDs/leastShare))
	for lo < hi {
		middle := math.Ceil((lo + hi) / 2)
		p := min(t.Frequencies.Probability(middle), 1)
		if -math.Expm1(t.IDs*math.Log1p(-p)) >= leastShare {
			lo = middle
		} else {
			hi = middle - 1
		}
	}
	return lo
}

// HotBags says how the most frequent rows of a table, which are hot, divide the bag of a sample: its ids in
// the table, whose rows are pooled. All numbers are expectations.
type HotBags struct {
	IDs float64 // that name a hot row
	// Pooled is the number of ids in bags with a hot row, which the NN worker pools.
	Pooled float64
	// WithHot is the probability that a row of the bag is hot, and WhollyHot that all are.
	WithHot, WhollyHot float64
}

// HotBags returns how a number of the most frequent rows divide the bag of a sample. The ids of a sample are
// independent draws; their number is the mean, rounded up or down at random.
func (t *Table) HotBags(hot float64) (b HotBags) {
	share := t.Frequencies.Share(hot)
	b.IDs = t.IDs * share
	least := math.Floor(t.IDs)
	for _, x := range [2]struct{ ids, probability float64 }{
		{least, 1 - (t.IDs - least)}, {least + 1, t.IDs - least},
	} {
		if x.ids == 0 {
			continue // an empty bag
		}
		with := 1 - math.Pow(1-share, x.ids)
		b.Pooled += float64(x.probability * x.ids * with)
		b.WithHot += float64(x.probability * with)
		b.WhollyHot += float64(x.probability * math.Pow(share, x.ids))
	}
	return b
}
