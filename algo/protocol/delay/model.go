package delay

import (
	"errors"
	"math"
	"sort"

	"tandem/algo/rng"
)

// Model is a delay for every step. It is immutable and safe for concurrent use.
type Model struct {
	spec       Spec
	seed       uint64
	cumulative []float64 // share of the delays ≤ 0, ≤ 1, ≤ 2 …, for kinds with a list of weights
}

// ErrNotLoaded is the error of NewModel for a trace that Spec.Load has not loaded.
var ErrNotLoaded = errors.New("delay: the trace is not loaded")

// NewModel returns the delays that a Spec describes. Random delays depend on the seed and the step only, so
// all models of one Spec and seed agree, in any order of calls. It returns an error if Spec.Validate does,
// and ErrNotLoaded.
func NewModel(s Spec, seed uint64) (*Model, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	m := &Model{spec: s, seed: seed}
	switch s.Kind {
	case Poisson:
		m.cumulative = cumulate(poisson(s.Mean))
	case Distribution:
		m.cumulative = cumulate(s.Weights)
	case Traced:
		if s.trace == nil {
			return nil, ErrNotLoaded
		}
		m.cumulative = cumulate(s.trace.weights)
	}
	return m, nil
}

// DelayOf returns the delay of a step, in steps, at least 0.
func (m *Model) DelayOf(step int) int {
	switch s := &m.spec; {
	case s.Kind == "":
		return 0
	case s.Kind == Exactly:
		return s.Steps
	case s.Kind == Traced && len(s.trace.steps) > 0:
		return s.trace.steps[step%len(s.trace.steps)]
	}
	draw := rng.New(m.seed, "delay", uint64(step))
	switch m.spec.Kind {
	case AtMost:
		return draw.IntN(m.spec.Steps + 1)
	case Geometric:
		// P(d ≥ n) = (1−p)ⁿ with p = 1/(1+mean): inversion of the distribution function.
		n := math.Log1p(-draw.Float64()) / math.Log(m.spec.Mean/(1+m.spec.Mean))
		return int(min(n, stepsMax))
	}
	u := draw.Float64()
	return sort.Search(len(m.cumulative), func(d int) bool { return m.cumulative[d] > u })
}

// cumulate returns, for each weight, the share of this and all earlier weights in the sum of all. It omits
// weights of 0 at the end, so the last share is 1, and every number below 1 selects a delay with a weight
// above 0.
func cumulate(weights []float64) []float64 {
	for len(weights) > 0 && weights[len(weights)-1] == 0 {
		weights = weights[:len(weights)-1]
	}
	var shares []float64
	sum := 0.0
	for _, w := range weights {
		sum += w
		shares = append(shares, sum)
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// poisson returns the probabilities of 0, 1, 2 … until the remaining ones are below the rounding error.
func poisson(mean float64) []float64 {
	p := math.Exp(-mean)
	weights := []float64{p}
	for d := 1; float64(d) <= mean || p > 1e-17; d++ {
		p *= mean / float64(d)
		weights = append(weights, p)
	}
	return weights
}
