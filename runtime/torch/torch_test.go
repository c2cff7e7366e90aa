package torch_test

import (
	"bytes"
	"flag"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/rng"
	"tandem/internal/moduletest"
	"tandem/runtime/torch"
	"tandem/runtime/train"
)

// modules returns Modules on the Python of the environment, or skips the test without torch.
func modules(t *testing.T) *torch.Modules {
	if runtime.GOOS != "linux" {
		t.Skip("modules need the shared memory of Linux")
	}
	m := torch.FromEnvironment(os.Stderr)
	if !hasTorch() {
		t.Skip("needs TANDEM_PYTHON, or python3, with torch")
	}
	t.Cleanup(m.Close)
	return m
}

// hasTorch imports torch, which takes seconds, once.
var hasTorch = sync.OnceValue(func() bool {
	return osexec.Command(torch.FromEnvironment(os.Stderr).Python, "-c", "import torch").Run() == nil
})

var long = flag.Bool("long", false, "train every example, in every mode, and let modules fail in every way")

const (
	dim         = 4
	globalBatch = 64
)

// samples are those of a data set whose label follows from an id and a number.
type samples struct {
	schema *batch.Schema
	all    *batch.Batch
}

func newSamples(n int) *samples {
	s := &samples{schema: &batch.Schema{Dense: []string{"price"}, Labels: []string{"click"}, PrefixBits: 8,
		Slots: []batch.Slot{{Name: "user", Dim: dim}, {Name: "item", Dim: dim}}},
		all: &batch.Batch{Samples: n, Slots: []batch.Jagged{{Offsets: []int32{0}}, {Offsets: []int32{0}}}}}
	draw := rng.New(7, "samples")
	for i := range n {
		user := draw.IntN(20)
		for slot, id := range []int{user, draw.IntN(9)} {
			s.all.Slots[slot].IDs = append(s.all.Slots[slot].IDs, uint64(id))
			s.all.Slots[slot].Offsets = append(s.all.Slots[slot].Offsets, int32(i+1))
		}
		price, label := draw.NormFloat64(), float32(0)
		if price+float64(user%5)-2 > 0 {
			label = 1
		}
		s.all.Dense, s.all.Labels = append(s.all.Dense, float32(price)), append(s.all.Labels, label)
	}
	return s
}

func (s *samples) Schema() *batch.Schema { return s.schema }
func (s *samples) Steps() int            { return s.all.Samples / globalBatch }
func (s *samples) Samples(int) int       { return globalBatch }
func (s *samples) Read(step int) (*batch.Batch, error) {
	return batch.Slice(s.all, step*globalBatch, (step+1)*globalBatch), nil
}

// jobOf returns a job that trains a class of testdata/net.py.
func jobOf(t *testing.T, class, mode string, ranks int) job.Job {
	file, err := filepath.Abs("testdata/net.py")
	if err != nil {
		t.Fatal(err)
	}
	j := job.Default()
	j.Model.Spec = model.Spec{Kind: model.Torch, File: file, Class: class, EmbeddingDim: dim}
	if err := job.ReadModule(&j.Model.Spec); err != nil {
		t.Fatal(err)
	}
	j.Model.Optimizer.Rate, j.Rows.Optimizer.Rate = 0.01, 0.2
	j.Training.Mode, j.Training.GlobalBatch, j.Roles.Ranks = mode, globalBatch, ranks
	return j
}

