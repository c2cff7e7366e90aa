package model_test

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// A network is built from a Spec for the columns of a data set. A pass runs forward, then backward bucket by
// bucket, so that a bucket of gradients can be reduced while the next one is computed.
func Example() {
	schema := &batch.Schema{
		Slots: []batch.Slot{{Name: "user", Dim: 2}, {Name: "item", Dim: 2}},
		Dense: []string{"age"}, Labels: []string{"click"}, PrefixBits: 8,
	}
	spec := model.Spec{Kind: model.FeedForward, EmbeddingDim: 2, Top: []int{4}, Activation: model.ReLU}
	engine, err := model.New(spec, schema, nil)
	if err != nil {
		panic(err)
	}
	for _, t := range engine.Layout().Tensors {
		fmt.Println(t.Name, t.Shape)
	}

	params, running := engine.Init(1)
	pass := engine.NewPass(2)
	logits, loss := pass.Forward(params, running, model.Input{
		Samples:    2,
		Embeddings: []float32{0.1, 0.2, 0.3, 0.4, -0.1, -0.2, -0.3, -0.4}, // user, item of each sample
		Dense:      []float32{1, -1},
		Labels:     []float32{1, 0},
	}, true)
	fmt.Println(len(logits), "logits, loss is positive:", loss > 0)

	grad := make([]float32, engine.Layout().Params)
	for bucket := range engine.Layout().Buckets {
		pass.Backward(params, bucket, grad)
	}
	fmt.Println(len(grad), "dense gradients,", len(pass.EmbeddingGrad()), "gradients of embeddings")
	// Output:
	// top.0.weight [4 5]
	// top.0.bias [4]
	// output.weight [1 4]
	// output.bias [1]
	// 2 logits, loss is positive: true
	// 29 dense gradients, 8 gradients of embeddings
}
