package engine_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/cuda/softgpu"
)

// network is a network with the data that it needs.
type network struct {
	name   string
	spec   model.Spec
	schema *batch.Schema
}

// networks has every part of a program, in every form, with and without numeric features.
func networks() []network {
	schema := func(dim, numbers, raw, labels int) *batch.Schema {
		s := &batch.Schema{
			Slots: []batch.Slot{{Name: "user", Dim: dim}, {Name: "item", Dim: dim}},
			Dense: make([]string, numbers), Labels: make([]string, labels),
		}
		if raw > 0 {
			s.Slots = append(s.Slots, batch.Slot{Name: "history", Dim: dim, Pooling: batch.Raw,
				FixedSize: raw})
		}
		return s
	}
	forward := func(layers []int, norm bool, heads ...model.Head) model.Spec {
		tower := &model.Tower{Layers: []int{4, 5}, BatchNorm: norm}
		return model.Spec{Kind: model.FeedForward, EmbeddingDim: 3, SparseTower: tower, DenseTower: tower,
			Top: layers, Activation: model.ReLU, BatchNorm: norm, Heads: heads}
	}
	cross := func(structure string, rank int, norm bool) model.Spec {
		return model.Spec{Kind: model.DCNv2, EmbeddingDim: 3, CrossLayers: 2, Structure: structure,
			Rank: rank, Top: []int{5}, Activation: model.ReLU, BatchNorm: norm}
	}
	dlrm := model.Spec{Kind: model.DLRM, EmbeddingDim: 3, Bottom: []int{4}, Top: []int{5, 4},
		Activation: model.ReLU}
	deep := model.Spec{Kind: model.DeepFM, EmbeddingDim: 3, Top: []int{5, 4}, Activation: model.ReLU}
	wide := deep
	wide.Wide = []string{"user"}
	heads := []model.Head{{Layers: []int{4}}, {Weight: 0.25, PositiveWeight: 3}}
	return []network{
		{"logistic regression", model.Spec{Kind: model.LogisticRegression}, schema(1, 3, 0, 1)},
		{"logistic regression of two labels over a raw slot",
			model.Spec{Kind: model.LogisticRegression, Heads: []model.Head{{}, {Weight: 2}}},
			schema(2, 0, 3, 2)},
		{"fm", model.Spec{Kind: model.FactorizationMachine, Factors: 4}, schema(5, 3, 0, 1)},
		{"deepfm", deep, schema(4, 2, 0, 1)},
		{"deepfm with a wide slot", wide, schema(4, 2, 0, 1)},
		{"deepfm without numeric features", deep, schema(4, 0, 0, 1)},
		{"dlrm", dlrm, schema(3, 2, 0, 1)},
		{"dlrm without numeric features", dlrm, schema(3, 0, 0, 1)},
		{"dcn stacked", cross(model.Stacked, 0, false), schema(3, 2, 0, 1)},
		{"dcn parallel of low rank", cross(model.Parallel, 2, true), schema(3, 2, 2, 1)},
		{"towers", forward([]int{6, 4}, false), schema(3, 2, 2, 1)},
		{"batch norm, two heads", forward([]int{6, 40}, true, heads...), schema(3, 2, 0, 2)},
		{"one layer", forward(nil, false), schema(3, 2, 0, 1)},
	}
}

// networkNamed returns the network of networks that has a name.
func networkNamed(t *testing.T, name string) network {
	t.Helper()
	all := networks()
	at := slices.IndexFunc(all, func(n network) bool { return n.name == name })
	if at < 0 {
		t.Fatalf("no network %q", name)
	}
	return all[at]
}

// inputs returns a part of random samples, in groups of given sizes, and its pooled embeddings.
func inputs(r *rand.Rand, l *model.Layout, groups []int) (*batch.Part, []float32) {
	p := &batch.Part{Batch: &batch.Batch{}, Bounds: []int{0}}
	for _, n := range groups {
		p.Samples += n
		p.Bounds = append(p.Bounds, p.Samples)
	}
	p.Dense, p.Labels = floats(r, p.Samples*l.DenseWidth), make([]float32, p.Samples*l.Labels)
	for i := range p.Labels {
		p.Labels[i] = float32(r.IntN(2))
	}
	return p, floats(r, p.Samples*l.EmbeddingWidth)
}

func floats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// largestOf returns the largest magnitude in x.
func largestOf(x []float32) (most float64) {
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	return most
}

// normed reports whether a tensor is the bias of a layer with batch norm, whose scale lies behind it.
func normed(l *model.Layout, of model.Tensor) bool {
	layer, bias := strings.CutSuffix(of.Name, ".bias")
	return bias && slices.ContainsFunc(l.Tensors, func(t model.Tensor) bool {
		return t.Name == layer+".norm.bias"
	})
}

