package opt

import "tandem/algo/kernel"

// adagrad scales the rate of each parameter by the root of its summed squared
// gradients; see Order for the two forms. It is shared by dense parameters and
// rows.
//
// Source: Duchi, Hazan, Singer, JMLR 12 (2011), diagonal form, for After, with
// epsilon outside the root as PyTorch has it; Persia's Adagrad for Before, with
// epsilon inside the root.
type adagrad struct {
	epsilon, initial float32
	order            Order
}

func newAdagrad(order Order, epsilon, initial float64) adagrad {
	return adagrad{float32(epsilon), float32(initial), order}
}

// elementwise applies one step with one accumulator an element.
func (o adagrad) elementwise(w, sum, grad []float32, rate float32) {
	if o.order == Before {
		kernel.AdagradBefore(w, sum, grad, rate, o.epsilon)
	} else {
		kernel.AdagradAfter(w, sum, grad, rate, o.epsilon)
	}
}

// rowwise applies one step with one accumulator for the whole row, which grows
// by the mean of the squared gradients:
//
//	G += Σ_j g[j]² / dim
//
// and stands for every element's own. Cost: 4 operations an element and one
// square root.
//
// Source: Persia's vectorwise_shared Adagrad and FBGEMM's EXACT_ROWWISE_ADAGRAD,
// which fix the mean; the orders are those of elementwise.
func (o adagrad) rowwise(w []float32, sum *float32, grad []float32, rate float32) {
	if len(grad) == 0 {
		return
	}
	var squares float32
	for _, g := range grad {
		squares += float32(g * g)
	}
	mean := squares / float32(len(grad))
	var divisor float32
	if o.order == Before {
		divisor = sqrt(*sum + o.epsilon)
		*sum += mean
	} else {
		*sum += mean
		divisor = sqrt(*sum) + o.epsilon
	}
	for i, g := range grad {
		w[i] -= float32(rate*g) / divisor
	}
}
