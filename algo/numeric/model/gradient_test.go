package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// values returns n values in (−1, 1).
func values(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

// weighted returns inputs with labels that are shares, and with weights, one of them 0.
func weighted(r *rand.Rand, in Input) Input {
	for i := range in.Labels {
		in.Labels[i] = r.Float32()
	}
	in.Weights = make([]float32, in.Samples)
	for i := 1; i < in.Samples; i++ {
		in.Weights[i] = 2 * r.Float32()
	}
	return in
}

// group returns random inputs and alternating labels.
func group(r *rand.Rand, l *Layout, samples int) Input {
	in := Input{
		Samples:    samples,
		Embeddings: values(r, samples*l.EmbeddingWidth),
		Dense:      values(r, samples*l.DenseWidth),
		Labels:     make([]float32, samples*l.Labels),
	}
	for i := range in.Labels {
		in.Labels[i] = float32((i + i/l.Labels) % 2) // of one head every other, of two both alike or not
	}
	return in
}

// backward runs all buckets and returns a gradient that started as NaN, so that
// an element that no bucket writes is seen.
func backward(p Pass, l *Layout, params []float32) []float32 {
	grad := make([]float32, l.Params)
	for i := range grad {
		grad[i] = float32(math.NaN())
	}
	for b := range l.Buckets {
		p.Backward(params, b, grad)
	}
	return grad
}

// The gradient of the embeddings is the same in the input's place as in the pass's.
func TestEmbeddingGradIsWhereTheInputWantsIt(t *testing.T) {
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		params, running := engine.Init(1)
		pass, in := engine.NewPass(5), group(rand.New(rand.NewPCG(1, 2)), l, 5)
		pass.Forward(params, running, in, true)
		backward(pass, l, params)
		want := slices.Clone(pass.EmbeddingGrad())
		in.EmbeddingGrad = make([]float32, len(in.Embeddings))
		pass.Forward(params, running, in, true)
		backward(pass, l, params)
		if got := pass.EmbeddingGrad(); !slices.Equal(got, want) || len(got) > 0 &&
			&got[0] != &in.EmbeddingGrad[0] {
			t.Errorf("%s: %v, want %v, in the input's place", n.name, got, want)
		}
	}
}

// close32 allows the float32 rounding of sums of some tens of terms of order 1;
// batch norm divides by deviations down to about 0.1, which multiplies it.
func close32(got float32, want float64) bool {
	return math.Abs(float64(got)-want) <= 1e-4*max(1, math.Abs(want))
}

func TestForwardMatchesTheFloat64Reference(t *testing.T) {
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		r := rand.New(rand.NewPCG(1, 2))
		params, running := values(r, l.Params), values(r, l.Running)
		for i := range running {
			running[i] = 0.5 + running[i]*running[i] // above 0, as a variance must be
		}
		in := weighted(r, group(r, l, 6))
		pass := engine.NewPass(8)
		for _, train := range []bool{true, false} {
			ref := reference{n.spec, n.schema, l, wide(params), wide(running), train, in.Weights}
			want, wantLoss := ref.loss(rows(wide(in.Embeddings), 6, l.EmbeddingWidth),
				rows(wide(in.Dense), 6, l.DenseWidth), wide(in.Labels))
			logits, loss := pass.Forward(params, running, in, train)
			for i := range want {
				if !close32(logits[i], want[i]) {
					t.Errorf("%s, train %v: logit %d is %v, want %v", n.name, train, i, logits[i], want[i])
				}
			}
			if math.Abs(loss-wantLoss) > 1e-4*wantLoss {
				t.Errorf("%s, train %v: loss %v, want %v", n.name, train, loss, wantLoss)
			}
		}
	}
}

