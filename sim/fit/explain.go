package fit

import (
	"fmt"
	"math"
	"strings"

	"tandem/internal/parallel"
	"tandem/sim/predict"
)

// explainEach reports the first step that no point explains: all predictions are on one side of the measured
// time, and more than 3 sigma from it.
func (s *sampler) explainEach() error {
	if len(s.seen) == 0 {
		return fmt.Errorf("fit: %w: at no point of the ranges do all jobs fit their memory", ErrUnexplained)
	}
	for m := range s.steps {
		least, most := math.Inf(1), math.Inf(-1)
		for _, x := range s.seen {
			least, most = min(least, x.errors[m]), max(most, x.errors[m])
		}
		limit := unexplained * s.sigma(m)
		if -limit <= most && least <= limit {
			continue
		}
		step := &s.steps[m]
		because, err := s.alone(m, least > 0)
		if err != nil {
			return err
		}
		return fmt.Errorf("fit: %w: %s takes %s, and predictions are from %s to %s; %s", ErrUnexplained,
			step.Name, milliseconds(step.Seconds), milliseconds(step.Seconds*math.Exp(least)),
			milliseconds(step.Seconds*math.Exp(most)), because)
	}
	return nil
}

// beyondMost is the largest factor beyond the end of a range that is tried, and beyondSteps the number of
// bisections.
const (
	beyondMost  = 100
	beyondSteps = 8
)

// alone says which quantity alone explains a step, and at which value beyond its range: the one of the
// system or, if there is none, of the hardware that must go the smallest factor beyond. The other quantities
// are where the prediction is nearest.
func (s *sampler) alone(step int, faster bool) (string, error) {
	nearest := s.seen[0]
	for _, x := range s.seen {
		if math.Abs(x.errors[step]) < math.Abs(nearest.errors[step]) {
			nearest = x
		}
	}
	type trial struct{ factor, value float64 }
	trials, errs := make([]trial, len(s.vector)), make([]error, len(s.vector))
	parallel.ForEach(s.workers(), len(s.vector), func(i int) {
		trials[i] = trial{factor: math.Inf(1)}
		if s.places[step][i] < 0 {
			return
		}
		try := func(factor float64) (value float64, reaches bool) {
			value, ok := predict.Beyond(s.vector[i], faster, factor)
			if !ok {
				return 0, false
			}
			seconds, err := s.timers[step].SecondsWith(s.ctx, s.own(step, nearest.point), s.name(i), value)
			if err != nil {
				if !predict.DoesNotFit(err) {
					errs[i] = err
				}
				return 0, false
			}
			return value, seconds <= s.steps[step].Seconds == faster
		}
		if _, reaches := try(beyondMost); !reaches {
			return
		}
		low, high := 1.0, float64(beyondMost)
		for range beyondSteps {
			middle := math.Sqrt(low * high)
			if _, reaches := try(middle); reaches {
				high = middle
			} else {
				low = middle
			}
		}
		trials[i].factor = high
		trials[i].value, _ = predict.Beyond(s.vector[i], faster, high)
	})
	best, bestOfSystem := -1, false
	for i, x := range trials {
		ofSystem := strings.HasPrefix(s.name(i), predict.SystemPrefix)
		switch {
		case errs[i] != nil:
			return "", errs[i]
		case math.IsInf(x.factor, 1) || bestOfSystem && !ofSystem:
		case best < 0 || ofSystem != bestOfSystem || x.factor < trials[best].factor:
			best, bestOfSystem = i, ofSystem
		}
	}
	if best < 0 {
		return fmt.Sprintf("no quantity alone explains it, up to %d times beyond its range", beyondMost), nil
	}
	low, _, high := s.vector[best].Span()
	e := s.vector[best]
	return fmt.Sprintf("%s alone would explain it at %s, outside of its range of %s to %s", s.name(best),
		e.Text(trials[best].value), e.Text(low), e.Text(high)), nil
}

// explainAll reports steps that contradict each other: at the best point, the prediction of one of them is
// more than 3 sigma off.
func (s *sampler) explainAll() error {
	best := &s.seen[0]
	for i := range s.seen {
		if s.loss(&s.seen[i]) < s.loss(best) {
			best = &s.seen[i]
		}
	}
	off := func(x *state, m int) float64 { return math.Abs(x.errors[m]) / s.sigma(m) } // in sigmas
	worst := 0
	for m := range best.errors {
		if off(best, m) > off(best, worst) {
			worst = m
		}
	}
	if off(best, worst) <= unexplained {
		return nil
	}
	a, b, apart := 0, 0, float64(unexplained)
	for i := range s.steps {
		for k := range i {
			least := math.Inf(1)
			for at := range s.seen {
				least = min(least, max(off(&s.seen[at], i), off(&s.seen[at], k)))
			}
			if least > apart {
				a, b, apart = k, i, least
			}
		}
	}
	if a == b {
		return fmt.Errorf("fit: %w: the best point for all predicts %s for %s, which takes %s; leave one out",
			ErrContradiction, milliseconds(s.steps[worst].Seconds*math.Exp(best.errors[worst])),
			s.steps[worst].Name, milliseconds(s.steps[worst].Seconds))
	}
	return fmt.Errorf("fit: %w: %s takes %s and %s takes %s; %s", ErrContradiction, s.steps[a].Name,
		milliseconds(s.steps[a].Seconds), s.steps[b].Name, milliseconds(s.steps[b].Seconds), s.given(a, b))
}

// given says what is predicted of one step where another is predicted best.
func (s *sampler) given(a, b int) string {
	nearest := &s.seen[0]
	for i := range s.seen {
		if math.Abs(s.seen[i].errors[a]) < math.Abs(nearest.errors[a]) {
			nearest = &s.seen[i]
		}
	}
	for i := range s.seen {
		x := &s.seen[i]
		if math.Abs(x.errors[a]) <= s.sigma(a) &&
			math.Abs(x.errors[b]) < math.Abs(nearest.errors[b]) {
			nearest = x
		}
	}
	return fmt.Sprintf("where %s is predicted to take %s, the best prediction of %s is %s", s.steps[a].Name,
		milliseconds(s.steps[a].Seconds*math.Exp(nearest.errors[a])), s.steps[b].Name,
		milliseconds(s.steps[b].Seconds*math.Exp(nearest.errors[b])))
}

// milliseconds returns a time as text with three digits.
func milliseconds(seconds float64) string { return fmt.Sprintf("%.3g ms", 1e3*seconds) }
