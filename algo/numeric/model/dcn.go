package model

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
)

// newDCNv2 builds the deep and cross network, version 2: cross layers over the
// embeddings and numeric features x_0, and a stack of hidden layers behind them
// (stacked) or beside them (parallel).
//
// Source: Wang, Shivanna, Cheng, Jain, Lin, Hong, Chi, WWW 2021, section 3.
// Deviation: no mixture of low-rank experts.
func newDCNv2(spec Spec, schema *batch.Schema, products gemm.Products) Engine {
	n := newNetwork(schema, products)
	relu := spec.Activation == ReLU
	x0 := n.addJoin(embeddings, numeric)
	crossed := x0
	for i := range spec.CrossLayers {
		crossed = n.addCross(fmt.Sprintf("cross.%d", i), x0, crossed, spec.Rank)
	}
	if spec.Structure == Stacked {
		return n.finish(n.addHeads(n.addStack("top", spec.Top, spec.BatchNorm, relu, crossed), spec), spec)
	}
	deep := n.addStack("top", spec.Top, spec.BatchNorm, relu, x0)
	return n.finish(n.addHeads(n.addJoin(crossed, deep), spec), spec)
}

// addCross adds one cross layer over x, all of whose widths are that of x_0:
//
//	out = x_0 ⊙ (W·x + b) + x
//
// With a rank r > 0, W = U·V where U has r columns and V r rows. (The paper's V
// is the transpose of this one.)
//
// Source: Wang and others, WWW 2021, equations 1 and 2.
func (n *network) addCross(name string, x0, x value, rank int) (output value) {
	width := n.widths[x0]
	projected := x
	if rank > 0 {
		projected = n.addLayer(layerSpec{name: name + ".v", out: rank, noBias: true}, x)
		name += ".u"
	}
	return n.addGate(x0, n.addLayer(layerSpec{name: name, out: width}, projected), x)
}