func TestGradientsMatchFiniteDifferencesOfTheReference(t *testing.T) {
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		for _, samples := range []int{7, 1} {
			r := rand.New(rand.NewPCG(3, uint64(samples)))
			params := values(r, l.Params)
			_, running := engine.Init(1)
			in := group(r, l, samples)
			if samples > 1 {
				in = weighted(r, in)
			}
			pass := engine.NewPass(7)
			pass.Forward(params, running, in, true)
			grad := backward(pass, l, params)
			embeddingGrad := pass.EmbeddingGrad()

			ref := reference{n.spec, n.schema, l, wide(params), nil, true, in.Weights}
			embeddings, labels := wide(in.Embeddings), wide(in.Labels)
			loss := func() float64 {
				_, sum := ref.loss(rows(embeddings, samples, l.EmbeddingWidth),
					rows(wide(in.Dense), samples, l.DenseWidth), labels)
				return sum
			}
			for _, tensor := range l.Tensors {
				for i := tensor.Lo; i < tensor.Hi; i++ {
					if want := slope(loss, &ref.params[i]); !close32(grad[i], want) {
						t.Errorf("%s, %d samples: gradient of %s[%d] is %v, want %v", n.name, samples,
							tensor.Name, i-tensor.Lo, grad[i], want)
					}
				}
			}
			if len(embeddingGrad) != len(embeddings) {
				t.Fatalf("%s: %d embedding gradients, want %d", n.name, len(embeddingGrad), len(embeddings))
			}
			for i := range embeddings {
				if want := slope(loss, &embeddings[i]); !close32(embeddingGrad[i], want) {
					t.Errorf("%s, %d samples: gradient of embedding %d is %v, want %v", n.name, samples, i,
						embeddingGrad[i], want)
				}
			}
		}
	}
}

// slope is the central difference of loss in *x. In float64 with h = 1e-6 its
// error is about 1e-10 for losses of order 1.
func slope(loss func() float64, x *float64) float64 {
	const h = 1e-6
	at := *x
	*x = at + h
	above := loss()
	*x = at - h
	below := loss()
	*x = at
	return (above - below) / (2 * h)
}

func TestBucketIsFinalWhenItsBackwardReturns(t *testing.T) {
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		r := rand.New(rand.NewPCG(5, 6))
		params, in := values(r, l.Params), group(r, l, 4)
		_, running := engine.Init(1)
		pass := engine.NewPass(4)
		pass.Forward(params, running, in, true)
		grad, early := make([]float32, l.Params), make([]float32, l.Params)
		for b, bucket := range l.Buckets {
			pass.Backward(params, b, grad)
			copy(early[bucket.Lo:bucket.Hi], grad[bucket.Lo:bucket.Hi])
		}
		for i := range grad {
			if grad[i] != early[i] {
				t.Errorf("%s: element %d changed from %v to %v after its bucket", n.name, i, early[i],
					grad[i])
			}
		}
	}
}

func TestGroupOfNoSamplesGivesZeroGradients(t *testing.T) {
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		params, running := engine.Init(1)
		pass := engine.NewPass(4)
		logits, loss := pass.Forward(params, running, Input{}, true)
		if len(logits) != 0 || loss != 0 {
			t.Errorf("%s: %d logits and loss %v, want none and 0", n.name, len(logits), loss)
		}
		for i, g := range backward(pass, l, params) {
			if g != 0 {
				t.Errorf("%s: gradient %d is %v, want 0", n.name, i, g)
			}
		}
		if got := len(pass.EmbeddingGrad()); got != 0 {
			t.Errorf("%s: %d embedding gradients, want none", n.name, got)
		}
		for i, s := range pass.Stats() {
			if s != s || i == 0 && s != 0 {
				t.Errorf("%s: statistic %d is %v, want a count of 0 and no NaN", n.name, i, s)
			}
		}
	}
}

func TestPassDoesNotAllocateAfterNewPass(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector a sync.Pool forgets at random")
	}
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		params, running := engine.Init(1)
		in := group(rand.New(rand.NewPCG(7, 8)), l, 4)
		pass, grad := engine.NewPass(4), make([]float32, l.Params)
		allocs := testing.AllocsPerRun(3, func() {
			pass.Forward(params, running, in, true)
			for b := range l.Buckets {
				pass.Backward(params, b, grad)
			}
			pass.EmbeddingGrad()
			engine.UpdateRunning(running, pass.Stats())
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations a step, want 0", n.name, allocs)
		}
	}
}
