package infer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The effect of a row's cell is a step of Newton on the other rows of the cell, with a prior of variance 1:
// computed here row by row, without sums that a row is taken from.
func TestEffectsLeaveTheirRowOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows = 60
	c := &combination{cells: make([]int32, rows), count: 7}
	labels, predicted := make([]float32, rows), make([]float32, rows)
	for row := range rows {
		c.cells[row], labels[row], predicted[row] = int32(r.IntN(7)), float32(r.IntN(2)), r.Float32()
	}
	predicted[0], predicted[1] = 0, 1 // as if certain
	left := newResiduals(predicted, labels, nil, 0)
	sum := 0.0
	c.effects(left, func(row int, got float64) {
		gradient, curvature := 0.0, 1.0
		for other, cell := range c.cells {
			if other != row && cell == c.cells[row] {
				p := float64(predicted[other])
				gradient, curvature = gradient+float64(labels[other])-p, curvature+p*(1-p)
			}
		}
		want := min(max(gradient/curvature, -3), 3)
		if math.Abs(got-want) > 1e-4 { // certain predictions are not quite so
			t.Errorf("row %d: effect %v, want %v", row, got, want)
		}
		p := float64(predicted[row])
		sum += (float64(labels[row])-p)*want - p*(1-p)*want*want/2
	})
	if c.measure(left); math.Abs(c.gain-sum) > 1e-2 || !(c.deviation > 0) {
		t.Errorf("gain %v ± %v, want %v", c.gain, c.deviation, sum)
	}
}

// columnsOf returns columns of drawn values, and labels that differ in their distribution only where the
// first two columns do.
func columnsOf(rows int) ([]indexed, []float32, []float32) {
	r := rand.New(rand.NewPCG(3, 4))
	all := make([]indexed, 6)
	labels, predicted := make([]float32, rows), slices.Repeat([]float32{0.5}, rows)
	for c := range all {
		all[c] = indexed{make([]int32, rows), 2 + c*c}
	}
	for row := range rows {
		for c := range all {
			all[c].values[row] = int32(r.IntN(all[c].count))
		}
		if odd := (all[0].values[row] + all[1].values[row]) % 2; r.Float32() < 0.3+0.4*float32(odd) {
			labels[row] = 1
		}
	}
	return all, labels, predicted
}

// Of all pairs, the one that decides is chosen and no other: what it explains is not there for the next.
func TestCombineChoosesThePairThatDecides(t *testing.T) {
	all, labels, predicted := columnsOf(4000)
	var pairs []*combination
	for a := range all {
		for b := range a {
			pairs = append(pairs, pair(all, b, a))
		}
	}
	chosen := combine(pairs, newResiduals(predicted, labels, nil, 0), 10)
	if len(chosen) != 1 || !slices.Equal(chosen[0].columns, []int{0, 1}) {
		for _, c := range chosen {
			t.Errorf("columns %v, gain %v ± %v", c.columns, c.gain, c.deviation)
		}
	}
	if most := combine(pairs, newResiduals(predicted, labels, nil, 0), 0); len(most) != 0 {
		t.Errorf("%d chosen of at most 0", len(most))
	}
}

// Of many useless pairs, some gain by luck, and none is chosen.
func TestCombineChoosesNoLuckyPair(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const rows = 300
	all := make([]indexed, 40)
	labels, predicted := make([]float32, rows), slices.Repeat([]float32{0.5}, rows)
	for c := range all {
		all[c] = indexed{make([]int32, rows), 2}
		for row := range rows {
			all[c].values[row] = int32(r.IntN(2))
		}
	}
	for row := range rows {
		labels[row] = float32(r.IntN(2))
	}
	var pairs []*combination
	lucky := 0
	left := newResiduals(predicted, labels, nil, 0)
	for a := range all {
		for b := range a {
			pairs = append(pairs, pair(all, b, a))
			if pairs[len(pairs)-1].measure(left); pairs[len(pairs)-1].gain > 0 {
				lucky++
			}
		}
	}
	if chosen := combine(pairs, left, 10); lucky == 0 || len(chosen) > 0 {
		t.Errorf("%d of %d chosen, %d gain", len(chosen), len(pairs), lucky)
	}
}

// Intervals have about equal numbers of rows, and a value that many rows have is alone in its interval.
func TestEdges(t *testing.T) {
	var numbers []float64
	for i := range 6300 {
		numbers = append(numbers, float64(i)/100)
	}
	all := edges(slices.Clone(numbers))
	if n := len(all); n < 60 || n > 63 {
		t.Errorf("%d edges, want about one less than 64 intervals", n)
	}
	counts := make([]int, len(all)+1)
	for _, x := range numbers {
		at, found := slices.BinarySearch(all, x)
		if found {
			at++
		}
		counts[at]++
	}
	if least, most := slices.Min(counts[:len(counts)-1]), slices.Max(counts); least < 90 || most > 110 {
		t.Errorf("intervals have %d to %d rows, want about 98", least, most)
	}
	const common = 31.55
	for i := range numbers {
		if i%10 > 0 {
			numbers[i] = common // nine of ten
		}
	}
	all = edges(numbers)
	at, found := slices.BinarySearch(all, common)
	if found {
		at++
	}
	if len(all) < 60 || !(all[at-1] > 31.5 && all[at] <= 31.6) { // the numbers beside it
		t.Errorf("edges %v: %v should be alone, and the others have 63 intervals", all, common)
	}
	var mixed []float64 // of 50 common values, with two rare ones between each two
	for i := range 50 {
		for range 100 {
			mixed = append(mixed, float64(i))
		}
		mixed = append(mixed, float64(i)+0.3, float64(i)+0.6)
	}
	if n := len(edges(mixed)) + 1; n != 100 {
		t.Errorf("%d intervals, want 50 of a value and 50 between", n)
	}
	for want, numbers := range map[int][]float64{0: {5, 5, 5}, 1: {1, 2, 2, 1}, 2: {3, 1, 2}} {
		if got := edges(numbers); len(got) != want {
			t.Errorf("edges %v of %v", got, numbers)
		}
	}
	if got := edges(nil); got != nil {
		t.Errorf("edges %v of no numbers", got)
	}
}

// An edge is short, and tells its two values apart, also where they are not quite those of the file.
func TestBetween(t *testing.T) {
	for _, c := range []struct{ low, high, want float64 }{
		{24, 25, 24.5}, {-1, 1, 0}, {0.1, 0.2, 0.15}, {0.1, 0.18, 0.14}, {1999, 2600, 2300},
		{0.99997, 1.99997, 1.5}, {0.00003, 1.00003, 0.5}, // 1 and 2, 0 and 1, a little wrong
		{1, math.Nextafter(1, 2), math.Nextafter(1, 2)},
	} {
		if got := between(c.low, c.high); got != c.want {
			t.Errorf("between %v and %v: %v, want %v", c.low, c.high, got, c.want)
		}
	}
}
