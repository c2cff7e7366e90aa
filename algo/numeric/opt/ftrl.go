package opt

import (
	"math"

	"tandem/algo/numeric/kernel/vec"
)

// rowFTRL is FTRL-proximal: follow the proximally regularized leader. Every
// element keeps z and the sum n of squared gradients; with α the rate,
//
//	σ = (√(n+g²) − √n) / α;    z += g − σ·w;    n += g²
//	w = 0 if |z| ≤ l1, else −(z − sign(z)·l1) / ((β + √n)/α + l2)
//
// An element without gradient keeps its value. The state holds z of all elements, then
// n of all elements. Cost: about 15 operations and two square roots an element.
//
// Source: McMahan and others, KDD 2013, algorithm 1, with its per-coordinate
// rates. Deviation: the paper starts at w = 0. Here z starts at the value whose w is the
// initial value of the element; z = 0 would discard the initial value at the first
// gradient. A clamp to the weight bound changes w alone, and z follows by the next σ·w.
//
// The rate must be the same in every step, because z is a sum in units of the rate.
type rowFTRL struct{ beta, l1, l2 float32 }

// ftrlFresh, as the value of n, marks an element that has had no gradient.
const ftrlFresh = -1

func (rowFTRL) StateSize(dim int) int { return 2 * dim }
func (rowFTRL) Init(state []float32) {
	half := len(state) / 2
	clear(state[:half])
	fill(state[half:], ftrlFresh)
}

func (o rowFTRL) update(embedding, state, grad []float32, rate float32, bound weightBound) bool {
	if !vec.Finite(grad) {
		return false
	}
	z, n := state[:len(embedding)], state[len(embedding):]
	for i, g := range grad {
		if g == 0 {
			continue
		}
		w := embedding[i]
		if n[i] == ftrlFresh {
			n[i] = 0
			z[i] = -float32(w*o.stiffness(0, rate)) - float32(sign(w)*o.l1)
		}
		root := sqrt(n[i])
		n[i] += float32(g * g)
		sigma := (sqrt(n[i]) - root) / rate
		z[i] += g - float32(sigma*w)
		embedding[i] = o.weight(z[i], sqrt(n[i]), rate)
	}
	bound.clamp(embedding)
	return true
}

// stiffness returns the divisor of z, (β + √n)/α + l2.
func (o rowFTRL) stiffness(root, rate float32) float32 { return (o.beta+root)/rate + o.l2 }

// weight returns the minimum of the regularized sum of gradients.
func (o rowFTRL) weight(z, root, rate float32) float32 {
	if float32(math.Abs(float64(z))) <= o.l1 {
		return 0
	}
	return -(z - float32(sign(z)*o.l1)) / o.stiffness(root, rate)
}

// sign is −1, 0 or 1.
func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
