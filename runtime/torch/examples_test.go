package torch_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/rng"
	"tandem/runtime/torch"
	"tandem/runtime/train"
)

// clicks are samples with a slot of each kind, two numbers and two labels. A user likes items of a kind, and
// those of the history; an item that is liked and cheap is bought.
func clicks(n int, raw bool) *samples {
	s := &samples{schema: &batch.Schema{PrefixBits: 8, Dense: []string{"price", "age"},
		Labels: []string{"clicked", "bought"},
		Slots:  []batch.Slot{{Name: "user", Dim: dim}, {Name: "item", Dim: dim}}},
		all: &batch.Batch{Samples: n, Slots: make([]batch.Jagged, 2)}}
	if raw {
		s.schema.Slots = append(s.schema.Slots,
			batch.Slot{Name: "history", Dim: dim, Pooling: batch.Raw, FixedSize: 3})
		s.all.Slots = make([]batch.Jagged, 3)
	}
	for i := range s.all.Slots {
		s.all.Slots[i].Offsets = []int32{0}
	}
	add := func(slot int, ids ...uint64) {
		j := &s.all.Slots[slot]
		j.IDs = append(j.IDs, ids...)
		j.Offsets = append(j.Offsets, int32(len(j.IDs)))
	}
	draw := rng.New(7, "clicks")
	for range n {
		user, item := draw.Uint64()%20, draw.Uint64()%12
		add(0, user)
		add(1, item)
		clicked := user%3 == item%3
		if raw {
			var history []uint64
			for range draw.IntN(5) { // none, and more than are kept
				history = append(history, draw.Uint64()%12)
			}
			add(2, history...)
			clicked = false
			for _, id := range history[:min(3, len(history))] {
				clicked = clicked || id%3 == item%3
			}
		}
		price := draw.NormFloat64()
		s.all.Dense = append(s.all.Dense, float32(price), float32(draw.NormFloat64()))
		for _, label := range []bool{clicked, clicked && price < 0.5} {
			value := float32(0)
			if label {
				value = 1
			}
			s.all.Labels = append(s.all.Labels, value)
		}
	}
	return s
}

// oneLabel leaves out the second.
func (s *samples) oneLabel() *samples {
	s.schema.Labels = s.schema.Labels[:1]
	for i := range s.all.Samples {
		s.all.Labels[i] = s.all.Labels[2*i]
	}
	s.all.Labels = s.all.Labels[:s.all.Samples]
	return s
}

// exampleJob returns a job that trains the class of a file.
func exampleJob(t *testing.T, file, class string, arguments map[string]any) job.Job {
	j := jobOf(t, class, job.Sync, 1)
	j.Model.File, j.Model.Source, j.Model.Arguments = file, "", arguments
	if err := job.ReadModule(&j.Model.Spec); err != nil {
		t.Fatal(err)
	}
	return j
}

// The examples learn: pooled and raw slots, logits of one label and of two, and a loss of the module's own.
func TestExamplesAreTrained(t *testing.T) {
	m := modules(t)
	const n, epochs = 40 * globalBatch, 5
	for _, e := range []struct {
		file, class string
		arguments   map[string]any
		data        *samples
		short       bool
	}{
		{file: "tower.py", class: "Tower", data: clicks(n, false).oneLabel()},
		{file: "dlrm.py", class: "DLRM", arguments: map[string]any{"dim": dim},
			data: clicks(n, false).oneLabel()},
		{file: "two_tower.py", class: "TwoTower", data: clicks(n, false).oneLabel(), short: true},
		{file: "din.py", class: "DIN", data: clicks(n, true).oneLabel(), short: true},
		{file: "multitask.py", class: "MultiTask", data: clicks(n, false), short: true,
			arguments: map[string]any{"labels": []string{"bought", "clicked"}}},
	} {
		if !*long && !e.short { // import torch takes seconds
			continue
		}
		j := exampleJob(t, "examples/"+e.file, e.class, e.arguments)
		j.Training.Epochs, j.Training.Groups = epochs, 1 // a group has the negatives of the towers
		if len(e.data.schema.Labels) > 1 {
			j.Model.Heads = make([]model.Head, len(e.data.schema.Labels))
		}
		got, err := train.Run(t.Context(), j, &repeated{e.data, epochs}, e.data.all,
			train.Options{Backend: backend.Backend{Torch: m.Engine}})
		if err != nil {
			t.Errorf("%s: %v", e.file, err)
		} else if t.Logf("%s: AUC %.3f", e.file, got.AUC); got.AUC < 0.75 {
			t.Errorf("%s: AUC %.3f; one that learned nothing has 0.5", e.file, got.AUC)
		}
		if e.class == "TwoTower" {
			checkLosses(t, m, j, e.data.schema)
		}
	}
}

// checkLosses expects that settings of losses are refused for a module that computes its own.
func checkLosses(t *testing.T, m *torch.Modules, j job.Job, schema *batch.Schema) {
	weighted := *schema
	weighted.Weight = "importance"
	_, err := m.Engine(&j, &weighted)
	want(t, err, "TwoTower of "+j.Model.File+" computes its own loss, which has no weights of rows")
	j.Model.Heads = []model.Head{{Weight: 2}}
	_, err = m.Engine(&j, schema)
	want(t, err, "computes its own loss: leave weight and positive-weight out, or return logits")
}

