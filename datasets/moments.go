package datasets

import (
	"math"

	"tandem/algo/numeric/batch"
)

// moments are those of each numeric column over some rows.
type moments []columnMoments

// columnMoments are the number of values that are not missing, their mean, and the sum of their
// squared deviations from it.
type columnMoments struct{ count, mean, squares float64 }

// momentsOf returns the moments of the dense features of a batch.
func momentsOf(b *batch.Batch, columns int) moments {
	m := make(moments, columns)
	eachRow(b.Dense, columns, func(row []float32) {
		for c, value := range row {
			if v := float64(value); !math.IsNaN(v) {
				m[c].count++
				m[c].mean += v
			}
		}
	})
	for c := range m {
		m[c].mean /= max(m[c].count, 1)
	}
	eachRow(b.Dense, columns, func(row []float32) {
		for c, value := range row {
			if off := float64(value) - m[c].mean; !math.IsNaN(off) {
				m[c].squares += float64(off * off)
			}
		}
	})
	return m
}

// merge adds the moments of further rows.
//
// Source: Chan, Golub, LeVeque, The American Statistician 37 (1983).
func (m moments) merge(other moments) {
	for c, b := range other {
		a := m[c]
		n := a.count + b.count
		if b.count == 0 {
			continue
		}
		off := b.mean - a.mean
		m[c] = columnMoments{n, a.mean + off*b.count/n,
			a.squares + b.squares + off*off*a.count*b.count/n}
	}
}

// scaling returns the scaling of each column.
func (m moments) scaling() []batch.Scaling {
	s := make([]batch.Scaling, len(m))
	for c, column := range m {
		s[c] = batch.Scaling{Mean: column.mean, Std: math.Sqrt(column.squares / max(column.count, 1))}
		if s[c].Std == 0 {
			s[c].Std = 1
		}
	}
	return s
}
