package model

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/algo/numeric/batch"
)

func TestBucketsAndTensorsCoverTheParametersOnce(t *testing.T) {
	for _, n := range networks() {
		l := n.engine(t).Layout()
		covered := make([]int, l.Params)
		last := l.Params
		for _, b := range l.Buckets {
			if b.Hi != last || b.Lo > b.Hi {
				t.Errorf("%s: bucket [%d, %d) does not end where the one before begins, %d", n.name, b.Lo,
					b.Hi, last)
			}
			last = b.Lo
		}
		if last != 0 {
			t.Errorf("%s: the last bucket begins at %d, want 0", n.name, last)
		}
		for _, tensor := range l.Tensors {
			size := 1
			for _, s := range tensor.Shape {
				size *= s
			}
			if size != tensor.Hi-tensor.Lo {
				t.Errorf("%s: %s has shape %v over %d values", n.name, tensor.Name, tensor.Shape,
					tensor.Hi-tensor.Lo)
			}
			for i := tensor.Lo; i < tensor.Hi; i++ {
				covered[i]++
			}
		}
		for i, c := range covered {
			if c != 1 {
				t.Errorf("%s: parameter %d is in %d tensors, want 1", n.name, i, c)
			}
		}
	}
}

// adultIncome has the columns of Persia's example: 8 slots and 5 numbers.
func adultIncome(dim int) *batch.Schema {
	s := &batch.Schema{Dense: make([]string, 5), Labels: []string{"income"}}
	for _, name := range strings.Fields("a b c d e f g h") {
		s.Slots = append(s.Slots, batch.Slot{Name: name, Dim: dim})
	}
	return s
}

