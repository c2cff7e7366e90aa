package model

import (
	"slices"

	"tandem/algo/numeric/kernel/nn"
)

// Loss is what training minimises: the losses of the labels that a Spec describes. It has memory for one
// group, so that only one goroutine may use it.
type Loss struct {
	weights         []float32 // of the labels
	positiveWeights []float32 // what positive samples of each label count beside them; nil if all count 1
	units           []Unit    // of the labels; nil unless these are numbers

	perSample []float32 // memory for the weights of samples, where these have weights of their own
	targets   []float32 // memory for labels in their units
}

// NewLoss returns the loss of a spec.
func NewLoss(s Spec) *Loss {
	return &Loss{weights: s.lossWeights(), positiveWeights: s.positiveWeights(), units: s.units()}
}

// Units returns what makes predictions of outputs, for Layout.Units.
func (l *Loss) Units() []Unit { return l.units }

// Sum returns the sum of the losses of a group, and writes its gradient by the outputs.
func (l *Loss) Sum(grad, outputs []float32, in Input) float64 {
	if l.units == nil {
		return nn.CrossEntropy(grad, outputs, in.Labels, l.weightsOf(in))
	}
	l.targets = slices.Grow(l.targets[:0], len(in.Labels))[:len(in.Labels)]
	for i, label := range in.Labels {
		u := l.units[i%len(l.units)]
		l.targets[i] = (label - u.Center) / u.Scale
	}
	return nn.SquaredError(grad, outputs, l.targets, l.weightsOf(in))
}

// weightsOf returns the weights of the losses of the labels of a group: those of the labels alone, or one for
// each sample and label if positive samples, or all samples, have weights of their own.
func (l *Loss) weightsOf(in Input) []float32 {
	if l.positiveWeights == nil && in.Weights == nil || len(in.Labels) == 0 {
		return l.weights
	}
	l.perSample = slices.Grow(l.perSample[:0], len(in.Labels))[:len(in.Labels)]
	for i, label := range in.Labels {
		head := i % len(l.weights)
		w := l.weights[head]
		if l.positiveWeights != nil && label > 0.5 {
			w *= l.positiveWeights[head]
		}
		if in.Weights != nil {
			w *= in.Weights[i/len(l.weights)]
		}
		l.perSample[i] = w
	}
	return l.perSample
}

// lossWeights returns the weights of the labels' losses.
func (s Spec) lossWeights() []float32 {
	weights := make([]float32, s.Labels())
	for i := range weights {
		weights[i] = 1
		if i < len(s.Heads) && s.Heads[i].Weight > 0 {
			weights[i] = float32(s.Heads[i].Weight)
		}
	}
	return weights
}

// positiveWeights returns what positive samples of each label count, or nil if all count 1.
func (s Spec) positiveWeights() []float32 {
	weights, plain := make([]float32, s.Labels()), true
	for i := range weights {
		weights[i] = 1
		if i < len(s.Heads) && s.Heads[i].PositiveWeight > 0 {
			weights[i] = float32(s.Heads[i].PositiveWeight)
			plain = plain && weights[i] == 1
		}
	}
	if plain {
		return nil
	}
	return weights
}

// units returns the units of the labels, nil unless these are numbers.
func (s Spec) units() []Unit {
	if s.Loss != SquaredLoss {
		return nil
	}
	units := make([]Unit, s.Labels())
	for i := range units {
		units[i].Scale = 1
		if i < len(s.Heads) {
			units[i].Center = float32(s.Heads[i].Center)
			if s.Heads[i].Scale > 0 {
				units[i].Scale = float32(s.Heads[i].Scale)
			}
		}
	}
	return units
}
