package model

import (
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
)

// newLogistic builds logistic regression over rows, pooled or of raw slots, and
// numeric features; with several heads one beside the other, which share nothing: head h uses value
// h of every row.
func newLogistic(spec Spec, schema *batch.Schema, products gemm.Products) Engine {
	n := newNetwork(schema, products)
	return n.finish(n.addLinear(spec.Labels()), spec)
}

// newFactorization builds a factorization machine of second order. Every slot is
// a field, whose pooled row holds a linear weight and a factor vector; every
// numeric feature is one more field with a weight and a vector of its own:
//
//	logit = b + Σ_i e_i + Σ_j w_j·x_j + Σ_{i<j} ⟨v_i, v_j⟩
//
// where the last sum runs over all fields.
//
// Source: Rendle, Factorization Machines, ICDM 2010, equation 1. Deviation: the
// ids of one slot are pooled first and do not interact.
func newFactorization(spec Spec, schema *batch.Schema, products gemm.Products) Engine {
	n := newNetwork(schema, products)
	logit, _ := n.addFactorization(spec.Factors, spec.wideSlots(schema))
	return n.finish(logit, spec)
}

// addFactorization adds a factorization machine with vectors of dim values, and
// returns its logit and the vectors. wide has the numbers of the slots that have a weight alone.
func (n *network) addFactorization(dim int, wide []int) (logit, vectors value) {
	first := n.addLinear(1)
	vectors = n.addFactors(dim, wide)
	return n.addSum(first, n.addPairSum(vectors, dim)), vectors
}

// newDeepFM builds a factorization machine and, over the same factor vectors
// side by side, a stack of hidden layers; their logits are added.
//
// Source: Guo, Tang, Ye, Li, He, IJCAI 2017, equations 1 to 4. Deviation: the ids
// of one slot are pooled first, as in newFactorization; no dropout; the slots of Spec.Wide have a weight and
// no vector, as the crosses of Wide & Deep (Cheng and others, DLRS 2016).
func newDeepFM(spec Spec, schema *batch.Schema, products gemm.Products) Engine {
	n := newNetwork(schema, products)
	shallow, vectors := n.addFactorization(spec.EmbeddingDim, spec.wideSlots(schema))
	deep := n.addStack("top", spec.Top, spec.BatchNorm, spec.Activation == ReLU, vectors)
	return n.finish(n.addSum(shallow, n.addLogit("output", deep)), spec)
}