// A module with batch norm, dropout, noise that the trial does not see, and parameters in the order of a set
// learns in every mode, from seed 0. sync has the bits of sequential training on any number of ranks.
func TestModulesAreTrained(t *testing.T) {
	machine := backend.Backend{Torch: modules(t).Engine}
	data := newSamples(20 * globalBatch)
	var want *train.Result
	run := func(mode string, ranks int) {
		j := jobOf(t, "Noisy", mode, ranks)
		j.Training.Seed = 0
		got, err := train.Run(t.Context(), j, data, data.all, train.Options{Backend: machine})
		if err != nil {
			t.Fatalf("%s, %d ranks: %v", mode, ranks, err)
		}
		if want == nil {
			want = got
		}
		if got.AUC < 0.8 {
			t.Errorf("%s, %d ranks: AUC %.3f; one that learned nothing has 0.5", mode, ranks, got.AUC)
		}
		if mode == job.Sync && (got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest) {
			t.Errorf("%d ranks: dense %x, rows %x; sequential has %x, %x", ranks, got.DenseDigest,
				got.RowsDigest, want.DenseDigest, want.RowsDigest)
		}
	}
	run(job.Sequential, 1)
	if !*long { // import torch takes seconds
		run(job.Sync, 2)
		run(job.Hybrid, 2)
		return
	}
	for _, ranks := range []int{1, 2, 4} {
		run(job.Sync, ranks)
	}
	for _, mode := range job.Modes()[1:] {
		if mode != job.Sync {
			run(mode, 2)
		}
	}
}

// A module that torch.compile compiles learns, and sync has the same bits on one rank and on two: what is
// compiled does not depend on the numbers of samples that a process has had before.
func TestCompiledModulesAreTrained(t *testing.T) {
	if !*long {
		t.Skip("compiles for minutes: run it with -long")
	}
	if _, err := osexec.LookPath("c++"); err != nil {
		t.Skip("needs a C++ compiler")
	}
	m := modules(t)
	t.Setenv("TORCHINDUCTOR_CACHE_DIR", t.TempDir())
	data := newSamples(20 * globalBatch)
	var first *train.Result
	for _, ranks := range []int{1, 2} {
		j := jobOf(t, "Net", job.Sync, ranks)
		j.Model.Compile = true
		got, err := train.Run(t.Context(), j, data, data.all,
			train.Options{Backend: backend.Backend{Torch: m.Engine}})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if got.AUC < 0.8 || got.DenseDigest != first.DenseDigest || got.RowsDigest != first.RowsDigest {
			t.Errorf("%d ranks: AUC %.3f, dense %x, rows %x; one rank has %x, %x", ranks, got.AUC,
				got.DenseDigest, got.RowsDigest, first.DenseDigest, first.RowsDigest)
		}
	}
}

// A module that torch.compile cannot compile, as without a compiler, is one sentence.
func TestModulesThatCannotBeCompiledAreRefused(t *testing.T) {
	if !*long {
		t.Skip("imports the compiler for a minute: run it with -long")
	}
	m := modules(t)
	t.Setenv("CXX", "no-such-compiler")
	t.Setenv("TORCHINDUCTOR_CACHE_DIR", t.TempDir())
	j := jobOf(t, "Net", job.Sync, 1)
	j.Model.Compile = true
	_, err := m.Engine(&j, newSamples(0).schema)
	want(t, err, "torch.compile, which needs a C++ compiler such as g++, cannot compile the module (")
}

// A compiled module whose gradients are others than those of the module is refused, also one whose random
// numbers are others.
func TestCompiledGradientsAreCompared(t *testing.T) {
	if !*long {
		t.Skip("compiles for minutes: run it with -long")
	}
	if _, err := osexec.LookPath("c++"); err != nil {
		t.Skip("needs a C++ compiler")
	}
	m := modules(t)
	t.Setenv("TORCHINDUCTOR_CACHE_DIR", t.TempDir())
	for _, class := range []string{"Doubled", "DoubledAndDropped"} {
		j := jobOf(t, class, job.Sync, 1)
		if _, err := m.Engine(&j, newSamples(0).schema); err != nil {
			t.Error(err)
		}
		j.Model.Compile = true
		_, err := m.Engine(&j, newSamples(0).schema)
		want(t, err, ": torch.compile computes another gradient of the embeddings of the module: leave out "+
			"model.compile")
	}
}

