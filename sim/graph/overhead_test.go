package graph

import (
	"math"
	"testing"

	"tandem/algo/unit"
	"tandem/sim/model"
	"tandem/sim/system"
)

// Each price of software adds to a step what its description says, and nothing else.
func TestWhatSoftwareAddsToAStep(t *testing.T) {
	const ranks, local, tables = 4, 1024, 8
	c, _ := ideal(t)
	a := c.Accelerator
	launch := a.Launch.Seconds()
	bytes := func(n float64) float64 { return a.Time(stream(1, n)).Seconds() }
	// The layers are 4→64, 64+8·64=576→128, 128→1.
	ins, outs := []int{4, 576, 128}, []int{64, 128, 1}
	layers := func(of func(i int) float64) (sum float64) {
		for i := range outs {
			sum += of(i)
		}
		return sum
	}
	pass := func(i int) float64 { return bytes(2 * local * 2 * float64(outs[i])) }
	// A cast of the two factors of a product of m×k and k×n.
	cast := func(m, n, k int) float64 { return a.Time(stream(2, 6*float64(m*k+k*n))).Seconds() }
	for _, x := range []struct {
		name string
		set  func(s *system.Profile)
		part string
		want float64 // seconds that the part gains
	}{
		{"idle-time", func(s *system.Profile) { s.Pipeline.IdleTime.Mid = unit.Millisecond }, PartHost, 1e-3},
		{"passes forward", func(s *system.Profile) { s.DenseKernels.Passes.Mid = 1.5 }, PartDenseForward,
			1.5 * layers(pass)},
		{"passes backward", func(s *system.Profile) { s.DenseKernels.Passes.Mid = 1.5 }, PartDenseBackward,
			1.5 * layers(pass)},
		{"casts", func(s *system.Profile) { s.DenseKernels.Casts.Mid = 2 }, PartDenseForward,
			2 * layers(func(i int) float64 { return cast(local, outs[i], ins[i]) })},
		{"tensor-launches", func(s *system.Profile) { s.DenseKernels.TensorLaunches.Mid = 3 }, PartOptimizer,
			3 * 6 * launch},
		{"table-launches", func(s *system.Profile) { s.EmbeddingKernels.TableLaunches.Mid = 6 },
			PartEmbeddingForward, 6 / 2 * tables / ranks * launch},
		// 3 ids a sample, rows of 64 values, a quarter of the tables of 4,096 samples.
		{"update-passes", func(s *system.Profile) { s.EmbeddingKernels.UpdatePasses.Mid = 2 },
			PartEmbeddingBackward, float64(2*2*3*ranks*local*(tables/ranks)*64*4) /
				(float64(a.Bandwidth) * a.MemoryShare.At(math.Inf(1)))},
	} {
		j := Job{Model: even(t, tables, 1e6), Cluster: c, GPUs: ranks}
		of := func(s *system.Profile) unit.Tick {
			j.System = s
			return partOf(t, run(t, j), x.part)
		}
		_, without := ideal(t)
		_, with := ideal(t)
		x.set(with)
		got := (of(with) - of(without)).Seconds()
		if math.Abs(got-x.want) > 0.06*x.want { // larger kernels reach more of the memory
			t.Errorf("%s: %s gains %.4g s, want %.4g", x.name, x.part, got, x.want)
		}
	}
}

// partOf returns the time of a part of a step when nothing else runs, without launches.
func partOf(t *testing.T, r *Result, name string) (sum unit.Tick) {
	t.Helper()
	for _, n := range r.Step.Nodes {
		if n.Part == name {
			sum += n.Time
		}
	}
	return sum
}

// Products of fp32 are not converted.
func TestCastsAreOfProductsIn16Bits(t *testing.T) {
	c, s := ideal(t)
	s.DenseKernels.Casts.Mid = 3
	m := even(t, 8, 1e6)
	m.Precisions.Compute, m.Precisions.Activations = model.FP32, model.Float32
	r := run(t, Job{Model: m, Cluster: c, System: s, GPUs: 4})
	for _, n := range r.Step.Nodes {
		if n.Name == "top 1 casts" {
			t.Errorf("%s takes %v", n.Name, n.Time)
		}
	}
}

// What a system does not hide is as long as what it would hide, and lengthens the step by what was hidden.
func TestExposedCollectivesLengthenTheStep(t *testing.T) {
	c, hidden := ideal(t)
	unhindered(hidden)
	j := Job{Model: even(t, 8, 1e6), Cluster: c, System: hidden, GPUs: 4}
	all := run(t, j)
	for _, x := range []struct {
		name string
		set  func(s *system.Profile)
		part string
	}{
		{"inputs", func(s *system.Profile) { s.Pipeline.Inputs.Mid = 0.25 }, PartInput},
		{"reductions", func(s *system.Profile) { s.Pipeline.Reductions.Mid = 0.25 }, PartAllReduce},
	} {
		_, s := ideal(t)
		unhindered(s)
		x.set(s)
		j.System = s
		r := run(t, j)
		whole := partOf(t, all, x.part)
		if got := partOf(t, r, x.part); math.Abs(float64(got-whole)) > 0.01*float64(whole) {
			t.Errorf("%s: %v in all, want %v", x.name, got, whole)
		}
		if more, most := r.StepTime-all.StepTime, whole*3/4; more < most/4 || more > most*11/10 {
			t.Errorf("%s: the step takes %v more, want a part of %v", x.name, more, most)
		}
	}
}

// unhindered takes the host thread and jitter out of a system's steps.
func unhindered(s *system.Profile) {
	s.NNWorker.Jitter.Mid, s.NNWorker.LaunchTime.Mid, s.NNWorker.StepTime.Mid = 0, 0, 0
}
