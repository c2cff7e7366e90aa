package model

import "tandem/algo/numeric/kernel/nn"

// gate multiplies two values element by element and adds a third:
//
//	out = x ⊙ y + z
//
// It is the half of a cross layer that has no parameters.
type gate struct {
	stateless
	width   int
	x, y, z value
	output  value
}

// addGate adds a gate over three values of equal width.
func (n *network) addGate(x, y, z value) (output value) {
	g := &gate{width: n.widths[x], x: x, y: y, z: z}
	g.output = n.newValue(g.width)
	n.add(g, n.layout.Params)
	return g.output
}

func (g *gate) cost() (flops float64, values, kernels int) {
	return float64(2 * g.width), 4 * g.width, 1
}

func (g *gate) newPass(int) partPass { return g }

func (g *gate) forward(p *pass) {
	nn.Gate(p.value(g.output), p.value(g.x), p.value(g.y), p.value(g.z))
}

// backward may meet x and z in one value, as in the first cross layer: both
// terms are added.
func (g *gate) backward(p *pass, _ []float32) {
	nn.GateBackward(p.cleared(g.x), p.cleared(g.y), p.cleared(g.z), p.grad(g.output), p.value(g.x),
		p.value(g.y))
}