// With model.precision = bf16 autocast rounds what is multiplied in training, and nothing of predictions, nor
// what is kept. sync has the bits of sequential training.
func TestAutocast(t *testing.T) {
	m := modules(t)
	data := newSamples(20 * globalBatch)
	const n = 16
	outputs := map[string][2][]float32{} // of a pass in training and of a prediction, by precision
	for _, precision := range []string{job.FP32, job.BF16} {
		j := jobOf(t, "Net", job.Sync, 1)
		j.Model.Precision = precision
		e, err := m.Engine(&j, data.schema)
		if err != nil {
			t.Fatal(err)
		}
		values, err := model.InitialValues(e, 1)
		if err != nil {
			t.Fatal(err)
		}
		in := model.Input{Samples: n, Embeddings: make([]float32, n*e.Layout().EmbeddingWidth),
			Dense: data.all.Dense[:n], Labels: data.all.Labels[:n]}
		for i := range in.Embeddings {
			in.Embeddings[i] = float32(i%17)/17 - 0.4
		}
		pass := e.NewPass(n)
		trained, _ := pass.Forward(values.Params, values.Running, in, true)
		trained = slices.Clone(trained)
		grads := make([]float32, e.Layout().Params)
		for b := range e.Layout().Buckets {
			pass.Backward(values.Params, b, grads)
		}
		trained = slices.Concat(trained, grads, pass.EmbeddingGrad())
		in.Labels = nil
		predicted, _ := pass.Forward(values.Params, values.Running, in, false)
		outputs[precision] = [2][]float32{trained, slices.Clone(predicted)}
		if err := e.Err(); err != nil {
			t.Fatal(err)
		}
	}
	plain, rounded := outputs[job.FP32], outputs[job.BF16]
	if !slices.Equal(plain[1], rounded[1]) {
		t.Errorf("predictions %v, in fp32 %v", rounded[1], plain[1])
	}
	largest, differs := float32(0), false
	for i, x := range plain[0] {
		largest = max(largest, x, -x)
		differs = differs || x != rounded[0][i]
	}
	for i, x := range plain[0] {
		if d := x - rounded[0][i]; max(d, -d) > largest/20 {
			t.Fatalf("value %d: %v, in fp32 %v", i, rounded[0][i], x)
		}
	}
	if !differs {
		t.Error("nothing is rounded")
	}
	var want *train.Result
	for mode, ranks := range map[string]int{job.Sequential: 1, job.Sync: 2} {
		j := jobOf(t, "Net", mode, ranks)
		j.Model.Precision = job.BF16
		got, err := train.Run(t.Context(), j, data, data.all,
			train.Options{Backend: backend.Backend{Torch: m.Engine}})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if got.AUC < 0.8 || got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
			t.Errorf("%s: AUC %.3f, dense %x, rows %x; another mode has %x, %x", mode, got.AUC,
				got.DenseDigest, got.RowsDigest, want.DenseDigest, want.RowsDigest)
		}
	}
}

// want reports an error that is not one line with some words.
func want(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want %s", err, words)
	}
}

// What a job asks for that no module can is refused without a Python.
func TestJobsThatModulesCannotDo(t *testing.T) {
	m := &torch.Modules{Python: filepath.Join(t.TempDir(), "python9"), Limit: time.Minute, Stderr: os.Stderr}
	for words, change := range map[string]func(*job.Job){
		"there are 1 labels and 2 heads": func(j *job.Job) { j.Model.Heads = make([]model.Head, 2) },
		"model.heads has layers": func(j *job.Job) {
			j.Model.Heads = []model.Head{{Layers: []int{4}}}
		},
		`slot "user" has rows of 4 values, the model wants 8`: func(j *job.Job) { j.Model.EmbeddingDim = 8 },
	} {
		j := jobOf(t, "Net", job.Sync, 1)
		change(&j)
		_, err := m.Engine(&j, newSamples(0).schema)
		want(t, err, words)
	}
	if runtime.GOOS == "linux" {
		j := jobOf(t, "Net", job.Sync, 1)
		_, err := m.Engine(&j, newSamples(0).schema)
		want(t, err, "set TANDEM_PYTHON to a Python that has torch")
	}
}

