package model

import "fmt"

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
