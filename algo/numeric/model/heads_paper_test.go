package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// multi returns a network of two labels with the given weights of their losses.
func multi(t *testing.T, weights ...float64) Engine {
	t.Helper()
	spec := Spec{Kind: FeedForward, EmbeddingDim: 2, Top: []int{4}, Activation: ReLU}
	for _, w := range weights {
		spec.Heads = append(spec.Heads, Head{Layers: []int{3}, Weight: w})
	}
	schema := adultIncome(2)
	schema.Labels = make([]string, len(weights))
	return mustNew(t, spec, schema)
}

// Hard parameter sharing: the shared layers learn from the sum of the labels'
// gradients, each with its weight, and the layers of a head from its label alone.
// Weights that are powers of two make the sums exact enough to compare bits.
func TestSharedLayersLearnFromTheWeightedSumOfLabels(t *testing.T) {
	grads := func(weights ...float64) (Engine, []float32) {
		engine := multi(t, weights...)
		l := engine.Layout()
		params, running := engine.Init(1)
		pass := engine.NewPass(1)
		pass.Forward(params, running, group(rand.New(rand.NewPCG(1, 2)), l, 1), true)
		return engine, backward(pass, l, params)
	}
	const none = 1.0 / (1 << 40) // far below the last bit of the other label's
	engine, both := grads(0.5, 2)
	_, first := grads(0.5, none)
	_, second := grads(none, 2)
	for _, tensor := range engine.Layout().Tensors {
		for i := tensor.Lo; i < tensor.Hi; i++ {
			want := first[i] + second[i]
			switch tensor.Name[:6] {
			case "head.0":
				want = first[i]
			case "head.1":
				want = second[i]
			}
			if d := both[i] - want; d > 1e-6 || d < -1e-6 {
				t.Errorf("%s[%d]: gradient %v, want %v", tensor.Name, i-tensor.Lo, both[i], want)
			}
		}
	}
}

// The bias of a head moves the fresh logits of every kind of network by itself.
func TestHeadBeginsAtItsBias(t *testing.T) {
	for _, kind := range Kinds() {
		spec := Default()
		spec.Kind = kind
		logits := func(bias float64) []float32 {
			spec.Heads = []Head{{Bias: bias}}
			engine := mustNew(t, spec, adultIncome(spec.Dim()))
			params, running := engine.Init(1)
			l := engine.Layout()
			in := group(rand.New(rand.NewPCG(5, 6)), l, 3)
			in.Labels = nil
			logits, _ := engine.NewPass(3).Forward(params, running, in, false)
			return slices.Clone(logits)
		}
		without, with := logits(0), logits(-2.5)
		for i := range with {
			if d := with[i] - without[i]; d < -2.5-1e-5 || d > -2.5+1e-5 {
				t.Errorf("%s: a bias of −2.5 moves logit %d by %v", kind, i, d)
			}
		}
	}
	spec := Default()
	for _, bad := range []float64{math.NaN(), math.Inf(1), 31, -31} {
		spec.Heads = []Head{{Bias: bad}}
		if spec.Validate() == nil {
			t.Errorf("a bias of %v is accepted", bad)
		}
	}
}

// Logits are stored label by label within each sample, and weights change the loss alone.
func TestWeightsOfLossesDoNotChangeLogits(t *testing.T) {
	var all [2][]float32
	var losses [2]float64
	for i, weights := range [][]float64{{1, 1}, {0.25, 4}} {
		engine := multi(t, weights...)
		params, running := engine.Init(1)
		in := group(rand.New(rand.NewPCG(3, 4)), engine.Layout(), 5)
		logits, loss := engine.NewPass(5).Forward(params, running, in, false)
		all[i], losses[i] = slices.Clone(logits), loss
	}
	if len(all[0]) != 10 || !slices.Equal(all[0], all[1]) || losses[0] == losses[1] {
		t.Errorf("logits %v and %v, losses %v", all[0], all[1], losses)
	}
}

// A positive sample with weight 2 is two samples, and a negative one stays as it is: in the loss and in every
// gradient.
func TestPositiveWeightCountsPositiveSamples(t *testing.T) {
	for _, kind := range Kinds() {
		spec := Default()
		spec.Kind, spec.Top, spec.EmbeddingDim, spec.CrossLayers = kind, []int{4}, 4, 1
		run := func(weight float64, label float32) (loss float64, grads []float32) {
			spec.Heads = []Head{{PositiveWeight: weight}}
			engine := mustNew(t, spec, adultIncome(spec.Dim()))
			l := engine.Layout()
			params, running := engine.Init(1)
			in := group(rand.New(rand.NewPCG(1, 2)), l, 3)
			for i := range in.Labels {
				in.Labels[i] = label
			}
			pass := engine.NewPass(3)
			empty := in // as the last groups of a short batch are
			empty.Samples, empty.Labels, empty.Dense = 0, in.Labels[:0], in.Dense[:0]
			empty.Embeddings, empty.EmbeddingGrad = in.Embeddings[:0], nil
			pass.Forward(params, running, empty, true)
			_, loss = pass.Forward(params, running, in, true)
			return loss, backward(pass, l, params)
		}
		for label, factor := range map[float32]float64{0: 1, 1: 2} {
			loss, grads := run(1, label)
			weighted, more := run(2, label)
			if math.Abs(weighted-factor*loss) > 1e-6*loss {
				t.Errorf("%s, label %v: loss %v, with weight 2 %v", kind, label, loss, weighted)
			}
			for i := range grads {
				if d := float64(more[i]) - factor*float64(grads[i]); math.Abs(d) > 1e-6 {
					t.Fatalf("%s, label %v: gradient %v, with weight 2 %v", kind, label, grads[i], more[i])
				}
			}
		}
	}
}