// What is wrong with a module is one sentence with its file.
func TestUnsuitableModulesAreRefused(t *testing.T) {
	m := modules(t)
	cases := []struct{ class, want string }{
		{"Net", "suitable"},
		{"Absent", "net.py has no subclass Absent of torch.nn.Module; it has Net, Shared,"},
		{"Shared", "net.py:26: top.3.weight and again are one parameter"},
		{"Frozen", "net.py:32: parameter top.3.bias is frozen"},
		{"Wide", "net.py:39: forward returned logits that are a tensor of shape (4, 2); want"},
		{"Counting", "two passes over the same samples differ; a module may keep no state"},
		{"Idle", "forward does not use parameter idle"},
		{"Sparse", "the gradient of rows.weight is sparse; leave out sparse=True"},
		{"Buffered", "forward changes buffer seen; a module may keep no state but the running statistics"},
		{"Twice", "forward uses a batch norm 2 times"},
		{"Drawing", "the constructor draws random numbers that are no parameters"},
		{"Losses", "forward returned a tensor of shape (4,) for labels; want a loss"},
		{"Unready", "forward: KeyError: 'item'"},
		{"Rows", "a batch norm of 16 features gets values of shape (8, 16) for 4 samples; its running"},
		{"LazyNorm", "suitable"},
		{"Parts", "parameter layer.bias gets its gradient in two parts; give checkpoint()"},
		{"Guessing", "forward draws random numbers for a prediction; give dropout self.training"},
		{"Seeded", "suitable"},
		{"Unseeded", "the constructor gives top.3.bias other values from the same seed; draw them with"},
		{"Clamping", "forward changes parameter top.3.weight; only the optimizer may"},
		{"Bounded", "forward changes parameter rows.weight; only the optimizer may"},
		{"Growing", "two passes over the same samples differ; a module may keep no state"},
		{"Untracked", "the prediction of a sample depends on the samples beside it; give batch norm"},
		{"Centred", "the prediction of a sample depends on the samples beside it"},
		{"Squeezed", "forward returned logits that are a tensor of shape (); want a tensor of shape (1,)"},
		{"Rounded", "under autocast, as model.precision: bf16 asks for, RuntimeError: index_add_(): self"},
		{"Extra", "_extra_state of its state_dict is no tensor, and would be in no checkpoint"},
		{"Strict", "net.py: TypeError: Strict.__init__() missing 1 required positional argument: 'hidden'"},
	}
	args := []string{"testdata/refused.py", "python", "testdata/net.py"}
	for _, c := range cases {
		args = append(args, c.class)
	}
	out, err := osexec.Command(m.Python, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%d lines, want %d: %q", len(lines), len(cases), lines)
	}
	for i, c := range cases {
		if !strings.Contains(lines[i], c.want) {
			t.Errorf("%s: %q, want %q", c.class, lines[i], c.want)
		}
	}
}

// An old torch, a Python without one, and an old Python are a sentence. What lies in the working directory
// under the name of a package of Python is not imported.
func TestOldTorchIsRefused(t *testing.T) {
	python, err := osexec.LookPath("python3")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs python3, and Linux")
	}
	data, j := newSamples(globalBatch), jobOf(t, "Net", job.Sync, 1)
	working := t.TempDir()
	t.Chdir(working)
	write := func(folder, name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(working, "json.py", "raise ImportError('the wrong json')")
	for _, c := range []struct{ file, text, want string }{
		{"torch.py", "__version__ = '2.0.1+cpu'", "torch 2.0.1+cpu is too old: install 2.1 or newer"},
		{"torch.py", "raise ImportError('no such')", "cannot import torch (no such): install it with"},
		{"sitecustomize.py", "import sys; sys.version_info = (3, 7)", "set TANDEM_PYTHON to 3.8 or newer"},
	} {
		folder := t.TempDir()
		t.Setenv("PYTHONPATH", folder)
		write(folder, c.file, c.text)
		m := &torch.Modules{Python: python, Limit: 10 * time.Minute, Stderr: os.Stderr}
		_, err := train.Run(t.Context(), j, data, data.all,
			train.Options{Backend: backend.Backend{Torch: m.Engine}})
		want(t, err, c.want)
		m.Close()
	}
}

