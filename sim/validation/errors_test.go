package validation

import (
	"math"
	"testing"

	"tandem/sim/predict"
)

// sized is the error of the prediction of a published step, with the size of its setting.
type sized struct {
	*Step
	error float64 // logarithm of predicted ÷ published, less the mean of its price list
}

// apart returns how many doublings two settings are apart: in GPUs or in samples of each, the larger.
func (s sized) apart(other sized) float64 {
	gpus := math.Log2(float64(s.GPUs) / float64(other.GPUs))
	each := math.Log2(float64(s.Batch)/float64(other.Batch)) - gpus
	return max(math.Abs(gpus), math.Abs(each))
}

// alikePairs returns the correlation of errors in those pairs of settings of one price list that a function
// accepts, and their number: 1 less half of the mean square of their difference by the variance of all.
func alikePairs(all []sized, accept func(a, b sized) bool) (correlation float64, pairs int) {
	var variance, half float64
	for _, s := range all {
		variance += float64(s.error*s.error) / float64(len(all))
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if d := a.error - b.error; a.List() == b.List() && accept(a, b) {
				half += float64(d * d / 2)
				pairs++
			}
		}
	}
	return 1 - half/float64(pairs)/variance, pairs
}

// Errors of predictions of published steps are correlated as package predict draws them: by model and size,
// much the same on other accelerators and in another precision, and not where sizes are far apart.
func TestErrorsOfNeighboursAreAlike(t *testing.T) {
	if !*long {
		t.Skip("takes a minute; -long")
	}
	means := map[string]float64{}
	counts := map[string]float64{}
	var all []sized
	steps := load(t)
	for i := range steps {
		s := &steps[i]
		j, err := s.Job(s.List())
		if err != nil {
			t.Fatal(err)
		}
		p, err := predict.Run(t.Context(), j, predict.Options{Samples: 16, WithoutEnds: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		e := math.Log(float64(s.Batch) / p.Mid.Throughput / (s.StepMS / 1000))
		all = append(all, sized{s, e})
		means[s.List()] += e
		counts[s.List()]++
	}
	for i, s := range all {
		all[i].error -= means[s.List()] / counts[s.List()]
	}
	for _, c := range []struct {
		what      string
		low, high float64
		accept    func(a, b sized) bool
	}{
		{"same model and size, other accelerator or precision", 0.5, 0.8, func(a, b sized) bool {
			return a.Model == b.Model && a.apart(b) == 0 &&
				(a.Accelerator != b.Accelerator || a.Compute != b.Compute)
		}},
		{"same model and precision, less than half a doubling apart", 0.8, 1, func(a, b sized) bool {
			return a.Model == b.Model && a.apart(b) > 0 && a.apart(b) <= 0.5 && a.Compute == b.Compute
		}},
		{"same model, a doubling apart", 0, 0.5, func(a, b sized) bool {
			return a.Model == b.Model && a.apart(b) > 0.5 && a.apart(b) <= 1
		}},
		{"same model, two doublings apart or more", -1, 0.1, func(a, b sized) bool {
			return a.Model == b.Model && a.apart(b) >= 2
		}},
		{"other model and accelerator", -1, 0.1, func(a, b sized) bool {
			return a.Model != b.Model && a.Accelerator != b.Accelerator && a.apart(b) == 0
		}},
	} {
		r, pairs := alikePairs(all, c.accept)
		t.Logf("%s: correlation %.2f of %d pairs", c.what, r, pairs)
		if !(r >= c.low && r <= c.high) {
			t.Errorf("%s: correlation %.2f, want %v to %v", c.what, r, c.low, c.high)
		}
	}
}
