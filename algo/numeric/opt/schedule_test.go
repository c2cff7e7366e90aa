package opt

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRateOfEveryDecay(t *testing.T) {
	for _, tt := range []struct {
		name     string
		schedule Schedule
		want     map[int]float64 // rate at a step, of a peak of 8
	}{
		{"none", Schedule{}, map[int]float64{0: 8, 1000: 8}},
		// Four steps up: 2, 4, 6, 8.
		{"warm-up", Schedule{WarmUp: 4, Decay: NoDecay}, map[int]float64{0: 2, 1: 4, 3: 8, 4: 8, 99: 8}},
		// From 8 at step 4 down to 0 at step 12, by 1 a step.
		{"linear", Schedule{WarmUp: 4, Decay: LinearDecay, Steps: 12},
			map[int]float64{0: 2, 3: 8, 4: 8, 5: 7, 11: 1, 12: 0, 99: 0}},
		// √(4/16) = ½ at step 15, √(4/64) = ¼ at step 63.
		{"inverse-sqrt", Schedule{WarmUp: 4, Decay: InverseSqrtDecay},
			map[int]float64{0: 2, 3: 8, 15: 4, 63: 2}},
		{"inverse-sqrt without warm-up", Schedule{Decay: InverseSqrtDecay},
			map[int]float64{0: 8, 3: 4, 15: 2}},
		{"step", Schedule{WarmUp: 2, Decay: StepDecay, Steps: 3, Factor: 0.5},
			map[int]float64{0: 4, 1: 8, 4: 8, 5: 4, 7: 4, 8: 2}},
	} {
		if err := tt.schedule.Validate(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for step, want := range tt.want {
			if got := tt.schedule.Rate(8, step); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: rate %v at step %d, want %v", tt.name, got, step, want)
			}
		}
	}
}

func TestRateRisesToThePeakAndNeverAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{
			WarmUp: rapid.IntRange(0, 20).Draw(t, "warm-up"),
			Decay: rapid.SampledFrom([]string{"", NoDecay, LinearDecay, InverseSqrtDecay,
				StepDecay}).Draw(t, "decay"),
			Steps:  rapid.IntRange(21, 60).Draw(t, "steps"),
			Factor: rapid.Float64Range(0.01, 1).Draw(t, "factor"),
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		last := 0.0
		for step := range 80 {
			rate := s.Rate(1, step)
			if rate < 0 || rate > 1 || step < s.WarmUp && rate <= last || step > s.WarmUp && rate > last {
				t.Fatalf("rate %v at step %d after %v", rate, step, last)
			}
			if step == max(s.WarmUp-1, 0) && rate != 1 {
				t.Fatalf("rate %v at step %d, want the peak", rate, step)
			}
			last = rate
		}
	})
}

func TestStepTakesTheRateOfTheSchedule(t *testing.T) {
	o := mustDense(t, DenseSpec{Kind: SGD, Rate: 1, Schedule: Schedule{WarmUp: 2, Decay: LinearDecay,
		Steps: 4}})
	w := []float32{0}
	// Rates ½, 1, 1, ½, 0.
	for step, want := range []float32{-0.5, -1.5, -2.5, -3, -3} {
		o.Step(w, nil, []float32{1}, step)
		if w[0] != want {
			t.Errorf("w = %v after step %d, want %v", w[0], step, want)
		}
	}
	// Every kind steps by nothing at a rate of 0.
	for _, spec := range denseSpecs() {
		spec.Schedule = Schedule{Decay: LinearDecay, Steps: 1}
		o := mustDense(t, spec)
		w, state := []float32{1, -2}, make([]float32, o.StateSize(2))
		o.Init(state)
		o.Step(w, state, []float32{3, 4}, 1)
		if !slices.Equal(w, []float32{1, -2}) {
			t.Errorf("%s %s: w = %v at a rate of 0, want [1 -2]", spec.Kind, spec.Order, w)
		}
	}
}

// Rows follow the schedule by the step that their gradient is of: with rate 2 and
// four steps of warm-up, step 1 has rate 1, and step 9 the whole.
func TestRowsFollowTheSchedule(t *testing.T) {
	for _, spec := range rowSpecs() {
		if spec.Kind == FTRL {
			continue
		}
		spec.Rate, spec.WeightBound = 2, 0
		constant := mustRow(t, spec)
		spec.Schedule = Schedule{WarmUp: 4}
		o := mustRow(t, spec)
		if o.Rate(1) != 1 || o.Rate(9) != 2 || constant.Rate(1) != 2 {
			t.Errorf("%s: rates %v and %v, want 1 and 2", spec.Kind, o.Rate(1), o.Rate(9))
		}
		half, state := []float32{0, 0}, make([]float32, o.StateSize(2))
		o.Init(state)
		o.Apply(half, state, []float32{0.5, -1}, o.Rate(1))
		whole, state := []float32{0, 0}, make([]float32, o.StateSize(2))
		o.Init(state)
		constant.Apply(whole, state, []float32{0.5, -1}, constant.Rate(1))
		if whole[0] == 0 || 2*half[0] != whole[0] || 2*half[1] != whole[1] {
			t.Errorf("%s: steps %v at half the rate, %v at the whole", spec.Kind, half, whole)
		}
	}
}
