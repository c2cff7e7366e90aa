package pytorch

import (
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
)

// Inputs are a network with the values from which its steps are computed on both sides.
type Inputs struct {
	model.Input
	Engine  model.Engine
	Initial model.Values // parameters
	Files   *Files       // of all values, for the peer
}

// positiveRate is the share of positive labels. It is not one half, where the sum of the gradients over many
// samples is so small that rounding shows in it.
const positiveRate = 0.25

// Draw draws initial parameters and a batch, and writes them for the peer. Products multiply Tandem's
// matrices; nil: the built-in ones.
func Draw(n *Network, samples int, seed uint64, products gemm.Products) (*Inputs, error) {
	e, err := model.New(n.Spec(), n.Schema(), products)
	if err != nil {
		return nil, err
	}
	initial, err := model.InitialValues(e, seed)
	if err != nil {
		return nil, err
	}
	in := &Inputs{Engine: e, Initial: initial}
	l, random := e.Layout(), rng.New(seed, "gpu/inputs")
	draw := func(n int) []float32 {
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(random.NormFloat64())
		}
		return values
	}
	in.Input = model.Input{Samples: samples, Embeddings: draw(samples * l.EmbeddingWidth),
		Dense: draw(samples * l.DenseWidth), Labels: make([]float32, samples)}
	for i := range in.Labels {
		if random.Float64() < positiveRate {
			in.Labels[i] = 1
		}
	}
	in.Files, err = NewFiles(map[string]any{"params": in.Initial.Params, "embeddings": in.Embeddings,
		"numbers": in.Dense, "labels": in.Labels})
	return in, err
}
