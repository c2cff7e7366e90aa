package model

import (
	"strings"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
)

// newWeights returns weights of 4 parameters and 2 running statistics, trained by Adam.
func newWeights(t *testing.T) *HostWeights {
	t.Helper()
	schema := &batch.Schema{Dense: []string{"age"}, Slots: []batch.Slot{{Name: "a", Dim: 2}},
		Labels: []string{"click"}}
	spec := Default()
	spec.Kind, spec.EmbeddingDim, spec.Top, spec.BatchNorm = FeedForward, 2, []int{1}, true
	optimizer, err := opt.NewDense(opt.DefaultDense())
	if err != nil {
		t.Fatal(err)
	}
	e := mustNew(t, spec, schema)
	initial, err := InitialValues(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	return NewHostWeights(e, initial, optimizer, nil)
}

// step performs the n-th optimizer step with gradients of its own, and folds statistics.
func step(w *HostWeights, n int) {
	l := w.engine.Layout()
	sum := NewVector(l)
	for i := range sum.Values {
		sum.Values[i] = float32(i*(n+1)) - 3
	}
	for i := range l.Stats {
		sum.Stats = append(sum.Stats, float32(4+i+n))
	}
	w.StepSum(sum, 4, n)
}

// Weights that import the whole state of others train on as those do, bit for bit.
// Those that import the values alone are equal, but go another way.
func TestStateIsImportedWhole(t *testing.T) {
	w := newWeights(t)
	for n := range 3 {
		step(w, n)
	}
	again, values := newWeights(t), newWeights(t)
	state, _ := w.Export()
	step(w, 3) // what was exported is a copy
	if err := again.Import(0, state); err != nil || again.Steps() != 3 {
		t.Fatalf("%v after %d steps", err, again.Steps())
	}
	if err := values.Import(0, State{Values: state.Values}); err != nil || values.Steps() != 0 {
		t.Fatalf("%v after %d steps", err, values.Steps())
	}
	if again.Digest() == w.Digest() || again.Digest() == values.Digest() {
		t.Error("digests do not distinguish states")
	}
	step(again, 3)
	step(values, 3)
	if again.Digest() != w.Digest() {
		t.Error("weights that imported a state train on differently")
	}
	a, _ := values.Snapshot()
	b, _ := w.Snapshot()
	if a.Params[0] == b.Params[0] || a.Running[0] != b.Running[0] {
		t.Errorf("%v after a step without the optimizer's state, %v with it", a, b)
	}
}

// A part of the parameters goes where it belongs; what does not fit changes nothing.
func TestImportOfParts(t *testing.T) {
	w := newWeights(t)
	n := w.Params()
	if err := w.Import(1, State{Values: Values{Params: []float32{7, 8}}}); err != nil {
		t.Fatal(err)
	}
	if got := w.Host().Params; got[0] == 7 || got[1] != 7 || got[2] != 8 || got[3] == 8 {
		t.Errorf("%v", got)
	}
	before := w.Digest()
	for _, c := range []struct {
		lo   int
		s    State
		want string
	}{
		{n - 1, State{Values: Values{Params: []float32{1, 2}}}, "2 parameters from"},
		{-1, State{Values: Values{Params: []float32{1, 2}}}, "from -1 on"},
		{0, State{Values: Values{Params: []float32{1}, Running: []float32{1}}},
			"1 running statistics; the weights have"},
		{0, State{Values: Values{Params: []float32{1}}, Optimizer: []float32{1}},
			"1 values of optimizer state; the weights have"},
	} {
		if err := w.Import(c.lo, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if w.Digest() != before {
		t.Error("an import that was refused has changed the weights")
	}
}

// A running variance that has fallen since it was copied for a round is still a variance after the round.
// Other statistics keep what they have gained since.
func TestShiftKeepsVariances(t *testing.T) {
	w := newWeights(t) // one mean, one variance
	params := len(w.state.Params)
	for _, c := range []struct{ own, copied, mean, shifted, variance float32 }{
		{own: 0.25, copied: 1, mean: 0.5, shifted: -0.25, variance: 0.5},
		{own: 0.5, copied: 1, mean: 0.75, shifted: 0.25, variance: 0.25},
	} {
		w.state.Running = []float32{c.own, c.own}
		w.Shift(&Vector{Values: make([]float32, params), Stats: []float32{c.copied, c.copied}},
			&Vector{Values: make([]float32, params), Stats: []float32{4 * c.mean, 4 * c.mean}}, 4)
		if got := w.state.Running; got[0] != c.shifted || got[1] != c.variance {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
