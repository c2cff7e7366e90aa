package torch_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/msg"
	"tandem/internal/moduletest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/export"
	"tandem/runtime/torch"
	"tandem/runtime/train"
)

func TestMain(m *testing.M) {
	moduletest.Main()
	os.Exit(m.Run())
}

// stubs returns Modules whose Python is a stub, and a job in which something goes wrong.
func stubs(t *testing.T, f moduletest.Fault) (*torch.Modules, job.Job) {
	moduletest.Use(t)
	m := torch.FromEnvironment(os.Stderr)
	t.Cleanup(m.Close)
	j := jobOf(t, "Net", job.Sync, 2)
	j.Model.Spec = moduletest.Spec(dim, f)
	return m, j
}

// runStubs trains a job with stubs.
func runStubs(ctx context.Context, m *torch.Modules, j job.Job) (*train.Result, error) {
	data := newSamples(10 * globalBatch)
	return train.Run(ctx, j, data, data.all, train.Options{Backend: backend.Backend{Torch: m.Engine}})
}

// A saved model is read where nothing can compile its module, which a training that asks for it needs.
func TestSavedModulesAreNotCompiled(t *testing.T) {
	m, j := stubs(t, moduletest.Fault{})
	j.Model.Compile = true
	schema := newSamples(0).schema
	_, err := m.Engine(&j, schema)
	want(t, err, "the stub has no compiler")
	if _, err := m.SavedEngine(&j, schema); err != nil || !j.Model.Compile {
		t.Errorf("error %v; the job has compile: %t", err, j.Model.Compile)
	}
}

// What goes wrong in a process, at any place, is one sentence, and no process is left. Only a death by a
// signal is a loss, from which another process can go on.
func TestProcessesThatFail(t *testing.T) {
	for kind, words := range map[string]string{
		moduletest.Dies:    "the Python of the module has ended: signal: killed; see what it printed",
		moduletest.Hangs:   "the Python of the module does not answer",
		moduletest.Raises:  "net.py:7: forward: ValueError: no such user",
		moduletest.Garbled: `the Python of the module: a reply that is none: "none`,
	} {
		for _, at := range []string{moduletest.Describe, moduletest.Init, moduletest.Train,
			moduletest.Predict} {
			m, j := stubs(t, moduletest.Fault{Kind: kind, At: at})
			if kind == moduletest.Hangs {
				m.Limit = 100 * time.Millisecond // one that hangs does not answer within any
			}
			_, err := runStubs(t.Context(), m, j)
			want(t, err, words)
			if lost := errors.Is(err, model.ErrLost); lost != (kind == moduletest.Dies) {
				t.Errorf("%s at %s: a loss: %t", kind, at, lost)
			}
			m.Close()
			if left := children(t); left != "" {
				t.Errorf("%s at %s: processes are left: %s", kind, at, left)
			}
		}
	}
}

// A process that dies in a prediction is replaced by another, and the prediction is the same: a host that
// only evaluates outlives it, and so does a server.
func TestPredictionsOutliveTheirProcess(t *testing.T) {
	m, j := stubs(t, moduletest.Fault{})
	want, err := runStubs(t.Context(), m, j)
	if err != nil {
		t.Fatal(err)
	}
	once := filepath.Join(t.TempDir(), "died")
	m, j = stubs(t, moduletest.Fault{Kind: moduletest.Dies, At: moduletest.Predict, Once: once})
	got, err := runStubs(t.Context(), m, j)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(once); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Probabilities, want.Probabilities) {
		t.Error("other predictions than of a process that lives")
	}
}

// What fails in Init fails in every role that begins with these parameters: a rank, and a dense PS, which has
// no pass that would find out.
func TestInitFailsWhereParametersAre(t *testing.T) {
	m, j := stubs(t, moduletest.Fault{Kind: moduletest.Raises, At: moduletest.Init})
	j.Training.Mode = job.AsyncPS
	j = j.Resolved()
	for role, words := range map[msg.Role]string{
		msg.DensePS: "net.py:7", msg.EmbeddingPS: "", msg.EmbeddingWorker: "", msg.DataLoader: "",
	} {
		_, err := exec.NewLocal(j, newSamples(globalBatch), backend.Backend{Torch: m.Engine},
			func(at msg.Address) bool { return at.Role == role })
		if words != "" {
			want(t, err, words)
		} else if err != nil {
			t.Errorf("%v: %v", role, err)
		}
	}
}