// A Python of any age reads the program as far as the sentence that says that it is too old.
func TestOldPythonsReadTheProgram(t *testing.T) {
	python, err := osexec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	files, err := filepath.Glob("python/tandem_worker/*.py")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	const parse = "import ast, sys; [ast.parse(open(f).read(), feature_version=(3, 7)) for f in sys.argv[1:]]"
	args := append([]string{"-c", parse, "python/start.py"}, files...)
	out, err := osexec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// What a module does in the middle of a training is one sentence with its file, and no process is left.
func TestModulesThatFail(t *testing.T) {
	if !*long {
		t.Skip("starts several Pythons, each of which imports torch: run it with -long")
	}
	m := modules(t)
	data := newSamples(globalBatch)
	for class, words := range map[string]string{
		"Raising":  "net.py:58: forward: ValueError: no such user",
		"Cut":      "forward returned logits that are a tensor of shape (1, 1); want a tensor of shape (8,)",
		"Leaving":  "forward: SystemExit: 3",
		"Killed":   "the Python of the module has ended: signal: killed; see what it printed",
		"Infinite": "net.py:153: forward returned NaN or infinity for finite embeddings, numbers",
	} {
		_, err := train.Run(t.Context(), jobOf(t, class, job.Sync, 2), data, data.all,
			train.Options{Backend: backend.Backend{Torch: m.Engine}})
		want(t, err, words)
	}
	m.Close()
	if left := children(t); left != "" {
		t.Errorf("processes are left: %s", left)
	}
}

// children returns the numbers of the processes that this one has started, and that have not ended.
func children(t *testing.T) string {
	all := ""
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Skip("needs /proc/PID/task/TID/children")
	}
	for _, task := range tasks {
		one, err := os.ReadFile(task)
		if err == nil { // else the thread has ended
			all += string(one)
		}
	}
	return all
}

