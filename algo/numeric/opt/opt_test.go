package opt

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSGDSubtractsRateTimesGradient(t *testing.T) {
	o := mustDense(t, DenseSpec{Kind: SGD, Rate: 0.5})
	w := []float32{1, 2}
	o.Step(w, nil, []float32{4, -2}, 0)
	if want := []float32{-1, 3}; !slices.Equal(w, want) {
		t.Errorf("dense: w = %v, want %v", w, want)
	}
	r := mustRow(t, RowSpec{Kind: SGD, Rate: 0.5})
	r.Apply(w, nil, []float32{4, -2}, r.Rate(0))
	if want := []float32{-3, 4}; !slices.Equal(w, want) {
		t.Errorf("row: e = %v, want %v", w, want)
	}
}

func TestWeightBoundClampsAfterTheUpdate(t *testing.T) {
	for _, tt := range []struct {
		bound float64
		want  []float32
	}{
		// From (9, −9, 0) by (5, −5, 1): (14, −14, 1) without a bound.
		{10, []float32{10, -10, 1}},
		{0.5, []float32{0.5, -0.5, 0.5}},
		{0, []float32{14, -14, 1}},
		{-1, []float32{14, -14, 1}},
	} {
		o := mustRow(t, RowSpec{Kind: SGD, Rate: 1, WeightBound: tt.bound})
		e := []float32{9, -9, 0}
		o.Apply(e, nil, []float32{-5, 5, -1}, o.Rate(0))
		if !slices.Equal(e, tt.want) {
			t.Errorf("bound %v: e = %v, want %v", tt.bound, e, tt.want)
		}
	}
	// Every kind clamps: 9 lies outside 1, and no step here is larger than 1.
	for _, spec := range rowSpecs() {
		spec.WeightBound = 1
		o := mustRow(t, spec)
		e, state := []float32{9}, make([]float32, o.StateSize(1))
		o.Init(state)
		o.Apply(e, state, []float32{0.1}, o.Rate(0))
		if e[0] != 1 {
			t.Errorf("%s %s: e = %v, want 1", spec.Kind, spec.Order, e[0])
		}
	}
	// The bound hides no NaN.
	o := mustRow(t, RowSpec{Kind: SGD, Rate: 1, WeightBound: 1})
	e := []float32{float32(math.NaN())}
	o.Apply(e, nil, []float32{0}, o.Rate(0))
	if e[0] == e[0] {
		t.Errorf("e = %v, want NaN", e[0])
	}
}

func rowSpecs() []RowSpec {
	var specs []RowSpec
	for _, kind := range []string{SGD, Adagrad, RowwiseAdagrad, Adam, FTRL} {
		for _, order := range []Order{After, Before} {
			spec := DefaultRow()
			spec.Kind, spec.Order = kind, order
			specs = append(specs, spec)
		}
	}
	return specs
}

func denseSpecs() []DenseSpec {
	var specs []DenseSpec
	for _, kind := range []string{SGD, Adagrad, Adam} {
		for _, order := range []Order{After, Before} {
			spec := DefaultDense()
			spec.Kind, spec.Order, spec.InitialAccumulator = kind, order, 0.01
			specs = append(specs, spec)
		}
	}
	return specs
}

func TestEveryOptimizerDescendsAQuadratic(t *testing.T) {
	// The gradient of ½‖w‖² is w. Every kind must shrink every element steadily.
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.SliceOfN(rapid.Float32Range(0.5, 4), 1, 5).Draw(t, "start")
		for _, spec := range rowSpecs() {
			o, _ := NewRow(spec)
			e, state := slices.Clone(start), make([]float32, o.StateSize(len(start)))
			o.Init(state)
			for range 5 {
				last := slices.Clone(e)
				o.Apply(e, state, last, o.Rate(0))
				for i := range e {
					if !(e[i] < last[i] && e[i] > -last[i]) {
						t.Fatalf("%s %s: element went from %v to %v", spec.Kind, spec.Order, last[i], e[i])
					}
				}
			}
		}
	})
}