func TestPersiaAdultIncomeHasTheWidthsOfTheExample(t *testing.T) {
	engine, err := New(PersiaAdultIncome(), adultIncome(8), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := engine.Layout()
	// 64→128 with norm: 64·128+128+256 = 8576; 5→16 with norm: 5·16+16+32 = 128;
	// 144→256: 37120; 256→128: 32896; 128→1: 129. Together 78849.
	if l.Params != 78849 || l.Running != 2*(128+16) || l.Stats != 289 || len(l.Buckets) != 5 {
		t.Errorf("%d parameters, %d running, %d statistics, %d buckets, want 78849, 288, 289, 5",
			l.Params, l.Running, l.Stats, len(l.Buckets))
	}
	// 2·(64·128 + 5·16 + 144·256 + 256·128 + 128) = 156064; twice that backward.
	if l.Cost.ForwardFLOPs != 156064 || l.Cost.BackwardFLOPs != 312128 {
		t.Errorf("%v and %v FLOPs a sample, want 156064 and 312128", l.Cost.ForwardFLOPs,
			l.Cost.BackwardFLOPs)
	}
	// Products 5, norms 2, the join and the loss.
	if l.Cost.Kernels != 9 {
		t.Errorf("%d kernels, want 9", l.Cost.Kernels)
	}
	// Read and written: 64+128+256, 5+16+32, 144+144, 144+256, 256+128, 128+1
	// values: 1702.
	if l.Cost.ActivationBytes != 4*1702 {
		t.Errorf("%d bytes, want %d", l.Cost.ActivationBytes, 4*1702)
	}
}

func TestPresetsAreValid(t *testing.T) {
	for _, spec := range []Spec{Default(), PersiaAdultIncome(), PersiaTower()} {
		if _, err := New(spec, adultIncome(spec.Dim()), nil); err != nil {
			t.Error(err)
		}
	}
	// A job may change the kind alone.
	for kind, dim := range map[string]int{LogisticRegression: 1, FactorizationMachine: 9, DeepFM: 17,
		DLRM: 16, DCNv2: 16, FeedForward: 16} {
		spec := Default()
		spec.Kind = kind
		if got := spec.Dim(); got != dim {
			t.Errorf("%s wants rows of %d, want %d", kind, got, dim)
		}
		if _, err := New(spec, adultIncome(dim), nil); err != nil {
			t.Error(err)
		}
	}
}

// Of Lian and others (2021) the tower has five layers, from 4096 down to 256, each half as wide as the one
// before.
func TestPersiaTowerHalvesItsLayersFrom4096To256(t *testing.T) {
	top := PersiaTower().Top
	for i, width := range top {
		if want := 4096 >> i; width != want {
			t.Errorf("layer %d has %d units, want %d", i, width, want)
		}
	}
	if len(top) != 5 {
		t.Errorf("%d hidden layers, want 5", len(top))
	}
}

func TestInitIsPyTorchsDefaultAndKeyedBySeed(t *testing.T) {
	engine, err := New(PersiaAdultIncome(), adultIncome(8), nil)
	if err != nil {
		t.Fatal(err)
	}
	params, running := engine.Init(1)
	again, _ := engine.Init(1)
	other, _ := engine.Init(2)
	if !slices.Equal(params, again) || slices.Equal(params, other) {
		t.Error("the same seed must give the same parameters and another seed others")
	}
	// U(−1/√in, 1/√in) has standard deviation bound/√3; of 8192 values the sample
	// deviation lies within 5 % by more than five of its own deviations, and of 128 within 20 % by five.
	for _, tt := range []struct {
		name   string
		in     float64
		within float64
	}{
		{"sparse-tower.0.weight", 64, 0.05}, {"top.0.weight", 144, 0.05}, {"top.1.weight", 256, 0.05},
		{"sparse-tower.0.bias", 64, 0.2}, {"top.0.bias", 144, 0.2},
	} {
		x := params[find(t, engine, tt.name).Lo:find(t, engine, tt.name).Hi]
		bound := 1 / math.Sqrt(tt.in)
		var sum, squares float64
		for _, v := range x {
			sum, squares = sum+float64(v), squares+float64(v)*float64(v)
			if math.Abs(float64(v)) > bound*(1+1e-6) {
				t.Fatalf("%s holds %v, outside ±%v", tt.name, v, bound)
			}
		}
		deviation := math.Sqrt(squares/float64(len(x))) / (bound / math.Sqrt(3))
		mean := sum / float64(len(x)) / bound
		if math.Abs(deviation-1) > tt.within || math.Abs(mean) > tt.within {
			t.Errorf("%s: deviation %v times the expected one, mean %v bounds", tt.name, deviation, mean)
		}
	}
	for _, v := range params[find(t, engine, "sparse-tower.0.norm.weight").Lo:][:128] {
		if v != 1 {
			t.Fatalf("gamma starts at %v, want 1", v)
		}
	}
	if running[0] != 0 || running[128] != 1 {
		t.Errorf("running mean and variance start at %v and %v, want 0 and 1", running[0], running[128])
	}
}

func find(t *testing.T, e Engine, name string) Tensor {
	t.Helper()
	for _, tensor := range e.Layout().Tensors {
		if tensor.Name == name {
			return tensor
		}
	}
	t.Fatalf("no tensor %s", name)
	return Tensor{}
}

func TestFactorsStartSmallAndUnequal(t *testing.T) {
	engine, err := New(Spec{Kind: FactorizationMachine, Factors: 400}, adultIncome(401), nil)
	if err != nil {
		t.Fatal(err)
	}
	params, _ := engine.Init(1)
	tensor := find(t, engine, "factors")
	squares := 0.0
	for _, v := range params[tensor.Lo:tensor.Hi] {
		squares += float64(v) * float64(v)
	}
	// 2000 values: the sample deviation has a deviation of 1.6 %.
	if got := math.Sqrt(squares / 2000); math.Abs(got-0.01) > 0.001 {
		t.Errorf("standard deviation %v, want about 0.01", got)
	}
}

func TestUpdateRunningFoldsWithPyTorchsMomentum(t *testing.T) {
	spec := Spec{Kind: FeedForward, EmbeddingDim: 1, Top: []int{1}, Activation: NoActivation, BatchNorm: true}
	engine, err := New(spec, &batch.Schema{Slots: []batch.Slot{{Name: "a", Dim: 1}},
		Labels: []string{"click"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	params, running := engine.Init(1)
	params[0], params[1] = 2, 3 // one weight, one bias
	pass := engine.NewPass(2)
	// Inputs 1 and 3 become 5 and 9: mean 7, unbiased variance 8. The running
	// ones: 0.9·0 + 0.1·7 = 0.7 and 0.9·1 + 0.1·8 = 1.7.
	pass.Forward(params, running, Input{Samples: 2, Embeddings: []float32{1, 3}, Labels: []float32{0, 1}},
		true)
	if want := []float32{2, 7, 8}; !slices.Equal(pass.Stats(), want) {
		t.Errorf("statistics %v, want %v", pass.Stats(), want)
	}
	engine.UpdateRunning(running, pass.Stats())
	if math.Abs(float64(running[0])-0.7) > 1e-6 || math.Abs(float64(running[1])-1.7) > 1e-6 {
		t.Errorf("running statistics %v, want [0.7 1.7]", running)
	}
	// The same two samples as two groups of one: nothing changes but the way.
	_, fresh := engine.Init(1)
	pass.Forward(params, running, Input{Samples: 1, Embeddings: []float32{1}, Labels: []float32{0}}, true)
	groups := slices.Clone(pass.Stats())
	pass.Forward(params, running, Input{Samples: 1, Embeddings: []float32{3}, Labels: []float32{0}}, true)
	engine.UpdateRunning(fresh, append(groups, pass.Stats()...))
	if !slices.Equal(fresh, running) {
		t.Errorf("two groups of one give %v, one group of two %v", fresh, running)
	}
	// One sample has no variance: the statistics say so and are skipped.
	before := slices.Clone(running)
	pass.Forward(params, running, Input{Samples: 1, Embeddings: []float32{5}, Labels: []float32{0}}, true)
	if pass.Stats()[0] != 1 {
		t.Errorf("sample count %v, want 1", pass.Stats()[0])
	}
	engine.UpdateRunning(running, pass.Stats())
	if !slices.Equal(running, before) {
		t.Errorf("running statistics became %v, want %v", running, before)
	}
}

func TestEvaluationOfASampleDoesNotDependOnItsGroup(t *testing.T) {
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		params, running := engine.Init(1)
		in := group(rand.New(rand.NewPCG(9, 9)), l, 5)
		pass := engine.NewPass(5)
		logits, _ := pass.Forward(params, running, in, false)
		all := slices.Clone(logits)
		for i := range in.Samples {
			one, loss := pass.Forward(params, running, Input{
				Samples:    1,
				Embeddings: in.Embeddings[i*l.EmbeddingWidth:][:l.EmbeddingWidth],
				Dense:      in.Dense[i*l.DenseWidth:][:l.DenseWidth],
			}, false)
			if want := all[i*l.Labels:][:l.Labels]; !slices.Equal(one, want) || loss != 0 {
				t.Errorf("%s: sample %d alone has logits %v and loss %v, want %v and 0", n.name, i, one, loss,
					want)
			}
		}
	}
}

func TestNewRefusesDataThatDoNotSuit(t *testing.T) {
	raw := adultIncome(1)
	raw.Slots[2].Pooling, raw.Slots[2].FixedSize = batch.Raw, 3
	rawFM := adultIncome(9)
	rawFM.Slots[0].Pooling = batch.Raw
	noNumbers := adultIncome(8)
	noNumbers.Dense = nil
	for _, tt := range []struct {
		name   string
		spec   Spec
		schema *batch.Schema
		want   string
	}{
		{"row length", Spec{Kind: DLRM, EmbeddingDim: 16, Activation: ReLU}, adultIncome(8),
			`slot "a" has rows of 8 values, dlrm wants 16`},
		{"raw fm", Spec{Kind: FactorizationMachine, Factors: 8}, rawFM, `slot "a" is raw`},
		{"unknown wide slot", Spec{Kind: FactorizationMachine, Factors: 3, Wide: []string{"slots"}},
			columns(2, 4, 0), `wide: there is no slot "slots"`},
		{"all wide", Spec{Kind: FactorizationMachine, Factors: 3, Wide: []string{"slot"}}, columns(2, 4, 0),
			"wide: it names all 2 slots"},
		{"tower without input", PersiaAdultIncome(), noNumbers, "dense-tower has no input"},
		{"raw dlrm", Spec{Kind: DLRM, EmbeddingDim: 1, Activation: ReLU}, raw, `slot "c" is raw`},
		{"nothing to interact", Spec{Kind: DLRM, EmbeddingDim: 8, Activation: ReLU}, columns(1, 8, 0),
			"dlrm needs two vectors"},
		{"two labels", Default(), &batch.Schema{Labels: []string{"click", "buy"}},
			"2 labels (click, buy) and 1 heads"},
		{"one label", Spec{Kind: LogisticRegression, Heads: make([]Head, 2)}, adultIncome(2),
			"1 labels (income) and 2 heads"},
		// (5·16 + 2^20 + 2) · 2^20 weights and biases, more than 2^31 of either layer
		{"too many", Spec{Kind: FeedForward, EmbeddingDim: 16, Top: []int{1 << 20, 1 << 20},
			Activation: ReLU}, adultIncome(16),
			"parameters, want at most 2147483647: use narrower layers"},
		{"nothing", Default(), &batch.Schema{Labels: []string{"click"}},
			"neither a slot nor a numeric feature"},
	} {
		_, err := New(tt.spec, tt.schema, nil)
		if !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestValidateNamesTheFieldPath(t *testing.T) {
	for _, tt := range []struct {
		edit func(*Spec)
		want string
	}{
		{func(s *Spec) { s.Kind = "wide" }, `kind = "wide"`},
		{func(s *Spec) { s.EmbeddingDim = 0 }, "embedding-dim = 0"},
		{func(s *Spec) { s.Kind, s.Factors = FactorizationMachine, 0 }, "factors = 0"},
		{func(s *Spec) { s.Kind, s.EmbeddingDim = DeepFM, -3 }, "embedding-dim = -3"},
		{func(s *Spec) { s.Kind, s.Top = DeepFM, []int{0} }, "top[0] = 0"},
		{func(s *Spec) { s.Kind, s.Bottom = DLRM, []int{4, 0} }, "bottom[1] = 0"},
		{func(s *Spec) { s.Kind, s.CrossLayers = DCNv2, 0 }, "cross-layers = 0"},
		{func(s *Spec) { s.Kind, s.CrossLayers, s.Structure = DCNv2, 2, "both" }, `structure = "both"`},
		{func(s *Spec) { s.Kind, s.CrossLayers, s.Structure, s.Rank = DCNv2, 2, Parallel, -1 }, "rank = -1"},
		{func(s *Spec) { s.SparseTower.Layers = []int{8, -1} }, "sparse-tower.layers[1] = -1"},
		{func(s *Spec) { s.DenseTower.Layers = []int{0} }, "dense-tower.layers[0] = 0"},
		{func(s *Spec) { s.Top = []int{256, 1 << 30} }, "top[1] = 1073741824"},
		{func(s *Spec) { s.Activation = "" }, `activation = ""`},
		{func(s *Spec) { s.Heads = []Head{{}, {Layers: []int{4, 0}}} }, "heads[1].layers[1] = 0"},
		{func(s *Spec) { s.Heads = []Head{{Weight: -1}} }, "heads[0].weight = -1"},
		{func(s *Spec) { s.Heads = []Head{{Weight: math.Inf(1)}} }, "heads[0].weight = +Inf"},
		{func(s *Spec) { s.Heads = []Head{{Weight: 1e-60}} }, "heads[0].weight = 1e-60"},
		{func(s *Spec) { s.Kind, s.Heads = LogisticRegression, []Head{{Layers: []int{4}}} },
			"heads[0].layers: a head of logistic-regression"},
		{func(s *Spec) { s.Kind, s.Heads = DeepFM, make([]Head, 2) }, "heads: 2 of a deepfm, which has one"},
		{func(s *Spec) { s.Kind, s.Wide = DLRM, []string{"a"} }, "wide: a dlrm has no wide slots"},
		{func(s *Spec) { s.Wide = []string{"a"} }, "wide: a feed-forward has no wide slots"},
		{func(s *Spec) { s.Kind, s.Wide = DeepFM, []string{"a", "b", "a"} },
			`wide: it names the slot "a" twice`},
	} {
		spec := PersiaAdultIncome()
		tt.edit(&spec)
		if err := spec.Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("error %v, want one that starts with %q", err, tt.want)
		}
	}
}

func TestCallsOutOfOrderPanic(t *testing.T) {
	engine, err := New(PersiaAdultIncome(), adultIncome(8), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := engine.Layout()
	params, running := engine.Init(1)
	in, grad := group(rand.New(rand.NewPCG(1, 1)), l, 2), make([]float32, l.Params)
	for _, tt := range []struct {
		name, want string
		call       func(Pass)
	}{
		{"backward first", "model: Backward of bucket 0, want a training Forward with labels first",
			func(p Pass) { p.Backward(params, 0, grad) }},
		{"backward after evaluation",
			"model: Backward of bucket 0, want a training Forward with labels first",
			func(p Pass) { p.Forward(params, running, in, false); p.Backward(params, 0, grad) }},
		{"backward without labels", "model: Backward of bucket 0, want a training Forward with labels first",
			func(p Pass) {
				unlabelled := in
				unlabelled.Labels = nil
				p.Forward(params, running, unlabelled, true)
				p.Backward(params, 0, grad)
			}},
		{"bucket skipped", "model: Backward of bucket 1, want 0 of 5",
			func(p Pass) { p.Forward(params, running, in, true); p.Backward(params, 1, grad) }},
		{"embeddings too early", "model: EmbeddingGrad before Backward of the last bucket",
			func(p Pass) {
				p.Forward(params, running, in, true)
				p.Backward(params, 0,
					grad)
				p.EmbeddingGrad()
			}},
		{"too many samples", "model: 2 samples, want 0 to 1",
			func(Pass) { engine.NewPass(1).Forward(params, running, in, true) }},
		{"short parameters", "model: len(params) = 5, want 78849",
			func(p Pass) { p.Forward(params[:5], running, in, true) }},
	} {
		func() {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("%s: panic %v, want %q", tt.name, got, tt.want)
				}
			}()
			tt.call(engine.NewPass(2))
		}()
	}
}

// kind returns the default network of a kind.
func kind(name string) Spec {
	spec := Default()
	spec.Kind = name
	return spec
}

// BenchmarkStep is one group of 64 samples forward and backward.
func BenchmarkStep(b *testing.B) {
	for _, tt := range []struct {
		name string
		spec Spec
	}{{"default", Default()}, {"adult-income", PersiaAdultIncome()},
		{"fm", Spec{Kind: FactorizationMachine, Factors: 8}},
		{"deepfm", kind(DeepFM)}, {"dlrm", kind(DLRM)}, {"dcn-v2", kind(DCNv2)}} {
		b.Run(tt.name, func(b *testing.B) {
			engine, err := New(tt.spec, adultIncome(tt.spec.Dim()), nil)
			if err != nil {
				b.Fatal(err)
			}
			l := engine.Layout()
			params, running := engine.Init(1)
			in := group(rand.New(rand.NewPCG(1, 1)), l, 64)
			pass, grad := engine.NewPass(64), make([]float32, l.Params)
			for b.Loop() {
				pass.Forward(params, running, in, true)
				for bucket := range l.Buckets {
					pass.Backward(params, bucket, grad)
				}
			}
			b.ReportMetric(64*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
