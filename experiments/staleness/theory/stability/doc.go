// Package stability predicts how delayed stochastic gradient descent behaves on one row of a model that can
// be solved exactly.
//
// # The model
//
// The row has one value, and e is its distance from the optimum. The loss of a sample with the row's id has
// curvature h there. A share q of the samples of every batch has the id, and gradients are averaged over the
// batch, so that the gradient of the row is q·h·e. Plain SGD with the learning rate η applies a gradient d
// steps late:
//
//	e_{t+1} = e_t − a·e_{t−d} + noise,   a = η·q·h
//
// The functions of this package depend on a, which has no unit, and on d, a whole number of steps:
//
//	a   η (learning rate) × q (share of the samples) × h (curvature of a sample's loss)
//	d   the earlier steps that a read misses; in package delay: "exactly d"
//
// The curvature of the logistic loss in its logit is p·(1−p), which is ¼ for a fair coin and at most ¼. The
// curvature of ½·(w − y)² is 1.
//
// Nothing here holds for optimizers other than SGD without momentum.
//
// docs/theory.md has the proofs. Source of the boundary: Levin and May, Theoretical Population Biology 9
// (1976), 178–187.
package stability
