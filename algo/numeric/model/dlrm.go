package model

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
)

// newDLRM builds the deep learning recommendation model. A bottom stack brings
// the numeric features to the length d of an embedding; its output z and the
// pooled embeddings e_i interact by dot products, and the top layers take
//
//	z, ⟨v_i, v_j⟩ for all j < i   with v = z, e_1, e_2, …
//
// Without numeric features there is no z.
//
// Source: Naumov and others, arXiv 1906.00091, section 2.1.
func newDLRM(spec Spec, schema *batch.Schema, products gemm.Products) (Engine, error) {
	n := newNetwork(schema, products)
	d, relu := spec.EmbeddingDim, spec.Activation == ReLU
	vectors, top := embeddings, []value(nil)
	if n.widths[numeric] > 0 {
		widths := append(append([]int(nil), spec.Bottom...), d)
		bottom := n.addStack("bottom", widths, false, relu, numeric)
		vectors, top = n.addJoin(bottom, embeddings), []value{bottom}
	}
	if n.widths[vectors] < 2*d {
		return nil, fmt.Errorf("model: %w: %s needs two vectors that interact: two slots, or one and a "+
			"numeric feature",
			ErrSchema, spec.Kind)
	}
	top = append(top, n.addInteraction(vectors, d))
	return n.finish(n.addHeads(n.addStack("top", spec.Top, spec.BatchNorm, relu, top...), spec), spec), nil
}
