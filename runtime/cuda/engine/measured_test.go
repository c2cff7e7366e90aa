package engine_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/runtime/cuda/engine"
)

// measured returns a replica of a network of one group, with its layout.
func measured(t *testing.T, g *engine.GPUs, n network, samplesMax int, summed bool,
) (*engine.Measured, *model.Layout) {
	t.Helper()
	e, err := model.New(n.spec, n.schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	optimizer := opt.DefaultDense()
	m, err := g.NewMeasured(e, model.ReplicaConfig{Initial: initialValues(e), Optimizer: &optimizer,
		Groups: 1, SamplesMax: samplesMax, Ranks: 1, Summed: summed})
	if err != nil {
		t.Fatal(err)
	}
	return m, e.Layout()
}

// dlrm is a network with numbers, whose first layer has no gradient for its input, and with an interaction.
func dlrm() network {
	return network{"dlrm", model.Spec{Kind: model.DLRM, EmbeddingDim: 3, Bottom: []int{4}, Top: []int{5},
		Activation: model.ReLU}, &batch.Schema{
		Slots:  []batch.Slot{{Name: "user", Dim: 3}, {Name: "item", Dim: 3}},
		Dense:  make([]string, 2),
		Labels: make([]string, 1),
	}}
}

// A step whose gradients stay on the device has the bits of one that sums over hosts. Without copies, a step
// computes with what the device has, and its gradients stay there.
func TestMeasuredSteps(t *testing.T) {
	g := open(t, 1, job.Default())
	stays, l := measured(t, g, dlrm(), 6, true)
	travels, _ := measured(t, g, dlrm(), 6, false)
	r := rand.New(rand.NewPCG(1, 2))
	part, pooled := inputs(r, l, []int{6})
	var at [2]model.Values
	for i, m := range []*engine.Measured{stays, travels} {
		for step := range 4 {
			run(t, m, part, pooled)
			if err := m.StepSum(m.Gradients(), 6, step); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if at[i], err = m.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(at[0].Params, at[1].Params) {
		t.Error("a step whose gradients stay on the device has other bits than one that sums over hosts")
	}
	want := run(t, stays, part, pooled)
	other, others := inputs(r, l, []int{6})
	for range 3 { // call by call, recorded and launched
		stays.LeaveOutCopies(true)
		bare := run(t, stays, other, others)
		copied := slices.ContainsFunc(bare.pooled, func(v float32) bool { return v != 0 })
		if bare.loss != want.loss || copied {
			t.Errorf("without copies loss %v and gradients %v, want %v and zeros", bare.loss, bare.pooled,
				want.loss)
		}
	}
	stays.LeaveOutCopies(false)
	if copied := run(t, stays, other, others); copied.loss == want.loss || copied.pooled[0] == 0 {
		t.Errorf("with copies loss %v and gradient %v", copied.loss, copied.pooled[0])
	}
	for _, m := range []*engine.Measured{stays, travels} {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The products of a step are listed once, however many steps were made: forward, and backward for weights and
// for inputs that have a gradient.
func TestProductsOfAStep(t *testing.T) {
	m, l := measured(t, open(t, 1, job.Default()), dlrm(), 6, true)
	part, pooled := inputs(rand.New(rand.NewPCG(1, 2)), l, []int{6})
	for step := range 4 {
		run(t, m, part, pooled)
		if err := m.StepSum(m.Gradients(), 6, step); err != nil {
			t.Fatal(err)
		}
		type shape [3]int
		var got []shape
		for _, p := range m.Products() {
			got = append(got, shape{p.Rows, p.Columns, p.Inner})
		}
		// Bottom 2-4-3; top over 3 numbers and 3 dot products, which are multiplied apart unless the layer
		// widens them: 6-5, then the logit.
		want := []shape{{6, 4, 2}, {6, 3, 4}, {6, 5, 3}, {6, 5, 3}, {6, 1, 5}}
		if !slices.Equal(got[:min(len(want), len(got))], want) {
			t.Errorf("step %d: forward products %v, want %v", step, got, want)
		}
		const backward = 2*5 - 1 // the numbers have no gradient
		if len(got) != len(want)+backward {
			t.Errorf("step %d: %d products %v, want %d", step, len(got), got, len(want)+backward)
		}
	}
}

// Gradients of pooled embeddings are checked even if they stay on the device: those of inputs that are 0 are
// infinite where weights are huge, and gradients of the weights are 0.
func TestGradientsThatStayAreChecked(t *testing.T) {
	n := network{"feed-forward", model.Spec{Kind: model.FeedForward, EmbeddingDim: 3, Top: []int{5},
		Activation: model.ReLU}, dlrm().schema}
	m, l := measured(t, open(t, 1, job.Default()), n, 6, true)
	part, pooled := inputs(rand.New(rand.NewPCG(1, 2)), l, []int{6})
	clear(part.Dense)
	clear(part.Labels)
	clear(pooled)
	run(t, m, part, pooled)
	changed := state(t, m)
	changed.Params = slices.Clone(changed.Params)
	for _, tensor := range l.Tensors {
		of := changed.Params[tensor.Lo:tensor.Hi]
		for i := range of {
			if of[i] = 100; tensor.Lo == 0 {
				of[i] = 3e38
			}
		}
	}
	m.LeaveOutCopies(true)
	if err := m.Restore(changed); err != nil {
		t.Fatal(err)
	}
	if err := m.Forward(part, pooled, make([]float32, len(pooled))); err != nil {
		t.Fatal(err)
	}
	_, notFinite, err := m.Backward(func(int32) {})
	if err != nil || notFinite != "a gradient that stayed on the device" {
		t.Errorf("not finite: %q, error %v", notFinite, err)
	}
}
