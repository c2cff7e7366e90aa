package model_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
)

// skipped are products that are not computed: a step with them takes the time of everything but matrix
// products.
type skipped struct{ gemm.Products }

func (skipped) Gemm(_, _ bool, _, _, _ int, _ []float32, _ int, _ []float32, _ int, _ float32, _ []float32,
	_ int) {
}

// criteo has the columns of the Criteo data: 13 numbers and 26 slots.
func criteo(dim int) *batch.Schema {
	s := &batch.Schema{Dense: make([]string, 13), Labels: []string{"click"}}
	for i := range 26 {
		s.Slots = append(s.Slots, batch.Slot{Name: fmt.Sprint("slot ", i), Dim: dim})
	}
	return s
}

// BenchmarkDenseStep runs the dense step of a rank that has one group on one thread: forward, backward and
// Adam, which is all of a step except its rows. The variant without products measures the rest.
func BenchmarkDenseStep(b *testing.B) {
	small := model.Default()
	small.Top = []int{64, 32}
	dlrm := small
	dlrm.Kind, dlrm.Bottom = model.DLRM, []int{64}
	cross := small
	cross.Kind = model.DCNv2
	deep := small
	deep.Kind = model.DeepFM
	normed := small
	normed.BatchNorm = true
	for _, network := range []struct {
		name string
		spec model.Spec
	}{
		{"64-32", small}, {"64-32 with batch norm", normed}, {"dlrm 64-32", dlrm},
		{"dcn-v2 64-32", cross}, {"deepfm 64-32", deep}, {"tower", model.PersiaTower()},
	} {
		for _, samples := range []int{256, 4096} {
			for _, products := range []gemm.Products{gemm.NewProducts(nil), skipped{gemm.NewProducts(nil)}} {
				name := fmt.Sprintf("%s/%d", network.name, samples)
				if _, without := products.(skipped); without {
					name += "/without products"
				}
				b.Run(name, func(b *testing.B) { denseStep(b, network.spec, samples, products) })
			}
		}
	}
}

func denseStep(b *testing.B, spec model.Spec, samples int, products gemm.Products) {
	engine, err := model.New(spec, criteo(spec.Dim()), products)
	if err != nil {
		b.Fatal(err)
	}
	adam, err := opt.NewDense(opt.DefaultDense())
	if err != nil {
		b.Fatal(err)
	}
	l, r := engine.Layout(), rand.New(rand.NewPCG(1, 2))
	params, running := engine.Init(1)
	grad, state := make([]float32, l.Params), make([]float32, adam.StateSize(l.Params))
	adam.Init(state)
	in := model.Input{Samples: samples, Labels: make([]float32, samples)}
	for range samples * l.EmbeddingWidth {
		in.Embeddings = append(in.Embeddings, r.Float32()-0.5)
	}
	for range samples * l.DenseWidth {
		in.Dense = append(in.Dense, r.Float32())
	}
	pass, step := engine.NewPass(samples), 0
	for b.Loop() {
		pass.Forward(params, running, in, true)
		for bucket := range l.Buckets {
			pass.Backward(params, bucket, grad)
		}
		pass.EmbeddingGrad()
		engine.UpdateRunning(running, pass.Stats())
		adam.StepSum(params, state, grad, samples, step, nil)
		step++
	}
	perSample := float64(l.Cost.ForwardFLOPs + l.Cost.BackwardFLOPs)
	rate := float64(samples) * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "samples/s")
	if _, without := products.(skipped); !without {
		b.ReportMetric(rate*perSample/1e9, "GFLOP/s")
	}
}
