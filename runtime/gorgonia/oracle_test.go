package gorgonia_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/gonum"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
	"tandem/runtime/gorgonia"
)

// The networks of package model, written again as graphs, from their formulas and the
// names of their tensors. A mistake panics, since a failed test has no use for a graph.

const dim = 4

func schema(labels ...string) *batch.Schema {
	s := &batch.Schema{Dense: []string{"age", "price", "hour"}, Labels: labels, PrefixBits: 8}
	for i := range 3 {
		s.Slots = append(s.Slots, batch.Slot{Name: fmt.Sprint(i), Dim: dim})
	}
	return s
}

// layer is x·Wᵀ + b.
func layer(in gorgonia.Nodes, x *G.Node, name string) *G.Node {
	out := G.Must(G.Mul(x, G.Must(G.Transpose(in.Parameters[name+".weight"]))))
	if bias := in.Parameters[name+".bias"]; bias != nil {
		row := G.Must(G.Reshape(bias, tensor.Shape{1, bias.Shape()[0]}))
		out = G.Must(G.BroadcastAdd(out, row, nil, []byte{0}))
	}
	return out
}

// stack is hidden layers with relu.
func stack(in gorgonia.Nodes, x *G.Node, name string, layers int) *G.Node {
	for i := range layers {
		x = G.Must(G.Rectify(layer(in, x, fmt.Sprintf("%s.%d", name, i))))
	}
	return x
}

func feedForward(layers int, heads []string) func(gorgonia.Nodes) (*G.Node, error) {
	return func(in gorgonia.Nodes) (*G.Node, error) {
		x := stack(in, G.Must(G.Concat(1, in.Embeddings, in.Dense)), "top", layers)
		logits := make(G.Nodes, len(heads))
		for i, head := range heads {
			logits[i] = layer(in, x, head)
		}
		if len(logits) == 1 {
			return logits[0], nil
		}
		return G.Concat(1, logits...)
	}
}

// dlrm is Naumov and others, arXiv 1906.00091, section 2.1.
func dlrm(in gorgonia.Nodes) (*G.Node, error) {
	z := stack(in, in.Dense, "bottom", 2)
	vectors := G.Nodes{z}
	for i := range in.Embeddings.Shape()[1] / dim {
		v := G.Must(G.Slice(in.Embeddings, nil, G.S(i*dim, (i+1)*dim)))
		vectors = append(vectors, v)
	}
	joint := G.Nodes{z}
	for i := range vectors {
		for j := range i {
			dot := G.Must(G.Sum(G.Must(G.HadamardProd(vectors[i], vectors[j])), 1))
			joint = append(joint, G.Must(G.Reshape(dot, tensor.Shape{in.Samples, 1})))
		}
	}
	return layer(in, stack(in, G.Must(G.Concat(1, joint...)), "top", 1), "output"), nil
}

// dcn is Wang and others, WWW 2021, equation 1: x₀ ⊙ (W·x + b) + x.
func dcn(in gorgonia.Nodes) (*G.Node, error) {
	x0 := G.Must(G.Concat(1, in.Embeddings, in.Dense))
	x := x0
	for i := range 2 {
		x = G.Must(G.Add(G.Must(G.HadamardProd(x0, layer(in, x, fmt.Sprintf("cross.%d", i)))), x))
	}
	return layer(in, stack(in, x, "top", 1), "output"), nil
}

