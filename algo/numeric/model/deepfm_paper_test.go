package model

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func deepFMSpec() Spec {
	return Spec{Kind: DeepFM, EmbeddingDim: 3, Top: []int{5, 4}, Activation: ReLU}
}

// Guo and others 2017, equation 1: ŷ = sigmoid(y_FM + y_DNN). Where the deep part
// ends in 0, the network is the factorization machine over the same rows and
// weights, gradients included.
func TestGuoLogitIsTheMachineWhereTheDeepPartIsZero(t *testing.T) {
	schema := columns(2, 4, 2)
	deep, machine := mustNew(t, deepFMSpec(), schema),
		mustNew(t, Spec{Kind: FactorizationMachine, Factors: 3}, schema)
	r := rand.New(rand.NewPCG(1, 1))
	params, machineParams := values(r, deep.Layout().Params), make([]float32, machine.Layout().Params)
	set(t, deep, params, "output.weight", 0, 0, 0, 0)
	set(t, deep, params, "output.bias", 0)
	for _, tensor := range machine.Layout().Tensors {
		from := find(t, deep, tensor.Name)
		set(t, machine, machineParams, tensor.Name, params[from.Lo:from.Hi]...)
	}
	in := group(r, deep.Layout(), 4)
	a, b := deep.NewPass(4), machine.NewPass(4)
	got, _ := a.Forward(params, nil, in, true)
	want, _ := b.Forward(machineParams, nil, in, true)
	if !slices.Equal(got, want) {
		t.Errorf("logits %v, want %v", got, want)
	}
	backward(a, deep.Layout(), params)
	backward(b, machine.Layout(), machineParams)
	if got, want := a.EmbeddingGrad(), b.EmbeddingGrad(); !slices.Equal(got, want) {
		t.Errorf("embedding gradients %v, want %v", got, want)
	}
}

// Guo and others 2017, section 2.1: both parts share the embeddings. One field
// has no pair, so with a linear weight of 0 only the deep part is left: a
// feed-forward network over the same factor vector.
func TestGuoDeepPartTakesTheVectorsOfTheMachine(t *testing.T) {
	deep := mustNew(t, deepFMSpec(), columns(1, 4, 0))
	spec := deepFMSpec()
	spec.Kind = FeedForward
	forward := mustNew(t, spec, columns(1, 3, 0))
	params, forwardParams := values(rand.New(rand.NewPCG(2, 2)), deep.Layout().Params),
		make([]float32, forward.Layout().Params)
	set(t, deep, params, "bias", 0)
	for _, tensor := range forward.Layout().Tensors {
		from := find(t, deep, tensor.Name)
		set(t, forward, forwardParams, tensor.Name, params[from.Lo:from.Hi]...)
	}
	got := logitOf(deep, params, []float32{0, 0.5, -0.25, 2}, nil)
	if want := logitOf(forward, forwardParams, []float32{0.5, -0.25, 2}, nil); got != want {
		t.Errorf("logit %v, want %v", got, want)
	}
}

// Guo and others 2017, section 2.1: a scalar w_i weighs each feature's own
// importance. It is the first value of a row, and enters the logit as it is.
func TestGuoFirstValueOfARowIsItsLinearWeight(t *testing.T) {
	e := mustNew(t, deepFMSpec(), columns(2, 4, 0))
	params, _ := e.Init(1)
	row := []float32{0, 0.5, -0.25, 2, 0, 1, 1, 0.5}
	before := logitOf(e, params, row, nil)
	row[0], row[4] = 3, -1
	if got, want := logitOf(e, params, row, nil), float64(before)+2; !close32(got, want) {
		t.Errorf("logit %v with linear weights 3 and -1, want %v", got, want)
	}
}
