package nn

import (
	"math"

	"tandem/algo/numeric/kernel/internal/shape"
)

// Descend applies a step of gradient descent, w −= rate·grad. It panics if the
// lengths differ.
//
// Descend, the two Adagrad and Adam work in float32, rounded after every
// operation, in one pass over all that they read and write. Nothing may overlap.
// Square roots and quotients are correctly rounded, so that a vector has the
// bits of a scalar.
func Descend(w, grad []float32, rate float32) {
	shape.Equal("w", len(w), len(grad))
	active.descend(w, grad, rate)
}

func descend(w, grad []float32, rate float32) {
	for i, g := range grad {
		w[i] -= float32(rate * g)
	}
}

// AdagradAfter applies a step of Adagrad that counts its own gradient:
//
//	sum += grad²;  w −= rate·grad / (√sum + epsilon)
//
// Lengths are equal, or it panics. Cost: 5 operations and a square root an element.
//
// Source: Duchi, Hazan, Singer, JMLR 12 (2011), diagonal form; epsilon outside the
// root as PyTorch has it.
func AdagradAfter(w, sum, grad []float32, rate, epsilon float32) {
	shape.Equal("w", len(w), len(grad))
	shape.Equal("sum", len(sum), len(grad))
	active.adagradAfter(w, sum, grad, rate, epsilon)
}

func adagradAfter(w, sum, grad []float32, rate, epsilon float32) {
	for i, g := range grad {
		sum[i] += float32(g * g)
		w[i] -= float32(rate*g) / (sqrt(sum[i]) + epsilon)
	}
}

// AdagradBefore applies a step of Adagrad that counts its own gradient only
// afterwards, as Persia does:
//
//	w −= rate·grad / √(sum + epsilon);  sum += grad²
//
// Lengths and cost are those of AdagradAfter.
func AdagradBefore(w, sum, grad []float32, rate, epsilon float32) {
	shape.Equal("w", len(w), len(grad))
	shape.Equal("sum", len(sum), len(grad))
	active.adagradBefore(w, sum, grad, rate, epsilon)
}

func adagradBefore(w, sum, grad []float32, rate, epsilon float32) {
	for i, g := range grad {
		w[i] -= float32(rate*g) / sqrt(sum[i]+epsilon)
		sum[i] += float32(g * g)
	}
}

// Adam applies a step of Adam:
//
//	mean = beta1·mean + rest1·grad;    square = beta2·square + rest2·grad²
//	w −= rate·mean / (root·√square + epsilon)
//
// Lengths are equal, or it panics. Cost: 11 operations, a square root and a
// quotient an element.
//
// Source: Kingma, Ba, ICLR 2015, algorithm 1, its corrections taken out of the
// loop as PyTorch does.
func Adam(w, mean, square, grad []float32, f AdamFactors) {
	shape.Equal("w", len(w), len(grad))
	shape.Equal("mean", len(mean), len(grad))
	shape.Equal("square", len(square), len(grad))
	active.adam(w, mean, square, grad, f.Rate, f.Root, f.Epsilon, f.Beta1, f.Beta2, f.Rest1, f.Rest2)
}

func adam(w, mean, square, grad []float32, rate, root, epsilon, beta1, beta2, rest1, rest2 float32) {
	for i, g := range grad {
		mean[i] = float32(beta1*mean[i]) + float32(rest1*g)
		square[i] = float32(beta2*square[i]) + float32(float32(rest2*g)*g)
		w[i] -= float32(rate*mean[i]) / (float32(root*sqrt(square[i])) + epsilon)
	}
}

// AdamFactors are what Adam multiplies and divides by in one step.
type AdamFactors struct {
	Rate         float32 // the learning rate over 1 − beta1ᵗ, which corrects the mean
	Root         float32 // 1 over √(1 − beta2ᵗ), which corrects √square
	Epsilon      float32
	Beta1, Beta2 float32
	Rest1, Rest2 float32 // 1 − beta
}

// sqrt is the float32 square root, correctly rounded: rounding the float64 root
// of a float32 once more gives the same bits as rounding the exact root.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
