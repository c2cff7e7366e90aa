package gorgonia_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tandem/algo/exec/backend"

	G "gorgonia.org/gorgonia"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
	"tandem/runtime/gorgonia"
	"tandem/runtime/train"
)

// small is a model of the tests: a hidden layer and an output.
func small() gorgonia.Model {
	return gorgonia.Model{
		Parameters: []gorgonia.Parameter{
			{Name: "top.0.weight", Shape: []int{16, 3*dim + 3}, Bound: 0.3},
			{Name: "top.0.bias", Shape: []int{16}},
			{Name: "output.weight", Shape: []int{1, 16}, Bound: 0.3}, {Name: "output.bias", Shape: []int{1}},
		},
		Logits: feedForward(1, []string{"output"}),
	}
}

// samples are those of a data set whose label follows from an id and a number.
type samples struct {
	schema *batch.Schema
	all    *batch.Batch
}

const globalBatch = 64

func newSamples(n int) *samples {
	s := &samples{schema: schema("click"), all: &batch.Batch{Samples: n, Slots: make([]batch.Jagged, 3)}}
	for i := range s.all.Slots {
		s.all.Slots[i].Offsets = []int32{0}
	}
	draw := rng.New(7, "samples")
	for i := range n {
		user := draw.IntN(20)
		for slot, id := range []int{user, draw.IntN(9), draw.IntN(9)} {
			s.all.Slots[slot].IDs = append(s.all.Slots[slot].IDs, uint64(id))
			s.all.Slots[slot].Offsets = append(s.all.Slots[slot].Offsets, int32(i+1))
		}
		x := draw.NormFloat64()
		s.all.Dense = append(s.all.Dense, float32(x), float32(draw.NormFloat64()), 1)
		label := float32(0)
		if x+float64(user%5)-2 > 0 {
			label = 1
		}
		s.all.Labels = append(s.all.Labels, label)
	}
	return s
}

func (s *samples) Schema() *batch.Schema { return s.schema }
func (s *samples) Steps() int            { return (s.all.Samples-1)/globalBatch + 1 }
func (s *samples) Samples(step int) int {
	return min(globalBatch, s.all.Samples-step*globalBatch)
}
func (s *samples) Read(step int) (*batch.Batch, error) {
	return batch.Slice(s.all, step*globalBatch, step*globalBatch+s.Samples(step)), nil
}

// A user's own network is trained as the built-in ones are: it learns, and sync is
// sequential training bit for bit. The last batch has fewer samples than groups.
func TestGraphsAreTrained(t *testing.T) {
	data := newSamples(20*globalBatch + 5)
	machine := backend.Backend{Engine: func(s *batch.Schema) (model.Engine, error) {
		return gorgonia.New(small(), s)
	}}
	var want *train.Result
	for _, ranks := range []int{0, 1, 4} {
		training := job.Default()
		training.Training.Mode, training.Roles.Ranks = job.Sync, ranks
		if ranks == 0 {
			training.Training.Mode, training.Roles.Ranks = job.Sequential, 1
		}
		training.Model.EmbeddingDim, training.Training.GlobalBatch = dim, globalBatch
		training.Model.Optimizer.Rate, training.Rows.Optimizer.Rate = 0.01, 0.2
		got, err := train.Run(t.Context(), training, data, data.all, train.Options{Backend: machine})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
			if got.AUC < 0.8 {
				t.Errorf("AUC %.3f; one that learned nothing has 0.5", got.AUC)
			}
		}
		if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
			t.Errorf("%d ranks: dense %x, rows %x; sequential has %x, %x", ranks, got.DenseDigest,
				got.RowsDigest, want.DenseDigest, want.RowsDigest)
		}
	}
}