func TestDenseStepOfPartsEqualsStepOfWhole(t *testing.T) {
	// A vector cut in two and stepped part by part, each with its own state, has
	// the bits of the whole: elements do not interact.
	rapid.Check(t, func(t *rapid.T) {
		const n = 7
		values := rapid.SliceOfN(rapid.Float32Range(-2, 2), n, n)
		start, grad := values.Draw(t, "params"), values.Draw(t, "gradient")
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		for _, spec := range denseSpecs() {
			o, _ := NewDense(spec)
			whole, parts := slices.Clone(start), slices.Clone(start)
			state := make([]float32, o.StateSize(n))
			low, high := make([]float32, o.StateSize(cut)), make([]float32, o.StateSize(n-cut))
			o.Init(state)
			o.Init(low)
			o.Init(high)
			for step := range 3 {
				o.Step(whole, state, grad, step)
				o.Step(parts[:cut], low, grad[:cut], step)
				o.Step(parts[cut:], high, grad[cut:], step)
			}
			if !slices.Equal(whole, parts) {
				t.Fatalf("%s %s: parts %v, whole %v", spec.Kind, spec.Order, parts, whole)
			}
		}
	})
}

func TestZeroGradientMovesNothing(t *testing.T) {
	// Adagrad from G = 0 too, where epsilon alone keeps 0/0 away.
	for _, spec := range rowSpecs() {
		spec.InitialAccumulator = 0
		o := mustRow(t, spec)
		e, state := []float32{1, -2}, make([]float32, o.StateSize(2))
		o.Init(state)
		o.Apply(e, state, []float32{0, 0}, o.Rate(0))
		if !slices.Equal(e, []float32{1, -2}) {
			t.Errorf("%s %s: e = %v, want [1 -2]", spec.Kind, spec.Order, e)
		}
	}
	for _, spec := range denseSpecs() {
		o := mustDense(t, spec)
		w, state := []float32{1, -2}, make([]float32, o.StateSize(2))
		o.Init(state)
		o.Step(w, state, []float32{0, 0}, 0)
		if !slices.Equal(w, []float32{1, -2}) {
			t.Errorf("%s %s: w = %v, want [1 -2]", spec.Kind, spec.Order, w)
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*DenseSpec, *RowSpec)
		want string
	}{
		{"kind", func(d *DenseSpec, r *RowSpec) { d.Kind, r.Kind = "adamw", "adamw" }, "kind"},
		{"empty kind", func(d *DenseSpec, r *RowSpec) { d.Kind, r.Kind = "", "" }, "kind"},
		{"zero rate", func(d *DenseSpec, r *RowSpec) { d.Rate, r.Rate = 0, 0 }, "rate"},
		{"infinite rate", func(d *DenseSpec, r *RowSpec) { d.Rate, r.Rate = math.Inf(1), math.Inf(1) },
			"rate"},
		{"rate below single precision", func(d *DenseSpec, r *RowSpec) { d.Rate, r.Rate = 1e-50, 1e-50 },
			"rate"},
		{"order", func(d *DenseSpec, r *RowSpec) { d.Kind, d.Order, r.Order = Adagrad, "", "during" },
			"order"},
		{"epsilon", func(d *DenseSpec, r *RowSpec) { d.Epsilon, r.Epsilon = 0, -1 }, "epsilon"},
		{"accumulator", func(d *DenseSpec, r *RowSpec) {
			d.Kind, d.InitialAccumulator, r.InitialAccumulator = Adagrad, -1, math.NaN()
		}, "initial-accumulator"},
	} {
		dense, row := DefaultDense(), DefaultRow()
		tt.edit(&dense, &row)
		for name, err := range map[string]error{"dense": dense.Validate(), "row": row.Validate()} {
			if err == nil || !strings.HasPrefix(err.Error(), tt.want+" = ") {
				t.Errorf("%s: %s error %v, want one that starts with %q", tt.name, name, err, tt.want+" = ")
			}
		}
	}
}

