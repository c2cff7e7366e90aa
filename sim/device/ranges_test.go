package device

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// panics reports whether a function panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// Every kernel of embeddings refuses numbers out of range, and takes those at the ends.
func TestKernelsOfEmbeddingsCheckTheirNumbers(t *testing.T) {
	a := &Accelerator{Bandwidth: 1e12, Cache: 1 << 20, MemoryShare: Curve{[]float64{0}, []float64{1}},
		RowShare: Curve{[]float64{0}, []float64{1}}}
	good := Embedding{Lookups: 10, Distinct: 10, Outputs: 5, Passes: 1, Dim: 1, Value: 1, Pooled: 1,
		Forward:  1,
		Backward: 1}
	none := good
	none.Lookups, none.Distinct, none.Outputs, none.Passes = 0, 0, 0, 0
	kernels := map[string]func(Embedding) Kernel{"Lookup": a.Lookup, "SortIDs": a.SortIDs,
		"UpdateRows": a.UpdateRows, "MergeRows": a.MergeRows, "StepRows": a.StepRows}
	for name, kernel := range kernels {
		for _, e := range []Embedding{good, none} {
			if got := kernel(e); got.Launches < 1 || got.Bytes < 0 || name != "SortIDs" && got.Launches != 1 {
				t.Errorf("%s of %+v: %+v", name, e, got)
			}
		}
		for what, change := range map[string]func(*Embedding){
			"distinct":      func(e *Embedding) { e.Distinct = 11 },
			"no distinct":   func(e *Embedding) { e.Distinct = -1 },
			"outputs":       func(e *Embedding) { e.Outputs = -1 },
			"not a number":  func(e *Embedding) { e.Outputs = math.NaN() },
			"passes":        func(e *Embedding) { e.Passes = -1 },
			"dim":           func(e *Embedding) { e.Dim = 0 },
			"value":         func(e *Embedding) { e.Value = 0 },
			"pooled":        func(e *Embedding) { e.Pooled = 0 },
			"state":         func(e *Embedding) { e.State = -1 },
			"forward":       func(e *Embedding) { e.Forward = 0 },
			"more forward":  func(e *Embedding) { e.Forward = 1.01 },
			"backward":      func(e *Embedding) { e.Backward = 0 },
			"more backward": func(e *Embedding) { e.Backward = 1.01 },
		} {
			e := good
			change(&e)
			if !panics(func() { kernel(e) }) {
				t.Errorf("%s takes %s of %+v", name, what, e)
			}
		}
	}
	for _, p := range []Product{{0, 1, 1, 1, 1, 0}, {1, 0, 1, 1, 1, 0}, {1, 1, 0, 1, 1, 0}, {1, 1, 1, 0, 1,
		0},
		{1, 1, 1, 1, 0, 0}} {
		if !panics(func() { (&Accelerator{Units: 1}).MatMul(p) }) {
			t.Errorf("a product of %+v has a price", p)
		}
	}
}

// A message takes the latency of its wire, and its bytes at the wire's rate, rounded up.
func TestMessagesTakeLatencyAndBytes(t *testing.T) {
	w := Wire{Bandwidth: 2e9, Latency: 700}
	for bytes, want := range map[unit.Bytes]unit.Tick{0: 700, 2: 701, 3: 702, 1_000_000: 500_700} {
		if got := w.Time(bytes); got != want {
			t.Errorf("%d bytes take %v, want %v", bytes, got, want)
		}
	}
}

// A curve is the factor on its shares: 1 in the middle, and its spread less or more at the ends.
func TestSpansOfCurves(t *testing.T) {
	p := &CurveProfile[unit.Bytes]{Spread: 0.25, Points: []CurvePoint[unit.Bytes]{{Size: 1, Share: 0.5}}}
	if low, mid, high := p.Span(); low != 0.75 || mid != 1 || high != 1.25 || p.LessIsBetter() {
		t.Errorf("from %v over %v to %v", low, mid, high)
	}
	p.Fix(1.25)
	if low, mid, high := p.Span(); low != 1 || mid != 1 || high != 1 || p.Points[0].Share != 0.625 {
		t.Errorf("fixed from %v over %v to %v: %+v", low, mid, high, p.Points)
	}
}