// differ reports vectors that are further apart than the tolerance.
func differ(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if off := math.Abs(float64(got[i]) - float64(want[i])); !(off <= tolerance) {
			t.Errorf("%s: value %d is %v, want %v within %v", what, i, got[i], want[i], tolerance)
			return
		}
	}
}

// pair returns the same replica on a device and on the host.
func pair(t *testing.T, g *engine.GPUs, n network, optimizer *opt.DenseSpec, precision string, groups,
	samplesMax int) (device, host model.Replica, l *model.Layout) {
	t.Helper()
	products := gemm.NewProducts(nil)
	if precision == job.BF16 {
		products = gemm.BF16Products(products)
	}
	e, err := model.New(n.spec, n.schema, products)
	if err != nil {
		t.Fatalf("%s: %v", n.name, err)
	}
	trainer, err := g.Trainer(e)
	if err != nil {
		t.Fatal(err)
	}
	device, err = trainer.NewReplica(model.ReplicaConfig{Initial: initialValues(e),
		Optimizer: optimizer, Groups: groups, SamplesMax: samplesMax})
	if err != nil {
		t.Fatalf("%s: %v", n.name, err)
	}
	rule, err := opt.NewDense(*optimizer)
	if err != nil {
		t.Fatal(err)
	}
	weights := model.NewHostWeights(e, initialValues(e), rule, nil)
	return device, model.NewHostReplica(weights, 0, groups, samplesMax), e.Layout()
}

// run trains on one part, and returns what a rank sees of it.
type seen struct {
	loss      float64
	gradients model.Vector
	pooled    []float32
}

func run(t *testing.T, r model.Replica, part *batch.Part, pooled []float32) seen {
	t.Helper()
	if err := r.Forward(part, pooled, make([]float32, len(pooled))); err != nil {
		t.Fatal(err)
	}
	buckets := int32(0)
	grads, notFinite, err := r.Backward(func(b int32) {
		if b != buckets {
			t.Errorf("bucket %d, want %d", b, buckets)
		}
		buckets++
	})
	if err != nil || notFinite != "" {
		t.Fatalf("not finite: %s: %v", notFinite, err)
	}
	g := r.Gradients()
	return seen{r.Loss(), model.Vector{Values: slices.Clone(g.Values), Stats: slices.Clone(g.Stats)}, grads}
}