func TestValidateNamesTheFieldOfAKind(t *testing.T) {
	for _, tt := range []struct {
		edit func(*DenseSpec)
		want string
	}{
		{func(s *DenseSpec) { s.Beta2 = 1 }, "beta2 = 1"},
		{func(s *DenseSpec) { s.ClipNorm = -1 }, "clip-norm = -1"},
		{func(s *DenseSpec) { s.ClipNorm = math.Inf(1) }, "clip-norm = +Inf"},
		{func(s *DenseSpec) { s.Schedule.WarmUp = -1 }, "schedule.warm-up = -1"},
		{func(s *DenseSpec) { s.Schedule.Decay = "cosine" }, `schedule.decay = "cosine"`},
		{func(s *DenseSpec) { s.Schedule = Schedule{Decay: LinearDecay, WarmUp: 5, Steps: 5} },
			"schedule.steps = 5"},
		{func(s *DenseSpec) { s.Schedule = Schedule{Decay: StepDecay, Factor: 0.5} }, "schedule.steps = 0"},
		{func(s *DenseSpec) { s.Schedule = Schedule{Decay: StepDecay, Steps: 1} }, "schedule.factor = 0"},
	} {
		spec := DefaultDense()
		tt.edit(&spec)
		if _, err := NewDense(spec); err == nil || !strings.Contains(err.Error(), ": "+tt.want) {
			t.Errorf("dense error %v, want one about %q", err, tt.want)
		}
	}
	for _, tt := range []struct {
		kind string
		edit func(*RowSpec)
		want string
	}{
		{SGD, func(s *RowSpec) { s.WeightBound = math.NaN() }, "weight-bound = NaN"},
		{Adam, func(s *RowSpec) { s.Beta1 = 1 }, "beta1 = 1"},
		{Adam, func(s *RowSpec) { s.Epsilon = 0 }, "epsilon = 0"},
		{FTRL, func(s *RowSpec) { s.Rate = 0 }, "rate = 0"},
		{FTRL, func(s *RowSpec) { s.Beta = 0 }, "beta = 0"},
		{FTRL, func(s *RowSpec) { s.L1 = -1 }, "l1 = -1"},
		{FTRL, func(s *RowSpec) { s.L2 = math.Inf(1) }, "l2 = +Inf"},
		{FTRL, func(s *RowSpec) { s.Schedule.WarmUp = 1 }, "schedule: ftrl keeps one rate"},
		{FTRL, func(s *RowSpec) { s.Schedule.Decay = InverseSqrtDecay }, "schedule: ftrl keeps one rate"},
		{Adam, func(s *RowSpec) { s.Schedule.WarmUp = -1 }, "schedule.warm-up = -1"},
	} {
		spec := DefaultRow()
		spec.Kind = tt.kind
		tt.edit(&spec)
		if _, err := NewRow(spec); err == nil || !strings.Contains(err.Error(), ": "+tt.want) {
			t.Errorf("%s: row error %v, want one about %q", tt.kind, err, tt.want)
		}
	}
}

func TestWrongLengthsPanicWithBothSizes(t *testing.T) {
	x := make([]float32, 8)
	for _, tt := range []struct {
		want string
		call func()
	}{
		{"opt: len(grad) = 6, want 8", func() { mustDense(t, DefaultDense()).Step(x, x, x[:6], 0) }},
		{"opt: len(state) = 8, want 16", func() { mustDense(t, DefaultDense()).Step(x, x, x, 0) }},
		{"opt: len(state) = 7, want 8", func() { mustRow(t, DefaultRow()).Apply(x, x[:7], x, 1) }},
	} {
		func() {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("panic %v, want %q", got, tt.want)
				}
			}()
			tt.call()
		}()
	}
}

func BenchmarkRowApply(b *testing.B) {
	for _, spec := range rowSpecs() {
		b.Run(spec.Kind+"/"+string(spec.Order), func(b *testing.B) {
			const dim = 32
			o, _ := NewRow(spec)
			e, state, grad := make([]float32, dim), make([]float32, o.StateSize(dim)), make([]float32, dim)
			fill(grad, 0.01)
			o.Init(state)
			for b.Loop() {
				o.Apply(e, state, grad, o.Rate(0))
			}
		})
	}
}
