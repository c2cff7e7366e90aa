package similar

import (
	"cmp"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

const (
	// tieMin is the smallest dependence of a column on another that ties the two.
	tieMin = 0.9
	// pairsMin is the smallest number of pairs of rows that show a dependence.
	pairsMin = 100
)

// FindTies returns the ties of the columns of a description: sets of columns of which one determines the
// others, as a site determines its domain. Column i of the description describes slots[i] of the batch, of
// which the first rows are used, at most 50,000 at random.
//
// The dependence of column d on column c is that of pairs of rows,
//
//	(P(equal d | equal c) − P(equal d)) / (1 − P(equal d)),
//
// 1 if c determines d and 0 if they are independent. Starting with the column of the most ids, each column is
// tied to the columns without a tie that depend on it by at least 0.9, and the strength of the tie is the
// square root of their mean dependence, because both columns of a pair follow the latent value. Columns with
// several ids in a row are not tied.
//
// Cost: columns² · rows.
func FindTies(spec *job.Synthetic, b *batch.Batch, rows int, slots []int) []job.SyntheticTie {
	t := newTable(b, choose(rows, rowsMax), slots)
	var free []int
	for c := range t.columns {
		isSingle := t.columns[c].longest == 1 && len(t.columns[c].ids) == t.rows
		if isSingle && len(spec.Columns[c].Coverage) > 0 {
			free = append(free, c)
		}
	}
	slices.SortStableFunc(free, func(c, d int) int {
		return cmp.Compare(t.columns[d].count, t.columns[c].count)
	})
	var ties []job.SyntheticTie
	for len(free) > 0 {
		c := free[0]
		tie := job.SyntheticTie{Columns: []string{spec.Columns[c].Name}}
		groups, sum := t.columns[c].groups(), 0.0
		free = slices.DeleteFunc(free[1:], func(d int) bool {
			dependence := t.columns[d].dependence(groups)
			if dependence < tieMin {
				return false
			}
			tie.Columns = append(tie.Columns, spec.Columns[d].Name)
			sum += dependence
			return true
		})
		if tied := len(tie.Columns) - 1; tied > 0 {
			tie.Strength = math.Round(math.Sqrt(sum/float64(tied))*1000) / 1000
			ties = append(ties, tie)
		}
	}
	return ties
}

// groups returns the rows of each id.
func (c *column) groups() [][]int32 {
	groups := make([][]int32, c.count)
	for row, id := range c.ids {
		groups[id] = append(groups[id], int32(row))
	}
	return groups
}

// dependence returns the dependence of a column with one id per row on the column with these groups of rows,
// or 0 if too few pairs of rows show it.
func (c *column) dependence(groups [][]int32) float64 {
	counts := make([]int64, c.count)
	equalPairs := func(rows []int32) (equal float64) {
		for _, row := range rows {
			equal += float64(counts[c.ids[row]]) // pairs of this row with earlier ones
			counts[c.ids[row]]++
		}
		for _, row := range rows {
			counts[c.ids[row]] = 0
		}
		return equal
	}
	pairs := func(rows int) float64 { return float64(rows) * float64(rows-1) / 2 }
	var equal, all float64
	for _, rows := range groups {
		equal += equalPairs(rows)
		all += pairs(len(rows))
	}
	rows := len(c.ids)
	chance := equalPairs(allRows(rows)) / pairs(rows)
	if all < pairsMin || chance == 1 {
		return 0
	}
	return (equal/all - chance) / (1 - chance)
}
