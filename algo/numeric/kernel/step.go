package kernel

import "math"

// Descend applies a step of gradient descent, w −= rate·grad. It panics if the
// lengths differ.
//
// Descend, the two Adagrad and Adam work in float32, rounded after every
// operation, in one pass over all that they read and write. Nothing may overlap.
// Square roots and quotients are correctly rounded, so that a vector has the
// bits of a scalar.
func Descend(w, grad []float32, rate float32) {
	checkSame("w", len(w), len(grad))
	if vectors(len(grad)) {
		descendVector(1, len(grad), 0, &w[0], &grad[0], rate)
		return
	}
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
	checkSame("w", len(w), len(grad))
	checkSame("sum", len(sum), len(grad))
	if vectors(len(grad)) {
		adagradAfterVector(1, len(grad), 0, &w[0], &sum[0], &grad[0], rate, epsilon)
		return
	}
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
	checkSame("w", len(w), len(grad))
	checkSame("sum", len(sum), len(grad))
	if vectors(len(grad)) {
		adagradBeforeVector(1, len(grad), 0, &w[0], &sum[0], &grad[0], rate, epsilon)
		return
	}
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
	checkSame("w", len(w), len(grad))
	checkSame("mean", len(mean), len(grad))
	checkSame("square", len(square), len(grad))
	if vectors(len(grad)) {
		adamVector(1, len(grad), 0, &w[0], &mean[0], &square[0], &grad[0],
			f.Rate, f.Root, f.Epsilon, f.Beta1, f.Beta2, f.Rest1, f.Rest2)
		return
	}
	for i, g := range grad {
		mean[i] = float32(f.Beta1*mean[i]) + float32(f.Rest1*g)
		square[i] = float32(f.Beta2*square[i]) + float32(float32(f.Rest2*g)*g)
		w[i] -= float32(f.Rate*mean[i]) / (float32(f.Root*sqrt(square[i])) + f.Epsilon)
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