// A training begins with the state_dict of a file, which is that of a trained module, or does not begin.
func TestTrainingsBeginWithAStateDict(t *testing.T) {
	m, j := stubs(t, moduletest.Fault{})
	engine, err := m.Engine(&j, newSamples(0).schema)
	if err != nil {
		t.Fatal(err)
	}
	params, running := engine.Init(3)
	trained := model.Values{Params: slices.Clone(params), Running: running}
	for i := range trained.Params {
		trained.Params[i] += float32(i)
	}
	m.Begin = filepath.Join(t.TempDir(), "state_dict.pt")
	if err := engine.(export.Module).WriteState(trained, m.Begin); err != nil {
		t.Fatal(err)
	}
	diverged := model.Values{Params: trained.Params, Running: []float32{0, float32(math.NaN())}}
	want(t, engine.(export.Module).WriteState(diverged, m.Begin), "running statistic 1 of batch norm is NaN")
	if again, _ := engine.Init(1); !slices.Equal(again, trained.Params) {
		t.Errorf("%v, want %v", again, trained.Params)
	}
	if err := os.WriteFile(m.Begin, []byte("state"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = runStubs(t.Context(), m, j)
	want(t, err, "state_dict.pt is not a state_dict")
}

// The optimizer of a module's file trains the same bits on any number of ranks, also where the training goes
// on from a checkpoint, and replicas of ranks. A dense PS, which has a part of the network, refuses it.
func TestOptimizersOfModules(t *testing.T) {
	m, j := stubs(t, moduletest.Fault{})
	j.Model.Spec.Class = moduletest.Stepping
	j.Model.Optimizer.Schedule = opt.Schedule{WarmUp: 4}
	data := newSamples(10 * globalBatch)
	run := func(ranks int, o train.Options) *train.Result {
		j := j
		j.Roles.Ranks, o.Backend = ranks, backend.Backend{Torch: m.Engine}
		result, err := train.Run(t.Context(), j, data, data.all, o)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	same := func(what string, got, want *train.Result) {
		if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
			t.Errorf("%s: dense %x, rows %x; one rank has %x, %x", what, got.DenseDigest, got.RowsDigest,
				want.DenseDigest, want.RowsDigest)
		}
	}
	whole := run(1, train.Options{})
	same("2 ranks", run(2, train.Options{}), whole)
	same("4 ranks", run(4, train.Options{}), whole)

	folder := filepath.Join(t.TempDir(), "model")
	const cut = 3
	run(2, train.Options{End: cut, Trained: func(s exec.State) error {
		parts, err := s.ExportDense()
		if err != nil || parts[0].Optimizer[0] != cut {
			t.Errorf("%v: a state of %v, want the steps", err, parts[0].Optimizer)
		}
		return checkpoint.Save(folder, &checkpoint.Manifest{Mode: job.Sync, Job: []byte("name: cut\n"),
			Scaling: []batch.Scaling{{Std: 1}}}, s)
	}})
	saved, err := checkpoint.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	same("cut", run(2, train.Options{Begin: train.Begin{Step: cut, Model: saved}}), whole)

	for mode, words := range map[string]string{"local-sgd": "", "async-average": "", job.Sequential: "",
		"backup-workers": "", job.AsyncPS: "mode async-ps: the network has an optimizer of its own, which",
		"ssp": "mode ssp: the network has", "gba": "mode gba: the network has"} {
		j := j.InMode(mode)
		engine, err := m.Engine(&j, data.schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := dense.CheckOptimizer(engine, &j); (err != nil) != (words != "") {
			t.Errorf("%s: %v before it begins, want %s", mode, err, words)
		}
		_, err = runStubs(t.Context(), m, j)
		if words != "" {
			want(t, err, words)
		} else if err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	j.Model.Optimizer.Schedule = opt.Schedule{}
	if other := run(1, train.Options{}); other.DenseDigest == whole.DenseDigest {
		t.Error("without the schedule, the same bits")
	}
	j.Model.Spec.Class = "Net"
	if other := run(1, train.Options{}); other.DenseDigest == whole.DenseDigest {
		t.Error("the optimizer of the job trains the same bits")
	}
}

// A module with a loss of its own gets labels that are numbers in the units of what it returns: half their
// squared error is model.loss = squared.
func TestOwnLossOfNumbers(t *testing.T) {
	m, j := stubs(t, moduletest.Fault{})
	j.Model.Loss, j.Model.Heads = model.SquaredLoss, []model.Head{{Center: 0.25, Scale: 0.5}}
	want, err := runStubs(t.Context(), m, j)
	if err != nil {
		t.Fatal(err)
	}
	j.Model.Class = moduletest.Own
	got, err := runStubs(t.Context(), m, j)
	if err != nil || got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
		t.Errorf("%v: other bits than those of the loss of the job", err)
	}
	if m.Torch() != moduletest.Version {
		t.Errorf("torch %q", m.Torch())
	}
}

// Close ends a process that hangs, in the trial and in training, however long it may take.
func TestCloseEndsProcessesThatHang(t *testing.T) {
	for _, at := range []string{moduletest.Describe, moduletest.Train} {
		hung := filepath.Join(t.TempDir(), "hung")
		m, j := stubs(t, moduletest.Fault{Kind: moduletest.Hangs, At: at, Once: hung})
		m.Limit = time.Hour
		ctx, interrupt := context.WithCancel(t.Context())
		context.AfterFunc(ctx, m.Close)
		ended := make(chan error)
		go func() {
			_, err := runStubs(ctx, m, j)
			ended <- err
		}()
		for os.IsNotExist(exists(hung)) {
			time.Sleep(time.Millisecond)
		}
		interrupt()
		if err := <-ended; err == nil {
			t.Errorf("%s: no error", at)
		}
	}
}

func exists(file string) error {
	_, err := os.Stat(file)
	return err
}

// What a module prints comes in whole lines, which nothing mistakes for those of the program, however much it
// is.
func TestModulesPrintLines(t *testing.T) {
	m, j := stubs(t, moduletest.Fault{Kind: moduletest.Floods, At: moduletest.Train,
		Once: filepath.Join(t.TempDir(), "flooded")})
	var printed bytes.Buffer
	m.Stderr = &printed
	if _, err := runStubs(t.Context(), m, j); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if printed.Len() < 1<<20 || !bytes.HasSuffix(printed.Bytes(), []byte("\n")) {
		t.Errorf("printed %d bytes, ending in %q", printed.Len(),
			printed.Bytes()[max(0, printed.Len()-20):])
	}
	for line := range strings.Lines(printed.String()) {
		if !strings.HasPrefix(line, torch.Prefix) {
			t.Fatalf("%.80q", line)
		}
	}
}
