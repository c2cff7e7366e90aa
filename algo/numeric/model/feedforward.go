package model

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
)

// newFeedForward builds the network of two towers, over the embeddings and over
// the numeric features, whose outputs are joined and pass the top layers.
func newFeedForward(spec Spec, schema *batch.Schema, products gemm.Products) (Engine, error) {
	n := newNetwork(schema, products)
	relu := spec.Activation == ReLU
	sparse, err := n.addTower("sparse-tower", embeddings, spec.SparseTower, relu)
	if err != nil {
		return nil, err
	}
	dense, err := n.addTower("dense-tower", numeric, spec.DenseTower, relu)
	if err != nil {
		return nil, err
	}
	top := n.addStack("top", spec.Top, spec.BatchNorm, relu, sparse, dense)
	return n.finish(n.addHeads(top, spec), spec), nil
}

// addTower adds the layers of a tower, if there is one.
func (n *network) addTower(name string, input value, tower *Tower, relu bool) (output value, err error) {
	if tower == nil || len(tower.Layers) == 0 {
		return input, nil
	}
	if n.widths[input] == 0 {
		return 0, fmt.Errorf("model: %w: %s has no input: leave it out", ErrSchema, name)
	}
	return n.addStack(name, tower.Layers, tower.BatchNorm, relu, input), nil
}