func TestInitialValuesFollowFromTheSeed(t *testing.T) {
	e, err := gorgonia.New(small(), schema("click"))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := e.Init(1)
	b, _ := e.Init(1)
	c, _ := e.Init(2)
	if fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(a) == fmt.Sprint(c) {
		t.Error("the seed does not make the values")
	}
	weights, bias := e.Layout().Tensors[0], e.Layout().Tensors[1]
	below, above := 0, 0
	for _, v := range a[weights.Lo:weights.Hi] {
		if v < -0.3 || v >= 0.3 {
			t.Fatalf("%v is out of bounds", v)
		}
		if v < -0.1 {
			below++
		} else if v > 0.1 {
			above++
		}
	}
	if below < 40 || above < 40 { // a third of 240 each, ± 5 standard deviations
		t.Errorf("%d values below −0.1 and %d above 0.1, want about 80 each", below, above)
	}
	for _, v := range a[bias.Lo:bias.Hi] {
		if v != 0 {
			t.Errorf("bias %v, want 0", v)
		}
	}
}

func TestInvalidModelsAreRejected(t *testing.T) {
	for want, change := range map[string]func(*gorgonia.Model){
		"the model has no parameters": func(m *gorgonia.Model) {
			m.Parameters = nil
		},
		`parameter "output.bias" of shape []; want a unique name and sizes above 0`: func(m *gorgonia.Model) {
			m.Parameters[3].Shape = nil
		},
		`parameter "output.weight" of shape [1]; want a unique name`: func(m *gorgonia.Model) {
			m.Parameters[3].Name = "output.weight"
		},
		"2 loss weights for 1 labels": func(m *gorgonia.Model) {
			m.Weights = []float32{1, 2}
		},
		"the model's graph: not today": func(m *gorgonia.Model) {
			m.Logits = func(gorgonia.Nodes) (*G.Node, error) { return nil, errors.New("not today") }
		},
		"logits of shape (2, 16) for 2 samples and 1 labels; want [2 1]": func(m *gorgonia.Model) {
			m.Logits = func(in gorgonia.Nodes) (*G.Node, error) {
				return stack(in, G.Must(G.Concat(1, in.Embeddings, in.Dense)), "top", 1), nil
			}
		},
		"the gradient of the model's graph, which must use every parameter": func(m *gorgonia.Model) {
			m.Parameters = append(m.Parameters, gorgonia.Parameter{Name: "idle", Shape: []int{2}})
		},
	} {
		m := small()
		change(&m)
		if _, err := gorgonia.New(m, schema("click")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want …%s…", err, want)
		}
	}
}

// BenchmarkEngines is a step of one group of 256 samples, forward and backward, of
// a net of 256-128: built-in parts, and the same as a graph, on gonum's matrix
// products and on the built-in ones.
func BenchmarkEngines(b *testing.B) {
	s := schema("click")
	builtIn, err := model.New(model.Spec{Kind: model.FeedForward, EmbeddingDim: dim, Top: []int{256, 128},
		Activation: model.ReLU}, s, nil)
	if err != nil {
		b.Fatal(err)
	}
	m := gorgonia.Model{Logits: feedForward(2, []string{"output"})}
	for _, one := range builtIn.Layout().Tensors {
		m.Parameters = append(m.Parameters, gorgonia.Parameter{Name: one.Name, Shape: one.Shape})
	}
	graph, err := gorgonia.New(m, s)
	if err != nil {
		b.Fatal(err)
	}
	for _, one := range []struct {
		name string
		e    model.Engine
	}{{"built-in", builtIn}, {"gorgonia on gonum", graph}, {"gorgonia on ours", graph}} {
		b.Run(one.name, func(b *testing.B) {
			if one.name == "gorgonia on ours" {
				gorgonia.Multiply(gemm.NewProducts(nil))
			}
			e := one.e
			const n = 256
			l := builtIn.Layout()
			params, running := builtIn.Init(1)
			in := model.Input{Samples: n, Embeddings: make([]float32, n*l.EmbeddingWidth),
				Dense: make([]float32, n*l.DenseWidth), Labels: make([]float32, n)}
			p, grad := e.NewPass(n), make([]float32, l.Params)
			b.ReportAllocs()
			for b.Loop() {
				p.Forward(params, running, in, true)
				for i := range e.Layout().Buckets {
					p.Backward(params, i, grad)
				}
				p.EmbeddingGrad()
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