// The built-in networks and their graphs, two implementations that share no code, agree on
// logits, loss and every gradient.
func TestBuiltInNetworksAgreeWithGorgonia(t *testing.T) {
	two := []model.Head{{}, {Weight: 0.5}}
	for _, tt := range []struct {
		name   string
		spec   model.Spec
		labels []string
		logits func(gorgonia.Nodes) (*G.Node, error)
	}{
		{"feed-forward", model.Spec{Kind: model.FeedForward, EmbeddingDim: dim, Top: []int{16, 8},
			Activation: model.ReLU}, []string{"click"},
			feedForward(2, []string{"output"})},
		{"two heads", model.Spec{Kind: model.FeedForward, EmbeddingDim: dim, Top: []int{8},
			Activation: model.ReLU, Heads: two}, []string{"click", "buy"},
			feedForward(1, []string{"head.0.output", "head.1.output"})},
		{"dlrm", model.Spec{Kind: model.DLRM, EmbeddingDim: dim, Bottom: []int{6}, Top: []int{8},
			Activation: model.ReLU}, []string{"click"}, dlrm},
		{"dcn-v2", model.Spec{Kind: model.DCNv2, EmbeddingDim: dim, CrossLayers: 2, Top: []int{8},
			Structure: model.Stacked, Activation: model.ReLU}, []string{"click"}, dcn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := schema(tt.labels...)
			builtIn, err := model.New(tt.spec, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			m := gorgonia.Model{Logits: tt.logits}
			for _, one := range builtIn.Layout().Tensors {
				m.Parameters = append(m.Parameters, gorgonia.Parameter{Name: one.Name, Shape: one.Shape})
			}
			if len(tt.labels) > 1 {
				m.Weights = []float32{1, 0.5}
			}
			graph, err := gorgonia.New(m, s)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, builtIn, graph)
		})
	}
}

// counted are products that are counted.
type counted struct {
	gemm.Products
	n *int
}

func (c counted) Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int,
	beta float32, out []float32, ldc int) {
	*c.n++
	c.Products.Gemm(transA, transB, m, n, k, a, lda, b, ldb, beta, out, ldc)
}

// Graphs give the same results with the products of package gemm.
func TestMultiply(t *testing.T) {
	made := 0
	gorgonia.Multiply(counted{gemm.NewProducts(nil), &made})
	defer G.Use(gonum.Implementation{})
	TestBuiltInNetworksAgreeWithGorgonia(t)
	if made == 0 {
		t.Error("our products were not asked")
	}
}

// agree compares two engines of equal tensors on groups of several sizes, twice,
// so that what is left of the group before would show.
func agree(t *testing.T, want, got model.Engine) {
	l := want.Layout()
	if fmt.Sprint(l.Tensors) != fmt.Sprint(got.Layout().Tensors) {
		t.Fatalf("tensors %v, want %v", got.Layout().Tensors, l.Tensors)
	}
	params, running := want.Init(3)
	draw := rng.New(5, "oracle")
	for i := range params { // biases begin at 0, which would hide their gradients' effects
		params[i] += float32(0.1 * draw.NormFloat64())
	}
	unchanged := slices.Clone(params)
	wantPass, gotPass := want.NewPass(9), got.NewPass(9)
	for _, samples := range []int{7, 1, 0, 9, 7} {
		in := model.Input{Samples: samples}
		for range samples * l.EmbeddingWidth {
			in.Embeddings = append(in.Embeddings, float32(draw.NormFloat64()))
		}
		for range samples * l.DenseWidth {
			in.Dense = append(in.Dense, float32(draw.NormFloat64()))
		}
		for range samples * l.Labels {
			in.Labels = append(in.Labels, float32(draw.IntN(2)))
		}
		compute := func(p model.Pass, buckets int) (logits []float32, loss float64, grad,
			embeddings []float32) {
			logits, loss = p.Forward(params, running, in, true)
			logits = slices.Clone(logits)
			grad = make([]float32, l.Params)
			for i := range buckets {
				p.Backward(params, i, grad)
			}
			return logits, loss, grad, p.EmbeddingGrad()
		}
		z, loss, grad, embeddings := compute(wantPass, len(l.Buckets))
		z2, loss2, grad2, embeddings2 := compute(gotPass, 1)
		near(t, "logits", z2, z)
		near(t, "loss", []float32{float32(loss2)}, []float32{float32(loss)})
		for _, one := range l.Tensors {
			near(t, "gradient of "+one.Name, grad2[one.Lo:one.Hi], grad[one.Lo:one.Hi])
		}
		near(t, "gradient of the embeddings", embeddings2, embeddings)
		predicted, _ := gotPass.Forward(params, running, in, false)
		near(t, "prediction", predicted, z)
		if !slices.Equal(params, unchanged) {
			t.Fatal("the parameters have changed")
		}
	}
}

// near demands agreement to 1 in 10⁵ of the largest value of a tensor: some ten
// roundings of fp32 in sums of up to thirty terms, in other orders, and in an
// exponential.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	largest := 1e-3
	for _, w := range want {
		largest = max(largest, math.Abs(float64(w)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-5*largest) {
			t.Errorf("%s: value %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}