// Processes that a module has started end with it, and do not keep its end from being known: when it is
// closed, and when it is killed.
func TestChildrenOfModulesEnd(t *testing.T) {
	schema := newSamples(0).schema
	for _, killed := range []bool{false, true} {
		if killed && !*long { // import torch takes seconds
			continue
		}
		m := modules(t)
		var printed bytes.Buffer
		m.Stderr = &printed
		j := jobOf(t, "Forking", job.Sync, 1)
		engine, err := m.Engine(&j, schema)
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			for _, leader := range strings.Fields(children(t)) {
				if err := osexec.Command("kill", "-KILL", leader).Run(); err != nil {
					t.Fatal(err)
				}
			}
			engine.Init(1)
			want(t, engine.Err(), "the Python of the module has ended: signal: killed; see what it printed")
		}
		m.Close()
		_, after, _ := strings.Cut(printed.String(), "started ")
		started := strings.Fields(after)
		if len(started) != 2 {
			t.Fatalf("printed %q", &printed)
		}
		for _, child := range started {
			for runs(child) { // it was sent SIGKILL
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
}

// runs reports whether a process runs. One that no one waits for stays a zombie, Z.
func runs(process string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", process, "stat"))
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// A process of a run has a Python for each of its ranks, and none without them, though every one asks what
// the module is.
func TestEveryRankHasOnePython(t *testing.T) {
	m, j := stubs(t, moduletest.Fault{})
	for _, ranks := range []map[int32]bool{{}, {1: true}} {
		_, err := exec.NewLocal(j, newSamples(globalBatch),
			backend.Backend{Torch: m.Engine},
			func(at msg.Address) bool { return at.Role == msg.NNWorker && ranks[at.Index] })
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(children(t)); len(got) != len(ranks) {
			t.Errorf("%d Pythons for %d ranks", len(got), len(ranks))
		}
	}
}

// A state_dict of torch.save, or of safetensors, is taken if it is that of the module, and what a module
// writes is one. Any other is refused in one sentence with the names that are wrong.
func TestStateDicts(t *testing.T) {
	m := modules(t)
	out, err := osexec.Command(m.Python, "testdata/states.py", "python",
		"testdata/net.py", t.TempDir()).Output() // torch warns
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	const write = ": write one with torch.save(net.state_dict(), FILE)"
	for i, want := range []string{"", lines[0], lines[0],
		"wrapped.pt has no state_dict, as its state_dict is no tensor" + write,
		"whole.pt is no file that torch.load(FILE, weights_only=True) reads" + write,
		"names.pt lacks top.0.bias, top.1.weight, top.1.bias and 4 more of Net of net.py, and has " +
			"module.top.1.weight, module.top.1.bias, module.top.1.running_mean and 4 more, which Net of " +
			"net.py lacks",
		"shape.pt: top.3.bias is torch.float32 of shape (2,); Net of net.py wants torch.float32 of " +
			"shape (1,)",
		"half.pt: top.0.bias is torch.float16 of shape (16,); Net of net.py wants torch.float32 of " +
			"shape (16,)",
		"sparse.pt: top.0.bias is sparse, quantized or without values" + write,
		"infinite.pt: top.1.running_mean has values that are NaN or infinite",
		"number.safetensors is no file of safetensors: ValueError: a header that is no object",
		"cut.safetensors is no file of safetensors: JSONDecodeError",
		"absent.pt: No such file or directory",
		"own.pt: torch.load of torch 2.5.1+cpu may run what a file says: install 2.6 or newer, or write",
		lines[0],
		"1.0 ",
		"changed.pt: buffer scale has other values than the constructor of Fixed of net.py gives it",
		"same",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d of %s; want %s", i, out, want)
		}
	}
}

// The examples are written as ONNX with the inputs and the output of built-in networks, and onnxruntime
// predicts what the module does.
func TestModulesAreWrittenAsONNX(t *testing.T) {
	if !*long {
		t.Skip("exports for a minute: run it with -long")
	}
	m := modules(t)
	command := osexec.Command(m.Python, "testdata/export.py", "python", "examples", t.TempDir())
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1") // in the source
	command.Stderr = os.Stderr
	out, err := command.Output()
	missing := strings.TrimSpace(string(out))
	if err == nil && strings.HasPrefix(missing, "No module named") {
		t.Skip(missing)
	}
	if err != nil || !strings.HasSuffix(string(out), "good\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// Optimizers of torch.optim take the steps that they take alone, with a state that is kept between the steps
// and a schedule. Those that need more are refused in a sentence.
func TestOptimizersOfTorch(t *testing.T) {
	m := modules(t)
	runPython(t, m.Python, "testdata/optimizers.py", "python", "testdata/net.py")
}

// A module that hangs is ended, and the error has the line at which it hangs.
func TestModulesThatHangAreEnded(t *testing.T) {
	if !*long {
		t.Skip("waits for a limit: run it with -long")
	}
	m := modules(t)
	m.Limit = time.Minute // import torch takes seconds
	data := newSamples(globalBatch)
	_, err := train.Run(t.Context(), jobOf(t, "Hanging", job.Sync, 1), data, data.all,
		train.Options{Backend: backend.Backend{Torch: m.Engine}})
	if err == nil || !strings.Contains(err.Error(), "forward: has run for 60 s without an end") ||
		!strings.Contains(err.Error(), "net.py:6") {
		t.Errorf("%v", err)
	}
}
