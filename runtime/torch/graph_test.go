package torch_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
	"tandem/internal/moduletest"
	"tandem/internal/pythontest"
	"tandem/runtime/onnx"
)

// A graph computes what its module does, to 1e-5, with any parameters and statistics and groups of any size:
// pooled and raw slots, batch norm, constant buffers, one label and two, and dropout, which does nothing.
func TestGraphsAreTheirModules(t *testing.T) {
	m := modules(t)
	library, err := onnx.Open(pythontest.ONNXRuntime(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, class string
		arguments   map[string]any
		data        *samples
		short       bool
	}{
		{file: "testdata/graph.py", class: "Everything", data: clicks(0, true), short: true},
		{file: "examples/tower.py", class: "Tower", data: clicks(0, false).oneLabel()},
		{file: "examples/dlrm.py", class: "DLRM", arguments: map[string]any{"dim": dim},
			data: clicks(0, false).oneLabel()},
		{file: "examples/two_tower.py", class: "TwoTower", data: clicks(0, false).oneLabel()},
		{file: "examples/din.py", class: "DIN", data: clicks(0, true).oneLabel()},
		{file: "examples/multitask.py", class: "MultiTask", data: clicks(0, false),
			arguments: map[string]any{"labels": []string{"bought", "clicked"}}},
	} {
		if !*long && !c.short { // each takes five seconds
			continue
		}
		j := exampleJob(t, c.file, c.class, c.arguments)
		if len(c.data.schema.Labels) > 1 {
			j.Model.Heads = make([]model.Head, 2)
		}
		module, err := m.Engine(&j, c.data.schema)
		if err != nil {
			t.Fatal(err)
		}
		text, err := m.Graph(&j, c.data.schema)
		if err != nil {
			t.Fatal(err)
		}
		if text == nil {
			t.Skip("needs a Python with onnx and onnxscript")
		}
		l, draw := module.Layout(), rng.New(3, c.class)
		values, err := model.InitialValues(module, 5)
		if err != nil {
			t.Fatal(err)
		}
		for i := range values.Params {
			values.Params[i] += float32(draw.NormFloat64() / 10)
		}
		for i := range values.Running {
			values.Running[i] = float32(0.5 + draw.Float64())
		}
		graph, err := library.Engine(text, *l, values)
		if err != nil {
			t.Fatalf("%s: %v", c.class, err)
		}
		worst := 0.0
		for _, samples := range []int{1, 3, 700} {
			in := model.Input{Samples: samples}
			for range samples {
				in.Embeddings = append(in.Embeddings, sample(c.data, draw)...)
				for range l.DenseWidth {
					in.Dense = append(in.Dense, float32(draw.NormFloat64()))
				}
			}
			want, _ := module.NewPass(samples).Forward(values.Params, values.Running, in, false)
			got, _ := graph.NewPass(samples).Forward(nil, nil, in, false)
			for i := range want {
				a, b := l.Prediction(i%l.Labels, want[i]), l.Prediction(i%l.Labels, got[i])
				worst = max(worst, math.Abs(float64(a-b)))
			}
		}
		if t.Logf("%s: %.1e", c.class, worst); worst > 1e-5 || module.Err() != nil || graph.Err() != nil {
			t.Errorf("%s: a prediction differs by %g: %v, %v", c.class, worst, module.Err(), graph.Err())
		}
	}
}

// sample returns the embeddings of a sample: those of a raw slot with the number of ids that there are.
func sample(data *samples, draw *rand.Rand) (all []float32) {
	for _, s := range data.schema.Slots {
		ids := draw.IntN(s.FixedSize + 1)
		for k := range s.Width() {
			switch {
			case s.FixedSize == 0 || k/(s.Dim+1) < ids && k%(s.Dim+1) < s.Dim:
				all = append(all, float32(draw.NormFloat64()))
			case k/(s.Dim+1) < ids:
				all = append(all, 1)
			default:
				all = append(all, 0)
			}
		}
	}
	return all
}

// A module that PyTorch cannot write as ONNX is trained without, and there is one sentence. So is one whose
// Python dies, hangs or says nonsense over it. No process is left, nor is one of a graph that was written.
func TestModulesWithoutAGraph(t *testing.T) {
	for kind, words := range map[string]string{
		moduletest.Dies:    "the Python of the module has ended: signal: killed",
		moduletest.Hangs:   "the Python of the module does not answer",
		moduletest.Raises:  "net.py:7: forward: ValueError: no such user",
		moduletest.Garbled: "a reply that is none",
	} {
		m, j := stubs(t, moduletest.Fault{Kind: kind, At: moduletest.Graph})
		j.Model.Class = moduletest.Drawn
		if kind == moduletest.Hangs {
			m.Limit = 100 * time.Millisecond
		}
		_, err := m.Graph(&j, newSamples(0).schema)
		want(t, err, words)
		if _, err := runStubs(t.Context(), m, j); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		m.Close()
		if left := children(t); left != "" {
			t.Errorf("%s: processes are left: %s", kind, left)
		}
	}
	m, j := stubs(t, moduletest.Fault{})
	j.Model.Class = moduletest.Drawn
	if _, err := m.Engine(&j, newSamples(0).schema); err != nil {
		t.Fatal(err)
	}
	before := children(t)
	if graph, err := m.Graph(&j, newSamples(0).schema); len(graph) == 0 || err != nil {
		t.Errorf("%q, %v", graph, err)
	}
	if now := children(t); now != before {
		t.Errorf("a process is left: %s, and before the graph %s", now, before)
	}
	j.Model.Class = "Net"
	if graph, err := m.Graph(&j, newSamples(0).schema); graph != nil || err != nil {
		t.Errorf("%q, %v of a Python without ONNX", graph, err)
	}
	j = jobOf(t, "Net", job.Sync, 1)
	j.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: dim}
	if graph, err := m.Graph(&j, newSamples(0).schema); graph != nil || err != nil {
		t.Errorf("%q, %v of a network that is built in", graph, err)
	}
}

// The graph is compared with the module by the evaluator of ONNX, with other values than it was made with.
func TestGraphsAreCompared(t *testing.T) {
	if !*long {
		t.Skip("imports torch and onnx: run it with -long")
	}
	runPython(t, modules(t).Python, "testdata/graphs.py", "python", "testdata/graph.py",
		filepath.Join(t.TempDir(), "module.onnx"))
}
