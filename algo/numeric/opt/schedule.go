package opt

import (
	"fmt"
	"math"
)

// Decays of a learning rate.
const (
	NoDecay          = "none"
	LinearDecay      = "linear"
	InverseSqrtDecay = "inverse-sqrt"
	StepDecay        = "step"
)

// Schedule describes how a learning rate changes from step to step. With s the
// step from 0, W = WarmUp and N = Steps, the rate is a fraction of its peak:
//
//	s < W          (s + 1)/W
//	none           1
//	linear         (N − s)/(N − W), from step N on 0
//	inverse-sqrt   √(max(W, 1)/(s + 1))
//	step           Factor^k,  k = ⌊(s − W)/N⌋
//
// The zero value keeps the peak.
//
// Source: warm-up as Goyal and others, arXiv 1706.02677, section 2.2, from nearly
// 0; inverse-sqrt as Vaswani and others, NeurIPS 2017, section 5.3.
type Schedule struct {
	WarmUp int    `yaml:"warm-up"` // steps of the linear rise, up to 2³¹−1; 0: none
	Decay  string `yaml:"decay"`   // none, linear, inverse-sqrt or step; empty: none
	// Steps is the step at which linear reaches 0, above WarmUp, or the number of
	// steps between two drops of step, at least 1; up to 2³¹−1.
	Steps int `yaml:"steps"`
	// Factor is what a drop of step multiplies the rate by, in (0, 1].
	Factor float64 `yaml:"factor"`
}

// Validate returns an error that names the first field that is out of range.
func (s Schedule) Validate() error {
	if s.WarmUp < 0 || s.WarmUp > math.MaxInt32 {
		return fmt.Errorf("warm-up = %d, want 0 to %d", s.WarmUp, math.MaxInt32)
	}
	if s.Steps > math.MaxInt32 {
		return fmt.Errorf("steps = %d, want at most %d", s.Steps, math.MaxInt32)
	}
	switch s.Decay {
	case "", NoDecay, InverseSqrtDecay:
		return nil
	case LinearDecay:
		if s.Steps <= s.WarmUp {
			return fmt.Errorf("steps = %d, want more than warm-up = %d", s.Steps, s.WarmUp)
		}
		return nil
	case StepDecay:
		if s.Steps < 1 {
			return fmt.Errorf("steps = %d, want at least 1", s.Steps)
		}
		if !(s.Factor > 0 && s.Factor <= 1) {
			return fmt.Errorf("factor = %v, want above 0 and at most 1", s.Factor)
		}
		return nil
	}
	return fmt.Errorf("decay = %q, want %s, %s, %s or %s", s.Decay, NoDecay, LinearDecay, InverseSqrtDecay,
		StepDecay)
}

// Rate returns the learning rate of a step, which counts from 0, where peak is
// the highest. S must be valid.
func (s Schedule) Rate(peak float64, step int) float64 {
	if step < s.WarmUp {
		return peak * float64(step+1) / float64(s.WarmUp)
	}
	switch s.Decay {
	case LinearDecay:
		return peak * float64(max(s.Steps-step, 0)) / float64(s.Steps-s.WarmUp)
	case InverseSqrtDecay:
		return peak * math.Sqrt(float64(max(s.WarmUp, 1))/float64(step+1))
	case StepDecay:
		return peak * math.Pow(s.Factor, float64((step-s.WarmUp)/s.Steps))
	}
	return peak
}

// constant reports whether the rate is the peak in every step.
func (s Schedule) constant() bool { return s.WarmUp == 0 && (s.Decay == "" || s.Decay == NoDecay) }
