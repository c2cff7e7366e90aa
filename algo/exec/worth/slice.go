package worth

import (
	"cmp"
	"math"
	"slices"

	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
)

// Slice is how well a part of the test rows is predicted.
type Slice struct {
	Rows      int     `json:"rows"`
	Positives int     `json:"positives"`
	Predicted float64 `json:"predicted"` // mean prediction
	// AUC has its 95 % interval by the draw of the rows, after DeLong; nil where a class has fewer than ten
	// rows, which the interval is not for.
	AUC *metric.Interval `json:"auc"`

	// ID, or Number of a numeric column, is the value that the rows share.
	ID     uint64  `json:"-"`
	Number float32 `json:"-"`
}

// classMin is the least number of rows of a class of which a slice has an AUC.
const classMin = 10

// newSlice measures predictions of the first label.
func newSlice(predicted, labels []float32) Slice {
	s := Slice{Rows: len(labels)}
	for i, p := range predicted {
		s.Predicted += float64(p) / float64(len(predicted))
		s.Positives += class(labels[i])
	}
	e := metric.AUCStandardError(predicted, labels)
	if min(s.Positives, s.Rows-s.Positives) >= classMin && !math.IsNaN(e) {
		auc := metric.AUC(predicted, labels)
		s.AUC = &metric.Interval{Estimate: auc, Low: max(auc-float64(1.96*e), 0),
			High: min(auc+float64(1.96*e), 1)}
	}
	return s
}

// valuesMax is the largest number of values of a column whose slices are shown.
const valuesMax = 12

// ByValue returns the slices of test rows by the values of a feature, the largest first. predicted and labels
// are of the first label. It returns nil unless the feature has 2 to 12 values in these rows, one in each.
func ByValue(predicted, labels []float32, test *batch.Batch, f Feature) []Slice {
	key, ok := f.values(test)
	if !ok {
		return nil
	}
	rows := map[uint64][]int{}
	for row := range test.Samples {
		at := key(row)
		if rows[at] = append(rows[at], row); len(rows) > valuesMax {
			return nil
		}
	}
	if len(rows) < 2 {
		return nil
	}
	var all []Slice
	for at, of := range rows { // order-free: they are sorted below
		p, l := make([]float32, len(of)), make([]float32, len(of))
		for i, row := range of {
			p[i], l[i] = predicted[row], labels[row]
		}
		s := newSlice(p, l)
		if len(f.Numbers) > 0 {
			s.Number = math.Float32frombits(uint32(at))
		} else {
			s.ID = at
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Slice) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Number, b.Number))
	})
	return all
}

// values returns the value of each row, if each has one.
func (f *Feature) values(test *batch.Batch) (key func(row int) uint64, ok bool) {
	if len(f.Numbers) > 0 {
		at, width := f.Numbers[0], len(test.Dense)/max(test.Samples, 1)
		return func(row int) uint64 { return uint64(math.Float32bits(test.Dense[row*width+at])) }, true
	}
	slot := test.Slots[f.Slots[0]]
	for row := range test.Samples {
		if len(slot.SampleIDs(row)) != 1 {
			return nil, false
		}
	}
	return func(row int) uint64 { return slot.IDs[row] }, true
}

// InOrder returns the slices of neighbouring rows, as equal as possible, of at most a number of parts.
func InOrder(predicted, labels []float32, parts int) (all []Slice) {
	parts = min(parts, len(labels))
	for i := range parts {
		lo, hi := i*len(labels)/parts, (i+1)*len(labels)/parts
		all = append(all, newSlice(predicted[lo:hi], labels[lo:hi]))
	}
	return all
}