// repeated is samples, several times.
type repeated struct {
	*samples
	times int
}

func (r *repeated) Steps() int { return r.times * r.samples.Steps() }
func (r *repeated) Read(step int) (*batch.Batch, error) {
	return r.samples.Read(step % r.samples.Steps())
}

// The page prints an example as it is, and no example is longer than it says.
func TestPageHasTheExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/pytorch.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("examples/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 60 {
			t.Errorf("%s has %d lines; the page says at most 60", file, lines)
		}
		if !strings.Contains(string(page), "](../runtime/torch/"+file+")") {
			t.Errorf("docs/pytorch.md does not link %s", file)
		}
	}
	tower, err := os.ReadFile("examples/tower.py")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```python\n"+string(tower)+"```\n") {
		t.Error("docs/pytorch.md does not print examples/tower.py")
	}
}

// The built-in networks, written as modules, have their losses, gradients and statistics, step by step: by
// the loss of the job or by the module's own, and with a group of one sample.
func TestModulesAreTheBuiltInNetworks(t *testing.T) {
	m := modules(t)
	schema := clicks(0, false).oneLabel().schema
	for _, c := range []struct {
		file, class string
		arguments   map[string]any
		own         model.Spec
	}{
		{"examples/tower.py", "Tower", nil, model.Spec{Kind: model.FeedForward, EmbeddingDim: dim,
			Top: []int{64, 32}, BatchNorm: true, Activation: model.ReLU}},
		{"examples/dlrm.py", "DLRM", map[string]any{"dim": dim}, model.Spec{Kind: model.DLRM,
			EmbeddingDim: dim, Bottom: []int{64, 32}, Top: []int{64, 32}, Activation: model.ReLU}},
		{"testdata/loss.py", "Loss", nil, model.Spec{Kind: model.FeedForward, EmbeddingDim: dim,
			Top: []int{64}, BatchNorm: true, Activation: model.ReLU}},
	} {
		own, err := model.New(c.own, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		j := exampleJob(t, c.file, c.class, c.arguments)
		module, err := m.Engine(&j, schema)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, c.class, own, module)
		a, b := own.Layout().Cost, module.Layout().Cost
		t.Logf("%s: %+v, as a module %+v", c.class, a, b)
		if a.ForwardFLOPs != b.ForwardFLOPs && c.class == "Tower" || b.Kernels == 0 ||
			b.ActivationBytes < a.ActivationBytes/2 || b.ActivationBytes > 2*a.ActivationBytes {
			t.Errorf("%s costs %+v, and as a module %+v", c.class, a, b)
		}
	}
}

const (
	trainedSteps = 50
	partSamples  = 49 // in two groups
)

// compare trains two engines from the same parameters on, and compares what they compute.
func compare(t *testing.T, name string, engines ...model.Engine) {
	t.Helper()
	rule, err := opt.NewDense(opt.DenseSpec{Kind: opt.SGD, Rate: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	initial, err := model.InitialValues(engines[0], 3)
	if err != nil {
		t.Fatal(err)
	}
	l := engines[0].Layout()
	draw, worst := rng.New(5, name), 0.0
	for i := range initial.Params { // fresh shifts of batch norm are 0: a lone sample is at the kink of relu
		initial.Params[i] += float32(draw.NormFloat64() / 10)
	}
	var replicas []*model.HostReplica
	for _, e := range engines {
		if e.Layout().Params != l.Params || e.Layout().Running != l.Running {
			t.Fatalf("%s: layouts %+v and %+v", name, l, e.Layout())
		}
		replicas = append(replicas,
			model.NewHostReplica(model.NewHostWeights(e, initial.Clone(), rule, nil), 0, 2, partSamples))
	}
	for step := range trainedSteps {
		part := &batch.Part{Batch: &batch.Batch{Samples: partSamples}, Bounds: []int{0, 48, partSamples}}
		for range partSamples {
			part.Dense = append(part.Dense, float32(draw.NormFloat64()), float32(draw.NormFloat64()))
			part.Labels = append(part.Labels, float32(draw.IntN(2)))
		}
		pooled := make([]float32, partSamples*l.EmbeddingWidth)
		for i := range pooled {
			pooled[i] = float32(draw.NormFloat64())
		}
		var all [][]float32
		for _, r := range replicas {
			grads := make([]float32, len(pooled))
			if err := r.Forward(part, pooled, grads); err != nil {
				t.Fatal(err)
			}
			if _, notFinite, err := r.Backward(func(int32) {}); err != nil || notFinite != "" {
				t.Fatal(notFinite, err)
			}
			computed := append([]float32{float32(r.Loss())}, grads...)
			computed = append(computed, r.Gradients().Values...) // before StepSum overwrites them
			vec.Scale(computed, 1.0/partSamples)
			if err := r.StepSum(r.Gradients(), partSamples, step); err != nil {
				t.Fatal(err)
			}
			all = append(all, append(computed, r.Host().Running...))
		}
		for i, v := range all[0] {
			worst = max(worst, math.Abs(float64(v-all[1][i])))
		}
	}
	t.Logf("%s: %.1e", name, worst)
	if worst > 1e-5 || math.IsNaN(worst) {
		t.Errorf("%s: a loss, a gradient or a statistic differs by %g; want at most 1e-5", name, worst)
	}
}
