package device

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/algo/quantity"
	"tandem/algo/unit"
)

// Work out of its range panics with the numbers, and work at the ends does not.
func TestMisuseIsNamed(t *testing.T) {
	a, h := &Accelerator{}, &Host{Name: "box", LinesInFlight: 10, WalksInFlight: 1}
	good := Embedding{Lookups: 10, Distinct: 10, Dim: 1, Value: 1, Pooled: 1, Forward: 1, Backward: 1}
	embedding := func(change func(*Embedding)) func() {
		return func() {
			e := good
			change(&e)
			e.check()
		}
	}
	rows := func(change func(*Indexed)) func() {
		return func() {
			x := Indexed{Lookups: 10, Distinct: 10}
			change(&x)
			x.kernel(1, 0)
		}
	}
	for _, c := range []struct {
		want string // "" if it may pass
		run  func()
	}{
		{"kernel of 0 launches", func() { a.Time(Kernel{}) }},
		{"-1 FLOPs", func() { a.Time(Kernel{Launches: 1, FLOPs: -1}) }},
		{"-1 bytes", func() { a.Time(Kernel{Launches: 1, Bytes: -1}) }},
		{"0 products", func() { a.MatMul(Product{Batch: 0, M: 1, N: 1, K: 1, Value: 1}) }},
		{"0×1", func() { a.MatMul(Product{Batch: 1, M: 0, N: 1, K: 1, Value: 1}) }},
		{"1×0", func() { a.MatMul(Product{Batch: 1, M: 1, N: 0, K: 1, Value: 1}) }},
		{"1×0", func() { a.MatMul(Product{Batch: 1, M: 1, N: 1, K: 0, Value: 1}) }},
		{"of 0 B", func() { a.MatMul(Product{Batch: 1, M: 1, N: 1, K: 1, Value: 0}) }},
		{"-1 rows", func() { h.RowTraffic(Rows{Count: -1}) }},
		{"rows of -1 bytes", func() { h.RowTraffic(Rows{Bytes: -1}) }},
		{"copy of -1 bytes", func() { h.CopyCost(-1) }},
		{"box has 0 lines and 1 walks", func() { (&Host{Name: "box", WalksInFlight: 1}).RowTime() }},
		{"box has 1 lines and 0 walks", func() { (&Host{Name: "box", LinesInFlight: 1}).RowTime() }},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Distinct = 10.1 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Distinct = -1 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Outputs = -1 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Dim = 0 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Value = 0 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Pooled = 0 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.State = -1 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Forward = 0 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Forward = 1.1 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Backward = 0 })},
		{"want 0 ≤ distinct", embedding(func(e *Embedding) { e.Backward = 1.1 })},
		{"", embedding(func(e *Embedding) {})},
		{"", embedding(func(e *Embedding) { e.Distinct, e.Lookups = 0, 0 })},
		{"want 0 ≤ distinct", rows(func(x *Indexed) { x.Distinct = 10.1 })},
		{"want 0 ≤ distinct", rows(func(x *Indexed) { x.Distinct = -1 })},
		{"want 0 ≤ distinct", rows(func(x *Indexed) { x.New = -1 })},
		{"want 0 ≤ distinct", rows(func(x *Indexed) { x.Outputs = -1 })},
		{"want 0 ≤ distinct", rows(func(x *Indexed) { x.Partial = -1 })},
		{"", rows(func(x *Indexed) {})},
		{"", rows(func(x *Indexed) { x.Distinct, x.Lookups = 0, 0 })},
	} {
		func() {
			defer func() {
				text := ""
				if problem := recover(); problem != nil {
					text = fmt.Sprint(problem)
				}
				if c.want == "" && text != "" || !strings.Contains(text, c.want) {
					t.Errorf("panic %q, want %q", text, c.want)
				}
			}()
			c.run()
		}()
	}
}

// A curve has ascending sizes, shares above 0 and up to 1, and a spread below 1, which a guess must have.
func TestCurvesOutOfRangeAreRefused(t *testing.T) {
	for _, c := range []struct {
		points []CurvePoint[unit.Bytes]
		spread float64
		kind   quantity.Kind
		want   string // "" if it is valid
	}{
		{[]CurvePoint[unit.Bytes]{{1000, 1}}, 0, quantity.Default, ""},
		{[]CurvePoint[unit.Bytes]{{1000, 1}}, 0.99, quantity.Guessed, ""},
		{nil, 0, quantity.Default, "no points"},
		{[]CurvePoint[unit.Bytes]{{1000, 0}}, 0, quantity.Default, "size 1kB: share = 0"},
		{[]CurvePoint[unit.Bytes]{{1000, 1.01}}, 0, quantity.Default, "size 1kB: share = 1.01"},
		{[]CurvePoint[unit.Bytes]{{1000, 1}, {1000, 1}}, 0, quantity.Default, "size 1kB after 1kB"},
		{[]CurvePoint[unit.Bytes]{{2000, 0.5}, {1000, 0.5}}, 0, quantity.Default, "size 1kB after 2kB"},
		{[]CurvePoint[unit.Bytes]{{1000, 1}}, 1, quantity.Default, "spread = 1"},
		{[]CurvePoint[unit.Bytes]{{1000, 1}}, -0.1, quantity.Default, "spread = -0.1"},
		{[]CurvePoint[unit.Bytes]{{1000, 1}}, 0, quantity.Guessed, "spread = 0"},
	} {
		p := CurveProfile[unit.Bytes]{Points: c.points, Spread: c.spread, Kind: c.kind, Source: "test",
			Date: "2020"}
		err := p.Validate()
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, spread %v, %v: error %v, want %q", c.points, c.spread, c.kind, err, c.want)
		}
	}
}

// A factor on a curve is read as it is written, and is a number above 0.
func TestFactorsOfCurves(t *testing.T) {
	p := &CurveProfile[unit.Bytes]{Points: []CurvePoint[unit.Bytes]{{1000, 0.5}, {2000, 0.8}},
		Kind: quantity.Guessed, Spread: 0.1}
	for _, text := range []string{"1.2", "×1.2", p.Text(1.2)} {
		if x, err := p.Parse(text); err != nil || x != 1.2 {
			t.Errorf("%q is %v, %v", text, x, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "fast", "NaN", "Inf"} {
		if x, err := p.Parse(text); err == nil {
			t.Errorf("%q is %v", text, x)
		}
	}
	p.Replace(1.2, quantity.Calibrated, "--set")
	kind, source, _ := p.Origin()
	if p.Points[0].Share != 0.6 || math.Abs(p.Points[1].Share-0.96) > 1e-12 || kind != quantity.Calibrated ||
		source != "--set" {
		t.Errorf("%+v", p)
	}
}
