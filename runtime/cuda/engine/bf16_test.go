package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/train"
)

// openIn opens a device for a precision.
func openIn(t *testing.T, precision string) *engine.GPUs {
	t.Helper()
	j := job.Default()
	j.Model.Precision = precision
	return open(t, 1, j)
}

// A step in bf16 is that of the oracle, which rounds where the documentation says so. A value next to the
// middle between two bf16 may be rounded to either, since the oracle adds in another order: this moves a
// gradient, which is a sum over samples, by less than 1e-4 of the largest value of its tensor. A rounding too
// few or too many moves it further. The gradient of a bias in front of a batch norm is rounding alone.
func TestStepsInBF16AreThoseOfTheOracle(t *testing.T) {
	softgpu.Only(t) // on hardware, sums have another order, and more values are rounded to the other side
	g, optimizer := openIn(t, job.BF16), opt.DefaultDense()
	compared, all := 0, networks()
	wide := networkNamed(t, "dlrm")
	// The interaction of these does not fit into shared memory, and stays fp32.
	wide.name, wide.spec.EmbeddingDim = "dlrm of long vectors", 4200
	wide.schema = &batch.Schema{Slots: []batch.Slot{{Name: "user", Dim: 4200}, {Name: "item", Dim: 4200}},
		Dense: wide.schema.Dense, Labels: wide.schema.Labels}
	for _, n := range append(all, wide) {
		device, _, l := pair(t, g, n, &optimizer, job.BF16, 1, 300)
		e, err := model.New(n.spec, n.schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		program, _ := model.NewProgram(e)
		if !understood(program) {
			continue
		}
		compared++
		sizes := []int{3, 40, 300}
		if n.name == wide.name {
			sizes = sizes[:1]
		}
		for _, samples := range sizes {
			part, pooled := inputs(rand.New(rand.NewPCG(1, uint64(samples))), l, []int{samples})
			got, name := run(t, device, part, pooled), fmt.Sprintf("%s, %d samples", n.name, samples)
			o := &oracle{Program: program, params: initialValues(e).Params}
			o.step(part, pooled)
			if math.Abs(got.loss-o.loss) > 1e-6*o.loss {
				t.Errorf("%s: loss %v, want %v", name, got.loss, o.loss)
			}
			for _, tensor := range l.Tensors {
				if !normed(l, tensor) {
					want := single(o.sums[tensor.Lo:tensor.Hi])
					differ(t, name+": "+tensor.Name, got.gradients.Values[tensor.Lo:tensor.Hi], want,
						1e-4*largestOf(want))
				}
			}
			want := single(o.grads[model.PooledValue])
			differ(t, name+": embeddings", got.pooled, want, 1e-4*largestOf(want))
		}
	}
	if compared < 8 {
		t.Errorf("compared %d networks", compared)
	}
}

// single returns numbers in single precision.
func single(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}

// Losses and gradients of every network in bf16 are near those of the host, which rounds the operands of
// products alone. A rounding moves a value by up to 2⁻⁹ of it, and an input of a ReLU that it moves across 0
// changes the gradient of its sample; the mean over many samples moves less. The largest distances in
// software were 1e-4 and 0.07.
func TestGradientsInBF16AreNearThoseOfTheHost(t *testing.T) {
	g, optimizer := openIn(t, job.BF16), opt.DefaultDense()
	for _, n := range networks() {
		device, host, l := pair(t, g, n, &optimizer, job.BF16, 3, 300)
		for _, groups := range [][]int{{40, 0, 39}, {300, 300, 299}} {
			part, pooled := inputs(rand.New(rand.NewPCG(1, 2)), l, groups)
			got, want := run(t, device, part, pooled), run(t, host, part, pooled)
			for range 2 { // recorded, and launched
				again := run(t, device, part, pooled)
				if again.loss != got.loss || !slices.Equal(again.gradients.Values, got.gradients.Values) ||
					!slices.Equal(again.pooled, got.pooled) {
					t.Errorf("%s, groups of %v: a repeated step has other bits", n.name, groups)
				}
			}
			near := func(what string, apart, most float64) {
				if !(apart <= most) {
					t.Errorf("%s, groups of %v: %s differs by %.1e", n.name, groups, what, apart)
				}
			}
			near("the loss", math.Abs(got.loss-want.loss)/want.loss, 1e-3)
			near("the gradient", apart(got.gradients.Values, want.gradients.Values), 0.15)
			near("that of embeddings", apart(got.pooled, want.pooled), 0.15)
			differ(t, n.name+": statistics", got.gradients.Stats, want.gradients.Stats,
				0.01*largestOf(want.gradients.Stats))
		}
	}
}

// In bf16, too, sync has the same bits on any number of ranks and devices.
func TestSyncInBF16HasTheSameBitsOnAnyNumberOfDevices(t *testing.T) {
	var want *train.Result
	for _, on := range [][2]int{{1, 1}, {2, 2}, {4, 4}, {4, 2}} {
		j := exectest.Job(on[0], 2)
		j.Model.Precision, j.Model.Device.CUDA = job.BF16, true
		got := trained(t, j, on[1])
		if want == nil {
			want = got
		}
		if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
			t.Errorf("%d ranks on %d devices have other bits than one on one", on[0], on[1])
		}
	}
}

// Where the library adds no bias to a product, a kernel does, and the user reads of it once. In fp32 that is
// the same sum. In bf16 it is rounded once more, by up to 2⁻⁹ of it.
func TestABiasIsAddedApartWhereTheLibraryAddsNone(t *testing.T) {
	optimizer := opt.DefaultDense()
	for precision, most := range map[string]float64{job.FP32: 0, job.BF16: 0.15} {
		n := networkNamed(t, "dlrm")
		var all []seen
		for _, without := range []string{"", "1"} {
			softgpu.Set(t, "TANDEM_SOFTGPU_NO_BIAS", without)
			g, notes := openIn(t, precision), 0
			want := "adds no bias to a product of 300×2 by 2×4 in " + precision
			g.Note = func(line string) {
				if notes++; !strings.Contains(line, want) {
					t.Errorf("says %s", line)
				}
			}
			device, _, l := pair(t, g, n, &optimizer, precision, 2, 300)
			part, pooled := inputs(rand.New(rand.NewPCG(1, 2)), l, []int{300, 299})
			for range 3 {
				all = append(all, run(t, device, part, pooled))
			}
			if notes != len(without) {
				t.Errorf("%s: said %d times", precision, notes)
			}
		}
		with, without := all[0], all[len(all)-1]
		if off := apart(without.gradients.Values, with.gradients.Values); off > most ||
			math.Abs(with.loss-without.loss) > 1e-3*most*with.loss {
			t.Errorf("%s: the gradient differs by %v, the loss by %v", precision, off, with.loss-without.loss)
		}
		if precision == job.BF16 && without.loss == with.loss {
			t.Errorf("the same bits: the bias was not added apart")
		}
	}
}

// apart returns the Euclidean norm of a − b ÷ that of b.
func apart(a, b []float32) float64 {
	var off, size float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		off, size = off+d*d, size+float64(b[i])*float64(b[i])
	}
	return math.Sqrt(off / size)
}
