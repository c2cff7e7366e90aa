package nn

import (
	"math"

	"tandem/algo/numeric/internal/stack"
	"tandem/algo/numeric/kernel/internal/shape"
)

// CrossEntropy returns the binary cross-entropy of logits z against labels y,
// weighted and summed, and writes the gradient of that sum:
//
//	loss = Σ_i w·(max(z,0) − z·y + log(1 + e^−|z|))
//	grad[i] = w·(σ(z) − y)
//
// The bracket equals −y·log σ(z) − (1−y)·log(1−σ(z)), but neither overflows nor
// takes the logarithm of 0. Samples have as many logits and labels as there are
// weights, side by side: w is weights[i mod len(weights)]. Labels are in [0, 1].
// All slices but weights, which is not empty, have equal length; grad may be
// logits or nil (then it is not written), and may not overlap otherwise. The sum
// runs in ascending i in float64.
//
// It panics if a length disagrees. A NaN logit gives a NaN loss and gradient.
// Logarithm and exponential are within 1e-15 of their size, as long as e^−|z| is
// above e⁻⁷⁰⁰, below which it stays there. Cost: about 100 operations a logit; no
// allocation.
func CrossEntropy(grad, logits, labels, weights []float32) (lossSum float64) {
	shape.Equal("labels", len(labels), len(logits))
	if grad != nil {
		shape.Equal("grad", len(grad), len(logits))
	}
	// Blocks of whole samples, so that all blocks have the weights in one order.
	block := entropyBlock
	if len(weights) <= entropyBlock {
		block -= block % len(weights)
	}
	var room struct {
		losses   [entropyBlock]float64
		grads, w [entropyBlock]float32
	}
	losses, unwanted, w := stack.Slice(room.losses[:]), stack.Slice(room.grads[:]), stack.Slice(room.w[:])
	for lo := 0; lo < len(logits); lo += block {
		n := min(block, len(logits)-lo)
		if lo == 0 || len(weights) > entropyBlock {
			for i := range n {
				w[i] = weights[(lo+i)%len(weights)]
			}
		}
		to := unwanted
		if grad != nil {
			to = grad[lo:]
		}
		active.crossEntropy(losses[:n], to, logits[lo:], labels[lo:], w)
		for _, loss := range losses[:n] {
			lossSum += loss
		}
	}
	return lossSum
}

// entropyBlock is the number of logits whose losses CrossEntropy computes at a time.
const entropyBlock = 256

func crossEntropy(losses []float64, grad, logits, labels, weights []float32) {
	for i := range losses {
		z, y, w := float64(logits[i]), float64(labels[i]), float64(weights[i])
		e, log := entropyOf(z)
		losses[i] = float64(w * (max(z, 0) - float64(z*y) + log))
		grad[i] = float32(w * (sigmoid(z, e) - y))
	}
}

// entropyOf returns e = e^−|z| and log(1 + e), in operations that round alike
// everywhere.
//
// With k the whole number next to −|z|·log₂ e and r = |z| + k·ln 2,
//
//	e = 2ᵏ·e^−r,   |r| ≤ ½·ln 2:   e^−r = Σ (−r)ⁱ/i!
//	log(1 + e) = 2·artanh(s),   s = e/(2+e) ≤ ⅓:   2·artanh(s) = s·Σ 2·s²ⁱ/(2i+1)
//
// Fourteen and seventeen terms leave less than a rounding.
func entropyOf(z float64) (e, log float64) {
	a := math.Abs(z)
	if a > 700 {
		a = 700
	}
	const wholeNumber = 0x1.8p52 // the last bit of what is near is 1
	shifted := float64(a*-math.Log2E) + wholeNumber
	k := shifted - wholeNumber
	// ln 2 in two parts, k times the first of which is exact.
	r := a + float64(k*math.Float64frombits(0x3fe62e42fee00000))
	r += float64(k * math.Float64frombits(0x3dea39ef35793c76))
	e = series(r, &expTerms) * math.Float64frombits((math.Float64bits(shifted)+1023)<<52)
	s := e / (2 + e)
	return e, float64(series(float64(s*s), &logTerms) * s)
}

// series returns Σ terms[i]·xⁱ, by Horner's rule.
func series[T *[14]float64 | *[17]float64](x float64, terms T) float64 {
	sum := 0.0
	for i := len(terms) - 1; i >= 0; i-- {
		sum = float64(sum*x) + terms[i]
	}
	return sum
}

// expTerms are (−1)ⁱ/i!, logTerms 2/(2i+1).
var (
	expTerms = func() (terms [14]float64) {
		factorial := 1.0
		for i := range terms {
			if i > 0 {
				factorial *= -float64(i)
			}
			terms[i] = 1 / factorial
		}
		return terms
	}()
	logTerms = func() (terms [17]float64) {
		for i := range terms {
			terms[i] = 2 / float64(2*i+1)
		}
		return terms
	}()
)
