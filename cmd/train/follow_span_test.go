package main

import (
	"math"
	"testing"
)

// Means are by rows, and a block of one class, which has no AUC, counts in all others.
func TestSpansAreAddedByRows(t *testing.T) {
	s := span{before: 100, rows: 10, scored: 10, score: 0.6, loss: 0.5, predicted: 0.2, observed: 0.1}
	s.add(span{before: 110, rows: 30, score: math.NaN(), loss: 0.1, predicted: 0.4, observed: 0.5})
	s.add(span{before: 140, rows: 30, scored: 30, score: 0.8, loss: 0.2, predicted: 0.4, observed: 0.4})
	// 0.6·10 + 0.8·30 = 30 over 40 rows; 5 + 3 + 6 = 14, 2 + 12 + 12 = 26 and 1 + 15 + 12 = 28 over 70.
	want := span{before: 100, rows: 70, scored: 40, score: 0.75, loss: 0.2, predicted: 26. / 70,
		observed: 0.4}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	if s.before != want.before || s.rows != want.rows || s.scored != want.scored ||
		!near(s.score, want.score) ||
		!near(s.loss, want.loss) || !near(s.predicted, want.predicted) || !near(s.observed, want.observed) {
		t.Errorf("%+v, want %+v", s, want)
	}
	if got, err := parseSpan(s.fields()); err != nil {
		t.Error(err)
	} else if got.scored = s.scored; got != s { // a file does not say how many rows have a score
		t.Errorf("%+v is read as %+v", s, got)
	}
}

// Of a training without an end, some hundred spans are kept, which together have all of its rows.
func TestSpansAreBounded(t *testing.T) {
	var all spans
	for block := range 10 * spansMost {
		if all.add(span{before: 2 * block, rows: 2, scored: 2, score: 0.5}); len(all) >= spansMost {
			t.Fatalf("%d spans after %d blocks", len(all), block+1)
		}
	}
	if whole := all.all(); whole.rows != 20*spansMost || whole.score != 0.5 || all[0].before != 0 {
		t.Errorf("%+v of %d spans", whole, len(all))
	}
}