// open opens devices for a job: on hardware fewer, if there are fewer and the sums do not need all.
func open(t *testing.T, devices int, wanted job.Job) *engine.GPUs {
	t.Helper()
	if sums := wanted.Wire.AllReduce; sums != job.NCCLSums && sums != job.NCCLTreeSums {
		devices = softgpu.Devices(t, devices)
	}
	softgpu.Open(t, devices)
	wanted.Model.Device.CUDA = true
	g, err := engine.Open(softgpu.Libraries(t), &wanted)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Gradients, loss and statistics of every network are those of the host, within 1e-5 of the largest value of
// a tensor, for groups of different sizes, one of them empty; within 1e-4 for large ones, for which the host
// adds hundreds of values in single precision. The bias in front of a batch norm has no gradient but
// rounding errors, which are compared with the largest gradient of all.
func TestGradientsAreThoseOfTheHost(t *testing.T) {
	g, optimizer := open(t, 1, job.Default()), opt.DefaultDense()
	for _, n := range networks() {
		device, host, l := pair(t, g, n, &optimizer, job.FP32, 3, 300)
		r := rand.New(rand.NewPCG(1, 2))
		for _, groups := range [][]int{{40, 39, 1}, {5, 0, 4}, {300, 300, 299}} {
			share := 1e-5
			if groups[0] == 300 {
				share = 1e-4
			}
			part, pooled := inputs(r, l, groups)
			got, want := run(t, device, part, pooled), run(t, host, part, pooled)
			// The next steps on a part of such groups are recorded, and then repeated.
			for range 2 {
				again := run(t, device, part, pooled)
				if again.loss != got.loss || !reflect.DeepEqual(again.gradients, got.gradients) ||
					!slices.Equal(again.pooled, got.pooled) {
					t.Errorf("%s, groups of %v: a repeated step has other bits", n.name, groups)
				}
			}
			if math.Abs(got.loss-want.loss) > 1e-5*math.Abs(want.loss) {
				t.Errorf("%s: loss %v, want %v", n.name, got.loss, want.loss)
			}
			largest := largestOf(want.gradients.Values)
			for _, tensor := range l.Tensors {
				grads := want.gradients.Values[tensor.Lo:tensor.Hi]
				scale := largestOf(grads)
				if normed(l, tensor) {
					scale = largest
				}
				differ(t, n.name+": "+tensor.Name, got.gradients.Values[tensor.Lo:tensor.Hi], grads,
					share*scale)
			}
			differ(t, n.name+": statistics", got.gradients.Stats, want.gradients.Stats,
				share*largestOf(want.gradients.Stats))
			differ(t, n.name+": embeddings", got.pooled, want.pooled, share*largestOf(want.pooled))
		}
	}
}

// Ten steps of every optimizer lead where they lead on the host, and states pass from one to the other.
func TestOptimizerStepsAreThoseOfTheHost(t *testing.T) {
	g := open(t, 1, job.Default())
	schedule := opt.Schedule{Decay: opt.NoDecay, WarmUp: 4}
	for _, o := range []opt.DenseSpec{
		{Kind: opt.SGD, Rate: 0.1, Schedule: schedule},
		{Kind: opt.SGD, Rate: 0.1, ClipNorm: 0.5},
		{Kind: opt.Adagrad, Rate: 0.1, Order: opt.After, Epsilon: 1e-8, InitialAccumulator: 0.01},
		{Kind: opt.Adagrad, Rate: 0.1, Order: opt.Before, Epsilon: 1e-8, InitialAccumulator: 0.01},
		{Kind: opt.Adam, Rate: 0.01, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999, ClipNorm: 1,
			Schedule: schedule},
	} {
		n := networkNamed(t, "dlrm")
		if o.Kind == opt.SGD { // the others make steps of rounding errors in front of batch norm
			n = networkNamed(t, "batch norm, two heads")
		}
		device, host, l := pair(t, g, n, &o, job.FP32, 2, 20)
		r := rand.New(rand.NewPCG(1, 2))
		for step := range 10 {
			if step == 5 {
				exchange(t, device, host)
			}
			part, pooled := inputs(r, l, []int{20, 19})
			for _, each := range []model.Replica{device, host} {
				run(t, each, part, pooled)
				g := each.Gradients()
				sum := &model.Vector{Values: slices.Clone(g.Values), Stats: g.Stats}
				if err := each.StepSum(sum, 39, step); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, want := state(t, device), state(t, host)
		differ(t, o.Kind+": parameters", got.Params, want.Params, 1e-5)
		differ(t, o.Kind+": optimizer state", got.Optimizer, want.Optimizer, 1e-4*largestOf(want.Optimizer))
		differ(t, o.Kind+": running statistics", got.Running, want.Running, 1e-5)
		if got.Steps != 10 {
			t.Errorf("%d steps", got.Steps)
		}
	}
}

func state(t *testing.T, w model.Weights) model.State {
	t.Helper()
	s, err := w.Export()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exchange gives each the state of the other.
func exchange(t *testing.T, a, b model.Weights) {
	t.Helper()
	of, to := state(t, a), state(t, b)
	if err := a.Restore(to); err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(of); err != nil {
		t.Fatal(err)
	}
	if again := state(t, a); again.Digest() != to.Digest() {
		t.Error("a state that was restored is another when it is exported")
	}
}

// What is not finite is named, the cause before its effects, as on the host. The name does not depend on what
// an all-reduce makes of a bucket that is done.
func TestWhatIsNotFiniteIsNamed(t *testing.T) {
	for _, precision := range []string{job.FP32, job.BF16} {
		whatIsNotFinite(t, openIn(t, precision), precision)
	}
}

func whatIsNotFinite(t *testing.T, g *engine.GPUs, precision string) {
	t.Helper()
	optimizer := opt.DefaultDense()
	nan, n := float32(math.NaN()), networkNamed(t, "one layer") // behind towers
	_, _, l := pair(t, g, n, &optimizer, precision, 2, 20)
	for _, c := range []struct {
		want  string
		plant func(s *model.State, part *batch.Part, pooled []float32)
	}{
		{"the pooled embeddings, 1 of ", func(_ *model.State, _ *batch.Part, pooled []float32) {
			pooled[5] = nan
		}},
		{"the numeric features, 2 of ", func(_ *model.State, part *batch.Part, _ []float32) {
			part.Dense[0], part.Dense[1] = nan, float32(math.Inf(1))
		}},
		{"the parameters ", func(s *model.State, _ *batch.Part, pooled []float32) {
			s.Params[len(s.Params)-1], pooled[0] = nan, nan
		}},
		{"the loss, which is ", func(s *model.State, _ *batch.Part, _ []float32) {
			for i := range s.Params {
				s.Params[i] = 3e38
			}
		}},
		// NaN arises in a hidden layer, whose ReLU must keep it.
		{"the loss, which is NaN", func(s *model.State, _ *batch.Part, pooled []float32) {
			for _, t := range l.Tensors {
				if slices.Contains(t.Shape, l.EmbeddingWidth) {
					for i := range s.Params[t.Lo:t.Hi] {
						s.Params[t.Lo+i] = 3e38 * float32(1-2*(i%2))
					}
				}
			}
			for i := range pooled {
				pooled[i] = 10
			}
		}},
		// Of huge inputs tiny weights see little; the sum of the inputs over samples is their gradient.
		{"the gradient of ", func(s *model.State, part *batch.Part, pooled []float32) {
			for _, t := range l.Tensors {
				if slices.Contains(t.Shape, l.EmbeddingWidth) {
					for i := range s.Params[t.Lo:t.Hi] {
						s.Params[t.Lo+i] *= 1e-38
					}
				}
			}
			clear(part.Labels)
			for i := range pooled {
				pooled[i] = 3e38
			}
		}},
	} {
		device, host, _ := pair(t, g, n, &optimizer, precision, 2, 20)
		part, pooled := inputs(rand.New(rand.NewPCG(1, 2)), l, []int{20, 19})
		changed := state(t, host)
		changed.Params = slices.Clone(changed.Params)
		c.plant(&changed, part, pooled)
		var named []string
		for _, r := range []model.Replica{device, host} {
			if err := r.Restore(changed); err != nil {
				t.Fatal(err)
			}
			if err := r.Forward(part, pooled, make([]float32, len(pooled))); err != nil {
				t.Fatal(err)
			}
			_, notFinite, err := r.Backward(func(b int32) { clear(r.Gradients().Bucket(l.Buckets[b])) })
			if err != nil {
				t.Fatal(err)
			}
			named = append(named, notFinite)
		}
		if !strings.HasPrefix(named[0], c.want) || named[0] != named[1] {
			t.Errorf("%s: the device names %q, the host %q; want %q", precision, named[0], named[1], c.want)
		}
	}
}

// The gradients of a device are the slopes of its loss: for each tensor, along its gradient and along a
// random direction.
func TestGradientsAreFiniteDifferences(t *testing.T) {
	g, optimizer := open(t, 1, job.Default()), opt.DefaultDense()
	for _, n := range networks() {
		device, _, l := pair(t, g, n, &optimizer, job.FP32, 1, 30)
		r := rand.New(rand.NewPCG(3, 4))
		part, pooled := inputs(r, l, []int{30})
		got := run(t, device, part, pooled)
		begin := state(t, device)
		// slope returns the slope of the loss along a direction of length 1, which begins at a parameter.
		slope := func(at int, direction []float32, pooledToo bool) float64 {
			const step = 2e-4 // so short that few values pass the corner of a ReLU
			var loss [2]float64
			for side, by := range []float32{step, -step} {
				moved, input := begin, slices.Clone(pooled)
				moved.Params = slices.Clone(begin.Params)
				to := moved.Params[at:]
				if pooledToo {
					to = input
				}
				for i, d := range direction {
					to[i] += by * d
				}
				if err := device.Restore(moved); err != nil {
					t.Fatal(err)
				}
				loss[side] = run(t, device, part, input).loss
			}
			return (loss[0] - loss[1]) / (2 * step)
		}
		compare := func(name string, at int, gradient []float32, pooledToo bool) {
			// A fiftieth of the tensor's own gradient, and what rounding does to differences of losses.
			noise := 0.02*math.Sqrt(dot(gradient, gradient)) + 2e-3
			for _, direction := range [][]float32{slices.Clone(gradient), floats(r, len(gradient))} {
				length := math.Sqrt(dot(direction, direction))
				if length == 0 {
					continue
				}
				for i := range direction {
					direction[i] /= float32(length)
				}
				want := slope(at, direction, pooledToo)
				if off := math.Abs(dot(gradient, direction) - want); off > noise {
					t.Errorf("%s: %s: %v along a direction, the slope is %v", n.name, name,
						dot(gradient, direction), want)
				}
			}
		}
		for _, tensor := range l.Tensors {
			compare(tensor.Name, tensor.Lo, got.gradients.Values[tensor.Lo:tensor.Hi], false)
		}
		compare("pooled embeddings", 0, got.pooled, true)
	}
}

func dot(x, y []float32) (sum float64) {
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
}

// initialValues returns those that a training of a built-in network begins with.
func initialValues(e model.Engine) model.Values {
	params, running := e.Init(3)
	return model.Values{Params: params, Running: running}
}
