package fit

import (
	"math"
	"slices"
	"testing"

	"tandem/sim/param"
)

// sampled returns a sampler of two steps, whose errors have the deviations 0.1 and 0.5, and states with
// errors of the first step.
func sampled(errors ...float64) (*sampler, []state) {
	s := &sampler{steps: []Measurement{{Sigma: 0.1}, {}}, options: &Options{Sigma: 0.5, Points: 100, Seed: 3}}
	var states []state
	for i, e := range errors {
		states = append(states, state{point: param.Point{float64(i)}, errors: []float64{e, 0}})
	}
	return s, states
}

// The loss of a state is half of the sum of the squares of its errors over their deviations, and its weight
// e to minus the loss, relative to the least, to a power. A state that does not fit memory has none.
func TestWeightsAreLikelihoodsToAPower(t *testing.T) {
	s, states := sampled(0.1, 0.2, 0)
	states[2].errors[1] = 1
	states = append(states, state{})
	for i, want := range []float64{0.5, 2, 2, math.Inf(1)} {
		if got := s.loss(&states[i]); math.Abs(got-want) > 1e-12 {
			t.Errorf("state %d: a loss of %v, want %v", i, got, want)
		}
	}
	for _, power := range []float64{0.25, 1, 2} {
		got := s.weights(states, power)
		want := []float64{1, math.Exp(-1.5 * power), math.Exp(-1.5 * power), 0}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				t.Errorf("power %v: %v, want %v", power, got, want)
			}
		}
	}
}

// The next power is the one at which states are worth half of their number, (Σw)²/Σw², or 1.
func TestNextPowerHalvesTheWorth(t *testing.T) {
	s, states := sampled(0, 0.001, 0.002)
	if got := s.nextPower(states, 0.5); got != 1 {
		t.Errorf("of states that are alike: %v", got)
	}
	// One state of four is the best and three are as bad: (1+3w)² / (1+3w²) = 2 at w = (√12−3)/3.
	s, states = sampled(0, 0.8, 0.8, 0.8)
	w := (math.Sqrt(12) - 3) / 3
	for _, power := range []float64{0, 0.01} {
		want := power - math.Log(w)/32 // a loss of 0.8²/0.1²/2
		if got := s.nextPower(states, power); math.Abs(got-want) > 1e-9 {
			t.Errorf("after %v: %v, want %v", power, got, want)
		}
	}
}

// Systematic resampling draws each state in proportion to its weight, rounded up or down, in no order.
func TestResamplingDrawsInProportion(t *testing.T) {
	s, states := sampled(0, 0.05, 0.1, 0.2, 0.9)
	weights := s.weights(states, 1)
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	drawn := s.resample(states, 1, 7)
	counts := make([]float64, len(states))
	sorted := true
	for i, d := range drawn {
		counts[int(d.point[0])]++
		sorted = sorted && (i == 0 || drawn[i-1].point[0] <= d.point[0])
	}
	for i, n := range counts {
		if want := 100 * weights[i] / sum; math.Abs(n-want) > 1 {
			t.Errorf("state %d is drawn %v times of 100, want %v", i, n, want)
		}
	}
	if len(drawn) != 100 || sorted {
		t.Errorf("%d states, in their order: %v", len(drawn), sorted)
	}
}

// Positions are reflected at −1 and 1, as often as it takes.
func TestPositionsAreReflected(t *testing.T) {
	for x := -11.0; x <= 11; x += 0.125 {
		want := x
		for want < -1 || want > 1 {
			if want > 1 {
				want = 2 - want
			} else {
				want = -2 - want
			}
		}
		if got := reflected(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v becomes %v, want %v", x, got, want)
		}
	}
}

// A quantile is the nearest of the values.
func TestQuantilesAreTheNearestValues(t *testing.T) {
	values := []float64{10, 20, 30, 40, 50, 60}
	for q, want := range map[float64]float64{0: 10, 0.09: 10, 0.11: 20, 0.5: 40, 0.9: 60, 0.89: 50, 1: 60} {
		if got := quantile(values, q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
}

// Pairs that points cannot tell apart come in the order of their correlation, of either sign.
func TestPairsComeByTheirCorrelation(t *testing.T) {
	s := &sampler{vector: param.Vector{{Name: "a#2"}, {Name: "unused"}, {Name: "b"}, {Name: "c"},
		{Name: "d"}},
		active: []int{0, 2, 3, 4}}
	var states []state
	for i := range 16 {
		x, other := float64(i), float64(i*7%16)
		states = append(states, state{point: param.Point{x, 0, x + 0.2*other, -x, other}})
	}
	got := s.pairs(states)
	var names [][2]string
	for i, p := range got {
		names = append(names, [2]string{p.A, p.B})
		if i > 0 && math.Abs(p.Correlation) > math.Abs(got[i-1].Correlation) {
			t.Errorf("%+v behind %+v", p, got[i-1])
		}
	}
	want := [][2]string{{"a", "c"}, {"a", "b"}, {"b", "c"}}
	if len(got) != 3 || got[0].Correlation > -0.999999 || got[1].Correlation*got[2].Correlation > 0 ||
		names[0] != want[0] || !slices.Contains(names, want[1]) || !slices.Contains(names, want[2]) {
		t.Errorf("%+v, want %v", got, want)
	}
}
