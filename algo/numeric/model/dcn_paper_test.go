package model

import (
	"math/rand/v2"
	"testing"
)

// cross is a network of cross layers alone, over two numeric features.
func cross(t *testing.T, layers, rank int) Engine {
	spec := Spec{Kind: DCNv2, EmbeddingDim: 1, CrossLayers: layers, Rank: rank, Structure: Stacked,
		Activation: ReLU}
	return mustNew(t, spec, columns(0, 1, 2))
}

// Wang and others 2021, equation 1: x_{l+1} = x_0 ⊙ (W_l·x_l + b_l) + x_l.
func TestWangCrossLayersByHand(t *testing.T) {
	e := cross(t, 2, 0)
	params := make([]float32, e.Layout().Params)
	set(t, e, params, "cross.0.weight", 1, 2, 0, -1)
	set(t, e, params, "cross.0.bias", 1, 0)
	set(t, e, params, "cross.1.weight", 0, 1, 1, 1)
	set(t, e, params, "cross.1.bias", 0, 2)
	// x_0 = (2, 3): W·x_0 + b = (2+6+1, −3) = (9, −3), x_1 = (18+2, −9+3) = (20, −6).
	// Then W·x_1 + b = (−6, 20−6+2) = (−6, 16), x_2 = (−12+20, 48−6) = (8, 42).
	for k, want := range []float32{8, 42} {
		weight := make([]float32, 2)
		weight[k] = 1
		set(t, e, params, "output.weight", weight...)
		if got := logitOf(e, params, nil, []float32{2, 3}); got != want {
			t.Errorf("value %d behind the cross layers is %v, want %v", k, got, want)
		}
	}
}

// Wang and others 2021, section 3.4: l cross layers make polynomials of degree
// l+1 in the features, no less and no more. Along a line t·x of integers, with
// integer weights, the finite differences are exact: that of order l+1 is not 0,
// that of order l+2 is.
func TestWangLayersMakeInteractionsUpToOneOrderMore(t *testing.T) {
	for layers := 1; layers <= 3; layers++ {
		e := cross(t, layers, 0)
		r := rand.New(rand.NewPCG(3, 3))
		params := make([]float32, e.Layout().Params)
		for i := range params {
			params[i] = float32(1 + r.IntN(2))
		}
		var points []float32
		for at := range layers + 3 {
			points = append(points, logitOf(e, params, nil, []float32{float32(at), float32(at)}))
		}
		for order := 1; order <= layers+2; order++ {
			for i := range len(points) - 1 {
				points[i] = points[i+1] - points[i]
			}
			points = points[:len(points)-1]
			if zero := points[0] == 0; zero != (order > layers+1) {
				t.Errorf("%d layers: difference of order %d is %v", layers, order, points[0])
			}
		}
	}
}

// Wang and others 2021, equation 2: W = U·Vᵀ. With U = I and V = Wᵀ it is the
// full layer.
func TestWangLowRankLayerOfFullRankIsTheFullLayer(t *testing.T) {
	full, low := cross(t, 1, 0), cross(t, 1, 2)
	params, lowParams := make([]float32, full.Layout().Params), make([]float32, low.Layout().Params)
	for _, tt := range []struct {
		full, low string
		values    []float32
	}{
		{"cross.0.weight", "cross.0.v.weight", []float32{1, 2, -3, 5}},
		{"cross.0.bias", "cross.0.u.bias", []float32{7, -1}},
		{"output.weight", "output.weight", []float32{1, 4}},
	} {
		set(t, full, params, tt.full, tt.values...)
		set(t, low, lowParams, tt.low, tt.values...)
	}
	set(t, low, lowParams, "cross.0.u.weight", 1, 0, 0, 1)
	if got, want := logitOf(low, lowParams, nil, []float32{2, 3}),
		logitOf(full, params, nil, []float32{2, 3}); got != want {
		t.Errorf("logit %v, want %v", got, want)
	}
}

// Wang and others 2021, section 3.5: a low-rank layer has d·(2r+1) parameters
// where a full one has d·(d+1).
func TestWangLowRankSavesParameters(t *testing.T) {
	spec := Spec{Kind: DCNv2, EmbeddingDim: 4, CrossLayers: 1, Structure: Stacked, Activation: ReLU}
	schema := columns(8, 4, 0) // d = 32
	for rank, want := range map[int]int{0: 32 * 33, 4: 32 * 9} {
		spec.Rank = rank
		// The output layer has 33 more.
		if got := mustNew(t, spec, schema).Layout().Params - 33; got != want {
			t.Errorf("rank %d: %d parameters, want %d", rank, got, want)
		}
	}
}

// Wang and others 2021, section 3.3: stacked, the deep part takes what the cross
// layers give; parallel, it takes the features, and both end side by side. Cross
// layers of 0 pass the features on, so stacked is then a feed-forward network.
func TestWangStructures(t *testing.T) {
	spec := Spec{Kind: DCNv2, EmbeddingDim: 2, CrossLayers: 2, Structure: Stacked, Top: []int{5, 4},
		Activation: ReLU}
	schema := columns(2, 2, 3)
	r := rand.New(rand.NewPCG(4, 4))
	rows, numbers := values(r, 4), values(r, 3)

	stacked := mustNew(t, spec, schema)
	spec.Kind = FeedForward
	forward := mustNew(t, spec, schema)
	params := make([]float32, stacked.Layout().Params)
	forwardParams := values(r, forward.Layout().Params)
	for _, tensor := range forward.Layout().Tensors {
		set(t, stacked, params, tensor.Name, forwardParams[tensor.Lo:tensor.Hi]...)
	}
	want := logitOf(forward, forwardParams, rows, numbers)
	if got := logitOf(stacked, params, rows, numbers); got != want {
		t.Errorf("stacked: logit %v, want %v", got, want)
	}

	// Parallel, the output weighs the 7 features behind the cross layers, here by
	// 0, and then the 4 values of the deep part.
	spec.Kind, spec.Structure = DCNv2, Parallel
	parallel := mustNew(t, spec, schema)
	params = make([]float32, parallel.Layout().Params)
	for _, tensor := range forward.Layout().Tensors {
		weights := forwardParams[tensor.Lo:tensor.Hi]
		if tensor.Name == "output.weight" {
			weights = append(make([]float32, 7), weights...)
		}
		set(t, parallel, params, tensor.Name, weights...)
	}
	if got := logitOf(parallel, params, rows, numbers); !close32(got, float64(want)) {
		t.Errorf("parallel: logit %v, want %v", got, want)
	}
}
