package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/algo/numeric/batch"
)

// columns returns a schema of slots of rows of dim values and numeric features.
func columns(slots, dim, numbers int) *batch.Schema {
	s := &batch.Schema{Dense: make([]string, numbers), Labels: []string{"click"}}
	for range slots {
		s.Slots = append(s.Slots, batch.Slot{Name: "slot", Dim: dim})
	}
	return s
}

func mustNew(t *testing.T, spec Spec, schema *batch.Schema) Engine {
	t.Helper()
	engine, err := New(spec, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// set overwrites a tensor.
func set(t *testing.T, e Engine, params []float32, name string, values ...float32) {
	t.Helper()
	tensor := find(t, e, name)
	if len(values) != tensor.Hi-tensor.Lo {
		t.Fatalf("%d values for %s of shape %v", len(values), name, tensor.Shape)
	}
	copy(params[tensor.Lo:], values)
}

// logitOf evaluates one sample.
func logitOf(e Engine, params, embeddings, numbers []float32) float32 {
	_, running := e.Init(1)
	logits, _ := e.NewPass(1).Forward(params, running,
		Input{Samples: 1, Embeddings: embeddings, Dense: numbers}, false)
	return logits[0]
}

// Naumov and others 2019, section 2.1.3: the dot product of every pair of
// different vectors, once, joined with the output of the bottom layers.
func TestNaumovTopTakesTheBottomAndTheStrictlyLowerTriangle(t *testing.T) {
	e := mustNew(t, Spec{Kind: DLRM, EmbeddingDim: 2, Activation: NoActivation}, columns(2, 2, 2))
	params := make([]float32, e.Layout().Params)
	set(t, e, params, "bottom.0.weight", 1, 0, 0, 1)
	// The bottom is the identity, so the vectors are (1, 2), (3, 4), (5, 6):
	// products 1·3+2·4 = 11, 1·5+2·6 = 17, 3·5+4·6 = 39.
	for k, want := range []float32{1, 2, 11, 17, 39} {
		unit := make([]float32, 5)
		unit[k] = 1
		set(t, e, params, "output.weight", unit...)
		if got := logitOf(e, params, []float32{3, 4, 5, 6}, []float32{1, 2}); got != want {
			t.Errorf("input %d of the top is %v, want %v", k, got, want)
		}
	}
}

// Naumov and others 2019, section 2.1.3: the interactions are those of a
// factorization machine. If the top adds the products, the logit is the pair sum.
func TestNaumovInteractionsSumToAFactorizationMachine(t *testing.T) {
	const slots, dim = 5, 3
	dlrm := mustNew(t, Spec{Kind: DLRM, EmbeddingDim: dim, Activation: NoActivation}, columns(slots, dim, 0))
	fm := mustNew(t, Spec{Kind: FactorizationMachine, Factors: dim}, columns(slots, dim+1, 0))
	params := make([]float32, dlrm.Layout().Params)
	set(t, dlrm, params, "output.weight", slices.Repeat([]float32{1}, slots*(slots-1)/2)...)
	rows := values(rand.New(rand.NewPCG(1, 1)), slots*dim)
	var weighted []float32 // with linear weights of 0
	for at := 0; at < len(rows); at += dim {
		weighted = append(append(weighted, 0), rows[at:at+dim]...)
	}
	want := logitOf(fm, make([]float32, fm.Layout().Params), weighted, nil)
	if got := logitOf(dlrm, params, rows, nil); !close32(got, float64(want)) {
		t.Errorf("logit %v, want %v", got, want)
	}
}

// The network of the paper's code for Criteo Kaggle: 26 slots and 13 numeric
// features, rows of 16, bottom 512-256-64-16, top 512-256.
func TestNaumovCriteoNetworkHasTheWidthsOfTheCode(t *testing.T) {
	spec := Spec{Kind: DLRM, EmbeddingDim: 16, Bottom: []int{512, 256, 64}, Top: []int{512, 256},
		Activation: ReLU}
	e := mustNew(t, spec, columns(26, 16, 13))
	l := e.Layout()
	// 27 vectors have 27·26/2 = 351 pairs; with the bottom's 16 values, 367.
	if got := find(t, e, "top.0.weight").Shape; !slices.Equal(got, []int{512, 367}) {
		t.Errorf("the top's first layer has shape %v, want [512 367]", got)
	}
	// Bottom 13·512+512 + 512·256+256 + 256·64+64 + 64·16+16 = 155984; top
	// 367·512+512 + 512·256+256 + 256+1 = 320001.
	if l.Params != 475985 || len(l.Buckets) != 7 {
		t.Errorf("%d parameters in %d buckets, want 475985 in 7", l.Params, len(l.Buckets))
	}
	// 2·(13·512 + 512·256 + 256·64 + 64·16 + 351·16 + 367·512 + 512·256 + 256) = 959968.
	if l.Cost.ForwardFLOPs != 959968 || l.Cost.BackwardFLOPs != 1919936 {
		t.Errorf("%v and %v FLOPs a sample, want 959968 and 1919936", l.Cost.ForwardFLOPs,
			l.Cost.BackwardFLOPs)
	}
	// 7 products, 6 relus, two joins, the interactions, the loss.
	if l.Cost.Kernels != 17 {
		t.Errorf("%d kernels, want 17", l.Cost.Kernels)
	}
}
