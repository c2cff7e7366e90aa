package opt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/algo/numeric/kernel/gemm"
)

// backwards is a pool that runs its tasks on the calling goroutine, the last one first.
type backwards struct{}

func (backwards) Size() int { return 3 }

func (backwards) ForEach(tasks int, task func(index int)) {
	for i := tasks - 1; i >= 0; i-- {
		task(i)
	}
}

// sweepSpecs are the kinds of dense optimizers, one of them with clip-norm.
func sweepSpecs() []DenseSpec {
	sgd, adagrad, adam, clipped := DefaultDense(), DefaultDense(), DefaultDense(), DefaultDense()
	sgd.Kind, adagrad.Kind, clipped.ClipNorm = SGD, Adagrad, 1
	return []DenseSpec{sgd, adagrad, adam, clipped}
}

func TestStepSumIsAStepOfTheMean(t *testing.T) {
	// More than one task of a pool, and a part of a block.
	const params, samples = 2*sweepTask + sweepBlock/2 + 3, 6
	r := rand.New(rand.NewPCG(1, 2))
	start, sum := make([]float32, params), make([]float32, params)
	for i := range start {
		start[i], sum[i] = r.Float32(), r.Float32()-0.5
	}
	for _, spec := range sweepSpecs() {
		o := mustDense(t, spec)
		run := func(step func(w, state, sum []float32, n int)) (all []float32) {
			w, state := slices.Clone(start), make([]float32, o.StateSize(params))
			o.Init(state)
			for n := range 2 {
				step(w, state, slices.Clone(sum), n)
			}
			return append(w, state...)
		}
		want := run(func(w, state, sum []float32, n int) {
			for i := range sum {
				sum[i] /= samples
			}
			o.Step(w, state, sum, n)
		})
		for _, pool := range []gemm.Pool{nil, backwards{}} {
			got := run(func(w, state, sum []float32, n int) { o.StepSum(w, state, sum, samples, n, pool) })
			if !slices.Equal(got, want) {
				t.Errorf("%s, clip-norm %v, pool %v: not the step of the mean", spec.Kind, spec.ClipNorm,
					pool)
			}
		}
	}
}

func TestDenseStepsDoNotAllocate(t *testing.T) {
	for _, spec := range sweepSpecs() {
		o := mustDense(t, spec)
		w, grad := make([]float32, 5000), make([]float32, 5000)
		state := make([]float32, o.StateSize(len(w)))
		o.Init(state)
		if allocs := testing.AllocsPerRun(3, func() { o.StepSum(w, state, grad, 4, 1, nil) }); allocs != 0 {
			t.Errorf("%s, clip-norm %v: %v allocations, want 0", spec.Kind, spec.ClipNorm, allocs)
		}
	}
}
