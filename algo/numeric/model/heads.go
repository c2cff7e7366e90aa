package model

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/kernel/nn"
)

// addHeads adds what ends a network: over what all labels share, for every label
// the hidden layers of its own head and a linear layer to its logit. The output
// is one logit a head.
//
// Source: hard parameter sharing, Caruana, Machine Learning 28 (1997), section 2;
// the "shared-bottom" of Ma and others, KDD 2018, section 3.1.
func (n *network) addHeads(shared value, spec Spec) (logits value) {
	heads := spec.Heads
	if len(heads) == 0 {
		heads = []Head{{}}
	}
	var all []value
	for h, head := range heads {
		name := fmt.Sprintf("head.%d", h)
		own := n.addStack(name, head.Layers, spec.BatchNorm, spec.Activation == ReLU, shared)
		if len(heads) == 1 {
			return n.addLogit("output", own)
		}
		all = append(all, n.addLogit(name+".output", own))
	}
	return n.addJoin(all...)
}

// addLogit adds a linear layer to one value.
func (n *network) addLogit(name string, input value) (output value) {
	output = n.addLayer(layerSpec{name: name, out: 1}, input)
	n.outputs = append(n.outputs, n.layout.Params-1) // the bias is the last parameter of a layer without norm
	return output
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

// weightsOf returns the weights of the losses of the labels of a group: those of the labels alone, or one for
// each sample and label if positive samples, or all samples, have weights of their own.
func (p *pass) weightsOf(in Input) []float32 {
	n := p.net
	if n.positiveWeights == nil && in.Weights == nil || len(in.Labels) == 0 {
		return n.weights
	}
	p.lossWeights = slices.Grow(p.lossWeights[:0], len(in.Labels))[:len(in.Labels)]
	for i, label := range in.Labels {
		head := i % len(n.weights)
		w := n.weights[head]
		if n.positiveWeights != nil && label > 0.5 {
			w *= n.positiveWeights[head]
		}
		if in.Weights != nil {
			w *= in.Weights[i/len(n.weights)]
		}
		p.lossWeights[i] = w
	}
	return p.lossWeights
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

// loss returns the sum of the losses of a group, and writes its gradient by the outputs.
func (p *pass) loss(outputs []float32, in Input) (sum float64) {
	grad, units := p.grad(p.net.output), p.net.layout.Units
	if units == nil {
		return nn.CrossEntropy(grad, outputs, in.Labels, p.weightsOf(in))
	}
	p.targets = slices.Grow(p.targets[:0], len(in.Labels))[:len(in.Labels)]
	for i, label := range in.Labels {
		u := units[i%len(units)]
		p.targets[i] = (label - u.Center) / u.Scale
	}
	return nn.SquaredError(grad, outputs, p.targets, p.weightsOf(in))
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
