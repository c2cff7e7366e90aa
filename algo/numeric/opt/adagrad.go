package opt

import "tandem/algo/numeric/kernel/nn"

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
		nn.AdagradBefore(w, sum, grad, rate, o.epsilon)
	} else {
		nn.AdagradAfter(w, sum, grad, rate, o.epsilon)
	}
}
