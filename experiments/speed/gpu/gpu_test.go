package gpu

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/cuda/softgpu"
)

// onSoftware returns the experiment with flags, on the software GPU, without PyTorch.
func onSoftware(t *testing.T, args ...string) *report.Experiment {
	t.Helper()
	softgpu.Open(t, 1)
	e := newWith(softgpu.Libraries(t))
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	e.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", compilerAlone(t))
	t.Setenv("TANDEM_PYTHON", "")
	return e
}

// compilerAlone returns a folder with what the software GPU compiles with, and without python3.
func compilerAlone(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"c++", "as", "ld"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(folder, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// planned returns the plan that flags choose, or its error.
func planned(t *testing.T, o report.Options, args ...string) (*plan, error) {
	t.Helper()
	var c choice
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c.plan(o)
}

// small are flags that the software GPU can do.
func small() []string {
	return []string{"--networks", "dlrm,tower,dcn-v2", "--batches", "4", "--precisions", "fp32", "--shrink",
		"128", "--window", "1ns"}
}

// A case that does not fit on the GPU is named, and keeps no other from running.
func TestWhatDoesNotFit(t *testing.T) {
	softgpu.Set(t, "TANDEM_SOFTGPU_MEMORY", "30000000")
	e, folder := onSoftware(t, "--networks", "dlrm", "--batches", "4,8192", "--precisions", "fp32",
		"--shrink", "128", "--window", "1ns"), t.TempDir()
	r, err := e.Run(t.Context(), report.Options{Seeds: 2, Seed: 1, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	checkFolder(t, r, folder, "", "Not measured: DLRM, batch 8192, fp32: cuda:0: a rank needs ",
		"│ DLRM    │     4 │")
	e = onSoftware(t, "--networks", "dlrm", "--batches", "8192", "--precisions", "fp32")
	if _, err := e.Run(t.Context(), report.Options{Seeds: 2, Seed: 1, Folder: t.TempDir()}); err == nil ||
		!strings.HasPrefix(err.Error(), "DLRM, batch 8192, fp32: cuda:0: a rank needs ") {
		t.Errorf("error %v", err)
	}
}

// Flags are checked before anything is measured.
func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--device cuda":         "--device cuda",
		"--device cpu":          "--device cpu",
		"--networks resnet":     "--networks resnet",
		"--batches 0":           "--batches 0",
		"--precisions fp8":      "--precisions fp8",
		"--shrink 0":            "--shrink 0",
		"--tables -1":           "--tables -1",
		"--window -1s":          "--window -1s",
		"--accelerator H20":     `--accelerator: unknown profile "H20"; the nearest is "H200-SXM"`,
		"--batches 512,1048577": "--batches 1048577",
	} {
		_, err := planned(t, report.Options{Seeds: 2}, strings.Fields(args)...)
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", args, err, want)
		}
	}
	const args = "--networks dlrm,tower --batches 4,512 --shrink 2 --window 1s"
	p, err := planned(t, report.Options{Seeds: 2}, strings.Fields(args)...)
	if err != nil || len(p.Cases) != 2*2*3 || p.Cases[0].String() != "DLRM, batch 4, fp32" ||
		p.Cases[0].Network.Top[0] != 256 || p.Window != time.Second {
		t.Errorf("plan %+v, error %v", p, err)
	}
	for quick, want := range map[bool]int{true: 3, false: 27} {
		p, err := planned(t, report.Options{Seeds: 2, Quick: quick})
		if err != nil || len(p.Cases) != want {
			t.Errorf("quick %v: %d cases, error %v, want %d", quick, len(p.Cases), err, want)
		}
	}
}

// Without a GPU the experiment says what it lacks, after flags that do not fit on any machine.
func TestWithoutGPU(t *testing.T) {
	libraries := softgpu.Libraries(t)
	libraries.Driver = filepath.Join(t.TempDir(), "libcuda.so.1")
	run := func(e *report.Experiment, args ...string) error {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		e.AddFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		_, err := e.Run(t.Context(), report.Options{Seeds: 2, Folder: t.TempDir()})
		return err
	}
	without := newWith(libraries)
	err := run(without)
	if missing := without.Missing(); !errors.Is(err, cuda.ErrNoDriver) || missing == nil ||
		missing.Error() != err.Error() {
		t.Errorf("errors %v and %v", err, missing)
	}
	if err := run(without, "--networks", "resnet"); err == nil || err.Error() != "--networks resnet" {
		t.Errorf("error %v, want that of the flag", err)
	}
	if err := run(onSoftware(t), "--device", "cuda:7"); err == nil ||
		!strings.HasPrefix(err.Error(), "cuda:7 does not exist; this machine has cuda:0") {
		t.Errorf("error %v", err)
	}
}

// The whole experiment runs, from its flags to its files.
func TestOnTheSoftwareGPU(t *testing.T) {
	e, folder := onSoftware(t, small()...), t.TempDir()
	r, err := e.Run(t.Context(), report.Options{Seeds: 2, Seed: 1, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	checkFolder(t, r, folder, "Not compared", "No PyTorch: there is no Python interpreter",
		"No predictions: no built-in profile is that of this GPU")
	kept, err := os.ReadFile(filepath.Join(folder, "cases.jsonl"))
	if err != nil || strings.Count(string(kept), "\n") != 3 {
		t.Errorf("%s\nerror %v, want a line for each case", kept, err)
	}
	for _, r := range r.Data.([]*result) {
		for _, side := range []string{stepSide, samplesSide, hostSumsSide, productsSide} {
			if s := r.Seconds[side]; len(s) != 2 || !(s[0] > 0) {
				t.Errorf("%s, %s: %v", r, side, s)
			}
		}
		if len(r.Training) != 2 || !(r.Training[0] > 0) {
			t.Errorf("%s: trainings %v", r, r.Training)
		}
		// 429-32-16-8-4-2-1: three products a layer, but 13 of the inputs, the numbers, have no gradient.
		const tower = 2 * 4 * (3*(429*32+32*16+16*8+8*4+4*2+2*1) - 13*32)
		if r.Network.Name == "tower" && r.FLOP != tower {
			t.Errorf("%v operations of the tower, want %v", r.FLOP, tower)
		}
	}
}

// With tables, too: their rows are on the GPU in steps and in trainings.
func TestTablesOnTheSoftwareGPU(t *testing.T) {
	e, folder := onSoftware(t, "--networks", "dlrm", "--batches", "4", "--precisions", "fp32", "--shrink",
		"128", "--window", "1ns", "--tables", "40", "--accelerator", "H200-SXM"), t.TempDir()
	softgpu.Set(t, "TANDEM_SOFTGPU_DEVICES", "3")
	r, err := e.Run(t.Context(), report.Options{Seeds: 2, Seed: 1, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := errors.Join(r.WriteFolder(folder), r.WriteText(&out)); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"table of 40 rows for each slot", "│ DLRM    │     4 │",
		"│ DLRM    │     4 │ fp32 │    2 │", "Predictions are not judged: the software GPU",
		"with the profile H200-SXM"} {
		if !strings.Contains(out.String(), words) || strings.Contains(out.String(), "Not measured") {
			t.Errorf("no %q in\n%s", words, &out)
		}
	}
	one := r.Data.([]*result)[0]
	if s := one.Seconds[tablesSide]; len(s) != 2 || !(s[0] > 0) || len(one.Training) != 2 ||
		one.Seconds[stepSide] != nil {
		t.Errorf("steps %v, trainings %v", one.Seconds, one.Training)
	}
	for _, gpus := range []int{1, 2} {
		p := one.Predicted[gpus]
		if p == nil || !(p.Low > 0 && p.Low <= p.Rate && p.Rate <= p.High) || p.BoundBy == "" {
			t.Errorf("%d GPUs: prediction %+v", gpus, p)
		}
	}
	if len(one.Shared) != 1 || len(one.Shared[2]) != 2 || !(one.Shared[2][0] > 0) {
		t.Errorf("trainings on several GPUs: %v; want two on 2 of 3", one.Shared)
	}
}

// checkFolder writes a report, whose text must fit a terminal, have some words and lack others.
func checkFolder(t *testing.T, r *report.Report, folder, lacks string, has ...string) {
	t.Helper()
	var out strings.Builder
	if err := errors.Join(r.WriteFolder(folder), r.WriteText(&out)); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if columns := utf8.RuneCountInString(line); columns > 80 {
			t.Errorf("a line of %d columns: %s", columns, line)
		}
	}
	for _, words := range has {
		if !strings.Contains(out.String(), words) {
			t.Errorf("no %q in\n%s", words, &out)
		}
	}
	if lacks != "" && strings.Contains(out.String(), lacks) {
		t.Errorf("%q in\n%s", lacks, &out)
	}
	if _, err := os.Stat(filepath.Join(folder, "ratios.svg")); err != nil {
		t.Error(err)
	}
}

// The steps of PyTorch take turns with those of Tandem, and their ratios are in the report.
func TestBesidePyTorch(t *testing.T) {
	peer, folder := startCPU(t), t.TempDir()
	o := report.Options{Seeds: 2, Seed: 1, Folder: folder}
	p, err := planned(t, o, "--networks", "dlrm", "--batches", "8", "--precisions", "bf16", "--shrink", "8",
		"--window", "1ns")
	if err != nil {
		t.Fatal(err)
	}
	device, err := softgpu.Open(t, 1).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	m := &measurement{plan: p, options: o, libraries: softgpu.Libraries(t), device: device, peer: peer,
		machine: machine{GPU: "a software GPU", PyTorch: &peer.About}}
	results, err := m.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := p.report(results)
	r.Settings, r.Data = p, results
	checkFolder(t, r, folder, "Not compared", "eager ≥ 1", "in bf16, output layers are up to", "on cpu")
	one := results[0]
	if s := one.Seconds[eager]; len(s) != 2 || !(s[0] > 0) || !one.Agreed[eager].Within {
		t.Errorf("%v, %v", s, one.Agreed)
	}
}

// startCPU starts PyTorch on the processors, or skips the test.
func startCPU(t *testing.T) *pytorch.Peer {
	t.Helper()
	p, absent, err := pytorch.Start(t.Context(), &report.Python{}, "PyTorch", peerScript, "cpu")
	if p == nil {
		t.Skipf("set TANDEM_PYTHON to a Python interpreter with torch and numpy: %s%v", absent, err)
	}
	t.Cleanup(p.Close)
	return p
}

// firstOnSoftware returns what Tandem's engine computes first in a case, on the software GPU.
func firstOnSoftware(t *testing.T, c *testCase, in *inputs) *first {
	t.Helper()
	m := measurement{plan: &plan{}, libraries: softgpu.Libraries(t)}
	g, err := m.gpus(c.Precision)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReplica(g, in, false)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.firstSteps()
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return f
}

// firstOnPyTorch returns what PyTorch computes first in a case, on the processors.
func firstOnPyTorch(t *testing.T, p *pytorch.Peer, c *testCase, in *inputs) *first {
	t.Helper()
	if err := p.Request(t.Context(), "open", map[string]any{"case": c, "files": in.Files.Paths},
		&struct{}{}); err != nil {
		t.Fatal(err)
	}
	f, err := way{p, eager}.firstSteps(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// PyTorch computes the same losses and gradients, with its own products, on the processors, where tf32 is
// fp32. With other parameters in one layer it does not, nor in fp32 with operands that are rounded to tf32.
func TestSameArithmeticAsPyTorch(t *testing.T) {
	p := startCPU(t)
	softgpu.Open(t, 1)
	for _, n := range networks(4) {
		const samples = 64
		in, err := newInputs(testCase{Network: n, Batch: samples}, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Files.Remove()
		l := in.Engine.Layout()
		other := slices.Clone(in.Initial.Params)
		layer := l.Tensors[0]
		for i := layer.Lo; i < layer.Hi; i++ {
			other[i] = -other[i]
		}
		var exact *first
		for _, precision := range job.DensePrecisions() {
			c := &testCase{Network: n, Batch: samples, Precision: precision}
			ours, theirs := firstOnSoftware(t, c, in), firstOnPyTorch(t, p, c, in)
			if a := compare(ours, theirs, l, precision); !a.Within {
				t.Errorf("%s: %s, want %v", c, a, tolerancesOf(precision))
			}
			wrong := &inputs{&pytorch.Inputs{}, in.part}
			*wrong.Inputs = *in.Inputs
			if wrong.Files, err = pytorch.NewFiles(map[string]any{"params": other,
				"embeddings": in.Embeddings, "numbers": in.Dense, "labels": in.Labels}); err != nil {
				t.Fatal(err)
			}
			if a := compare(ours, firstOnPyTorch(t, p, c, wrong), l, precision); a.Within {
				t.Errorf("%s: other parameters are not found: %s", c, a)
			}
			wrong.Files.Remove()
			switch precision {
			case job.FP32:
				exact = theirs
			case job.BF16:
				if a := compare(theirs, exact, l, job.FP32); a.Within {
					t.Errorf("%s of PyTorch is fp32: %s", c, a)
				}
				fallthrough
			default:
				if a := compare(ours, exact, l, job.FP32); a.Within {
					t.Errorf("%s counts as fp32: %s", c, a)
				}
			}
		}
	}
}

// PyTorch's first losses with tables are those of Tandem, and with other parameters they are not.
func TestSameLossesOfTablesAsPyTorch(t *testing.T) {
	p := startCPU(t)
	softgpu.Open(t, 1)
	c := testCase{Network: networks(16)[1], Batch: 16, Precision: job.FP32, Tables: 40}
	in, err := newTableInputs(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Files.Remove()
	m := measurement{plan: &plan{Rounds: 1}, libraries: softgpu.Libraries(t), peer: p,
		meter: &report.Meter{}}
	for _, same := range []bool{true, false} {
		if !same {
			if err := in.Files.Write("params", make([]float32, len(in.Initial.Params))); err != nil {
				t.Fatal(err)
			}
		}
		r := &result{testCase: c, Agreed: map[string]agreement{}, Failed: map[string]string{},
			Seconds: map[string][]float64{}}
		if err := m.tableSteps(t.Context(), r, in); err != nil || r.Agreed[eager].Within != same {
			t.Errorf("same parameters %v: %s, %q, error %v", same, r.Agreed[eager], r.Failed, err)
		}
	}
}

// What PyTorch computes otherwise, or fails to compute, is not measured, and the report says why.
func TestWhatIsNotCompared(t *testing.T) {
	p := startCPU(t)
	softgpu.Open(t, 1)
	n := networks(64)[1]
	in, err := newInputs(testCase{Network: n, Batch: 8}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Files.Remove()
	m := measurement{plan: &plan{}, peer: p, meter: &report.Meter{}, in: in}
	ours := firstOnSoftware(t, &testCase{Network: n, Batch: 8, Precision: job.FP32}, in)
	params := make([]float32, len(in.Initial.Params))
	for _, c := range []struct {
		want   string
		change func() error
	}{
		{"the first loss and the output layer differ by ", func() error {
			return in.Files.Write("params", params)
		}},
		{"ValueError: a loss or a gradient is not finite", func() error {
			params[len(params)-1] = float32(math.NaN())
			return in.Files.Write("params", params)
		}},
		{"FileNotFoundError: ", func() error { return os.Remove(in.Files.Paths["params"]) }},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		r := &result{testCase: testCase{Network: n, Batch: 8, Precision: job.FP32},
			Agreed: map[string]agreement{}, Failed: map[string]string{}}
		turns, err := m.ways(t.Context(), r, ours)
		if err != nil || len(turns) > 0 || m.peer == nil {
			t.Errorf("%d turns, peer %v, error %v", len(turns), m.peer, err)
		}
		want := "Not compared: DLRM, batch 8, fp32, PyTorch eager: " + c.want
		findings := (&plan{Shrink: 64}).findings([]*result{r})
		if len(findings) != 2 || !strings.HasPrefix(findings[1], want) {
			t.Errorf("findings %q, want %q", findings, want)
		}
	}
	p.Close()
	r := &result{testCase: testCase{Network: n, Batch: 8, Precision: job.FP32},
		Failed: map[string]string{}}
	turns, err := m.ways(t.Context(), r, ours)
	if err != nil || len(turns) > 0 || m.peer != nil || !strings.Contains(r.Failed[eager], "process ended") {
		t.Errorf("after PyTorch's end: %d turns, error %v, failed %q", len(turns), err, r.Failed)
	}
}

// Goals are judged by quartiles: all above, all below, or neither.
func TestGoals(t *testing.T) {
	of := func(theirs ...float64) *result {
		c := testCase{Network: networks(1)[0], Batch: 512, Precision: job.BF16}
		return &result{testCase: c, Seconds: map[string][]float64{
			stepSide: {1, 1, 1}, compiled: theirs, compiledGraphs: {9, 9, 9}, productsSide: {1, 1, 1}}}
	}
	p := &plan{Shrink: 1}
	for theirs, want := range map[[3]float64]string{
		{0.95, 0.9, 1}:   "2 of 2 goals are reached, by the lower quartile.",
		{0.7, 0.8, 0.85}: "Missed: tower, batch 512, bf16: 0.800 (0.750–0.825) × compiled, goal 0.9.",
		{0.7, 0.8, 1.1}:  "Undecided: tower, batch 512, bf16: 0.800 (0.750–0.950) × compiled, goal 0.9.",
	} {
		findings := p.findings([]*result{of(theirs[:]...)})
		if got := findings[len(findings)-1]; got != want {
			t.Errorf("%v: %q, want %q", theirs, got, want)
		}
	}
	graphs := &result{Seconds: map[string][]float64{compiled: {3, 3}, compiledGraphs: {2, 1}}}
	if _, name := graphs.fastestCompiled(); name != compiledGraphs {
		t.Errorf("the faster way is %s", name)
	}
}

// A product that a step has more than once is measured once and counts as often.
func TestProductsCountAsOften(t *testing.T) {
	device, err := softgpu.Open(t, 1).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	seconds := func(times int) float64 {
		one := engine.Multiplication{Product: cuda.Product{Rows: 8, Columns: 8, Inner: 8, StrideA: 9}}
		p, err := newProducts(device, slices.Repeat([]engine.Multiplication{one}, times), time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		took, err := p.Run(t.Context(), 2)
		if want := unit.FLOPs(times * 2 * 8 * 8 * 8); err != nil || len(p.list) != 1 || p.flops != want {
			t.Errorf("%d products, %v operations, want %v, error %v", len(p.list), p.flops, want, err)
		}
		return took.Seconds()
	}
	if one, many := seconds(1), seconds(1000); !(many > 50*one) {
		t.Errorf("1000 equal products take %v s, one %v s", many, one)
	}
}

// The tables of a full run fit 80 columns.
func TestTablesFit(t *testing.T) {
	p := &plan{Rounds: 5, Shrink: 1}
	var results []*result
	for i, seconds := range [][]float64{{0.00123, 0.00124, 0.00125}, {0.312, 0.313, 0.315}} {
		r := &result{testCase: testCase{Network: networks(1)[2], Batch: 32_768, Precision: job.BF16},
			Machine: machine{GPU: "cuda:0 (NVIDIA H100 80GB HBM3, 79.1GiB)", PyTorch: &pytorch.About{}},
			Seconds: map[string][]float64{}, Training: []float64{123_456, 123_567, 124_000},
			Predicted: map[int]*prediction{1: {Rate: 1.2e6, Low: 1.1e5, High: 1.3e6}}}
		for _, side := range []string{stepSide, samplesSide, hostSumsSide, productsSide, eager, compiled} {
			r.Seconds[side] = seconds
		}
		r.Seconds[productsSide] = []float64{seconds[0] / float64(7*i+1), seconds[1] / 3, seconds[2]}
		results = append(results, r)
	}
	checkFolder(t, p.report(results), t.TempDir(), "", "1.00 1.00–1.00")
}

// What is not hidden is the part of a step that the step without copies does not have.
func TestNotHidden(t *testing.T) {
	r := &result{Seconds: map[string][]float64{stepSide: {1, 1}, samplesSide: {4, 4}}}
	if got := r.notHidden(samplesSide); got != 0.75 {
		t.Errorf("not hidden %v", got)
	}
}

// Gradients differ by at most 2, even from zeros, so that the report can be written as JSON.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b []float32
		want float64
	}{
		{[]float32{0, 0}, []float32{0, 0}, 0}, {[]float32{0, 0}, []float32{1, 0}, 1},
		{[]float32{3, 4}, []float32{3, 3}, 0.2}, {[]float32{1, 0}, []float32{-1, 0}, 2},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%v and %v are %v apart, want %v", c.a, c.b, got, c.want)
		}
	}
}

// A difference in any of the compared values is found, and one that is not a number.
func TestCompareFindsDifferences(t *testing.T) {
	in, err := newInputs(testCase{Network: networks(128)[0], Batch: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Files.Remove()
	l := in.Engine.Layout()
	values := func() *first {
		f := &first{losses: []float64{1, 1, 1}, gradients: slices.Repeat([]float32{1}, l.Params),
			pooled: slices.Repeat([]float32{1}, len(in.Embeddings))}
		return f
	}
	tensor := l.Tensors[1]
	for name, change := range map[string]func(f *first, by float64){
		"the first loss": func(f *first, by float64) { f.losses[0] += by },
		"the last loss":  func(f *first, by float64) { f.losses[2] += by },
		"a bias":         func(f *first, by float64) { f.gradients[tensor.Lo] += float32(100 * by) },
		"the embeddings": func(f *first, by float64) { f.pooled[0] += float32(100 * by) },
	} {
		for _, by := range []float64{0, 0.5, math.NaN()} {
			theirs := values()
			change(theirs, by)
			if a := compare(values(), theirs, l, job.BF16); a.Within != (by == 0) {
				t.Errorf("%s differs by %v: %s", name, by, a)
			}
		}
	}
}

// A prediction holds if the measured rate is in its interval, and is good if it is within 15 %; one that
// could not be made is named. On the software GPU, none is judged.
func TestPredictionsAreJudgedByTheirIntervals(t *testing.T) {
	r := &result{testCase: testCase{Network: networks(1)[1], Batch: 32_768, Precision: job.BF16, Tables: 1},
		Machine:  machine{GPU: "cuda:0 (NVIDIA H200, 139.8GiB)"},
		Training: []float64{900e3, 1000e3, 1100e3},
		Shared:   map[int][]float64{2: {1500e3}, 4: {1e6}, 8: {1e6}, 16: {2e6}},
		Predicted: map[int]*prediction{1: {Rate: 860e3, Low: 800e3, High: 1200e3},
			2: {Rate: 1000e3, Low: 900e3, High: 1500e3},
			4: {Rate: 1100e3, Low: 1050e3, High: 1200e3, BoundBy: "EW cores"}, 8: {Error: "too large"},
			16: {Rate: 1000e3, Low: 900e3, High: 1999e3, BoundBy: "accelerator"}}}
	p := &plan{Rounds: 3, Tables: 1}
	got := p.report([]*result{r})
	want := []string{"2 of 4 trainings are in the interval of their prediction, and 1 within 15 % of it.",
		"Not predicted: DLRM, batch 32768, bf16, tables of 1 rows on 4 GPUs: 1000 k samples/s, predicted " +
			"1100 (1050 to 1200), bound by EW cores.",
		"Not predicted: DLRM, batch 32768, bf16, tables of 1 rows on 16 GPUs: 2000 k samples/s, predicted " +
			"1000 (900 to 1999), bound by accelerator.",
		"Not predicted: DLRM, batch 32768, bf16, tables of 1 rows on 8 GPUs: too large."}
	if !slices.Equal(got.Findings, want) {
		t.Errorf("findings %q, want %q", got.Findings, want)
	}
	table := got.Tables[len(got.Tables)-1]
	if row := strings.Join(table.Rows[1], " "); len(table.Rows) != 4 ||
		row != "DLRM 32,768 bf16 2 1500 1000 900–1500 1.50 yes" {
		t.Errorf("%d rows, %s", len(table.Rows), row)
	}
	r.Machine.GPU = "cuda:0 (Tandem software GPU, 1GiB)"
	if got := p.report([]*result{r}); !strings.HasPrefix(got.Findings[0], "Predictions are not judged") ||
		got.Tables[len(got.Tables)-1].Rows[0][8] != "–" {
		t.Errorf("on software: %q", got.Findings)
	}
}
