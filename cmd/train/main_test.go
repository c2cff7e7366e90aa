package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/runtime/cuda"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/internal/cli/clitest"
	"tandem/internal/moduletest"
	"tandem/runtime/blas"
	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/train"
)

func TestMain(m *testing.M) {
	moduletest.Main()
	testscript.Main(m, map[string]func(){"train": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }})
}

// The scripts in testdata run the command as a user would; those in testdata/gpu on a GPU in software.
func TestScripts(t *testing.T) {
	nodes := clitest.Programs(t, "node", "sim", "data", "model") // scripts run them beside train
	t.Run("cpu", func(t *testing.T) { runScripts(t, "testdata", nodes, nil) })
	t.Run("gpu", func(t *testing.T) {
		cache, err := os.UserCacheDir() // kernels are compiled once for all programs and tests
		if err != nil {
			cache = t.TempDir()
		}
		runScripts(t, filepath.Join("testdata", "gpu"), nodes, []string{
			"LD_LIBRARY_PATH=" + softgpu.Folder(t), "TANDEM_SOFTGPU_DEVICES=2", "XDG_CACHE_HOME=" + cache})
	})
}

// runScripts runs the scripts of a folder with further variables of the environment.
func runScripts(t *testing.T, folder, nodes string, environment []string) {
	testscript.Run(t, testscript.Params{
		Dir: folder,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TANDEM_DATA", e.WorkDir)
			e.Setenv(blas.Variable, os.Getenv(blas.Variable))
			e.Setenv("TANDEM_PYTHON", os.Getenv("TANDEM_PYTHON"))
			e.Setenv("STUB", moduletest.Variables(t)["TANDEM_PYTHON"])
			e.Setenv("PATH", nodes+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Vars = append(e.Vars, environment...)
			return nil
		},
		Condition: hasTorch,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": clitest.Status,
			"truncate": truncate, "json": checkJSON},
	})
}

// hasTorch is the condition torch of scripts: there is a Python that has it.
func hasTorch(condition string) (bool, error) {
	if condition != "torch" {
		return false, fmt.Errorf("there is no condition %s", condition)
	}
	python := exec.Command(cmp.Or(os.Getenv("TANDEM_PYTHON"), "python3"), "-c", "import torch")
	python.Env = []string{"HOME=/no-home", "PATH=" + os.Getenv("PATH")} // what scripts have
	return runtime.GOOS == "linux" && python.Run() == nil, nil
}

// truncate cuts a file to its first bytes: truncate file count.
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// checkJSON demands that standard output is one JSON object with the promised
// fields: json mode…
func checkJSON(ts *testscript.TestScript, _ bool, modes []string) {
	var got struct {
		Data   *string
		Model  *string
		Engine *string
		Rate   *float64 `json:"engine_gflops"`
		Seed   *int
		Wall   *float64 `json:"wall_s"`

		Constant  *float64 `json:"constant_log_loss"`
		Rows      *int     `json:"test_rows"`
		Positives *int     `json:"test_positives"`
		Runs      []struct {
			Mode      string
			AUC       *float64
			LogLoss   *float64 `json:"log_loss"`
			Error     *float64 `json:"auc_standard_error"`
			Samples   *int
			Speed     *float64 `json:"samples_per_s"`
			Steps     *int
			Staleness *struct{ Mean, P99, Max *float64 }
			Cross     *struct{ Mean, P99, Max *float64 } `json:"staleness_cross"`
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &got))
	if got.Data == nil || got.Model == nil || got.Engine == nil || got.Rate == nil || *got.Rate <= 0 ||
		got.Constant == nil || *got.Constant <= 0 || got.Rows == nil || got.Positives == nil ||
		*got.Positives < 1 || *got.Positives >= *got.Rows || got.Seed == nil || got.Wall == nil ||
		len(got.Runs) != len(modes) {
		ts.Fatalf("a field is missing")
	}
	for i, r := range got.Runs {
		if r.Mode != modes[i] || r.AUC == nil || r.Error == nil || r.LogLoss == nil ||
			r.Samples == nil || r.Speed == nil ||
			r.Steps == nil ||
			r.Staleness == nil || r.Staleness.Mean == nil || r.Staleness.P99 == nil ||
			r.Staleness.Max == nil ||
			r.Cross == nil || r.Cross.Mean == nil || r.Cross.P99 == nil || r.Cross.Max == nil {
			ts.Fatalf("run %d lacks a field, or is not %s", i, modes[i])
		}
	}
}

// The job files beside this program train on real data, where it is.
func TestJobFilesTrain(t *testing.T) {
	dataDir := os.Getenv("TANDEM_DATA")
	if dataDir == "" || testing.Short() {
		t.Skip("needs TANDEM_DATA, and trains")
	}
	for file, want := range map[string]struct{ rows, testRows int }{
		"criteo.yaml": {8000, 2000}, "frappe.yaml": {57722, 28860},
	} {
		j, err := job.Load(filepath.Join("jobs", file))
		if err != nil {
			t.Fatal(err)
		}
		data, err := datasets.Open(j.Data, dataDir)
		if err != nil {
			t.Fatal(err)
		}
		if data.Train.Samples != want.rows || data.Test.Samples != want.testRows {
			t.Errorf("%s: %d and %d rows, want %+v", file, data.Train.Samples, data.Test.Samples, want)
		}
		source, err := datasets.TrainingSource(data, &j)
		if err != nil {
			t.Fatal(err)
		}
		result, err := train.Run(t.Context(), j, source, data.Test, train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// Neither is a claim about quality: a model that learned nothing has 0.5.
		if t.Logf("%s: AUC %.4f", file, result.AUC); result.AUC < 0.6 {
			t.Errorf("%s: AUC %.4f", file, result.AUC)
		}
	}
}

// The job file that jobs/README.md explains is one that can be read.
func TestExplainedJobFileIsValid(t *testing.T) {
	page, err := os.ReadFile("jobs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("jobs/README.md shows no job file")
	}
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, "jobs/generated.yaml", "jobs/conversions.yaml",
		"jobs/criteo-shaped.yaml"} {
		if _, err := job.Load(name); err != nil {
			t.Error(err)
		}
	}
}

// The job file of the main README tests on the rows that --data tests on.
func TestReadmeJobSplitsAsData(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	j, err := job.Parse([]byte(text), "README.md")
	if err != nil {
		t.Fatal(err)
	}
	var byFlags table
	byFlags.register(pflag.NewFlagSet("", pflag.ContinueOnError))
	split, err := infer.ParseSplit(byFlags.split)
	if err != nil {
		t.Fatal(err)
	}
	got := j.Data.Split
	if got.How != split.How || got.TestShare() != split.TestShare() || got.Seed != split.Seed {
		t.Errorf("README.md splits by %+v, --data by %+v", got, split)
	}
}

// An interrupted run says so, and leaves nothing behind.
func TestInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	parent := t.TempDir()
	p := &program{stdout: io.Discard, stderr: io.Discard, now: time.Now}
	command := p.command()
	command.SetArgs([]string{"--out", filepath.Join(parent, "out")})
	if err := command.ExecuteContext(ctx); err == nil || err.Error() != "interrupted; nothing was written" {
		t.Error(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Every mode reaches the AUC that Persia's own example asserts (0.8928, on one
// worker; PERSIA, examples/src/adult-income), with 4 ranks and its staleness.
func TestEveryModeReachesPersiasAUC(t *testing.T) {
	if testing.Short() {
		t.Skip("trains once in every mode")
	}
	j := job.AdultIncome()
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	aucs := map[string]float64{}
	for _, training := range inModes(j, job.Modes()) {
		source, err := datasets.TrainingSource(data, &training)
		if err != nil {
			t.Fatal(err)
		}
		result, err := train.Run(t.Context(), training, source, data.Test, train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: AUC %.4f", training.Training.Mode, result.AUC)
		if result.AUC < 0.8928 {
			t.Errorf("%s: AUC %.4f, want at least 0.8928", training.Training.Mode, result.AUC)
		}
		aucs[training.Training.Mode] = result.AUC
	}
	if aucs[job.Sync] != aucs[job.Sequential] {
		t.Error("sync is not sequential")
	}
}

// Hybrid trains about as well on three ranks, which its eight groups cannot be dealt to evenly.
func TestHybridOnThreeRanks(t *testing.T) {
	j := job.AdultIncome()
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	j.Roles.Ranks = 3
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		t.Fatal(err)
	}
	result, err := train.Run(t.Context(), j, source, data.Test, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("AUC %.4f", result.AUC)
	if result.AUC < 0.885 {
		t.Errorf("AUC %.4f, want at least 0.885", result.AUC)
	}
}

// A machine without a GPU is one clear line that says how to train all the same.
func TestWithoutGPU(t *testing.T) {
	if _, err := cuda.Open(cuda.Libraries{}); !errors.Is(err, cuda.ErrNoDriver) {
		t.Skipf("this machine has a GPU, or cannot look for one: %v", err)
	}
	var stderr strings.Builder
	out := filepath.Join(t.TempDir(), "out")
	code := run([]string{"--device", "cuda", "--out", out}, io.Discard, &stderr)
	const hint = "\ntrain: hint: use the processors, --device cpu, or see docs/gpu.md\n"
	if code != 1 || !strings.HasSuffix(stderr.String(), hint) {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

// A table whose label follows from two columns together gets a slot of both, as the report says. The job that
// it made trains the same again; without derived slots, or without the regression that judges them, none is
// there.
func TestSlotsAreDerivedFromATable(t *testing.T) {
	var text strings.Builder
	text.WriteString("click,a,b\n")
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 { // each pair has its own label, but for noise
		a, b := r.IntN(30), r.IntN(20)
		fmt.Fprintf(&text, "%d,a%d,b%d\n", (a*a+b*b+a*b*7)%11%2^r.IntN(9)/8, a, b)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("table.csv", []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	trained := func(out string, args ...string) (printed, made string) {
		t.Helper()
		var stdout, stderr strings.Builder
		args = append(args, "--mode", "sequential", "--without", "prediction", "--out", out)
		if code := run(args, &stdout, &stderr); code != 0 {
			t.Fatalf("%v: exit code %d, %s", args, code, stderr.String())
		}
		file, err := os.ReadFile(filepath.Join(out, "job.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return stdout.String(), string(file)
	}
	printed, made := trained("first", "--data", "table.csv")
	without := regexp.MustCompile(`│ deepfm +│ without +│ no +│ +\d+ │ +\d+ │ +0\.\d{4} │`)
	if !strings.Contains(printed, "Derived slots: a × b.") || !without.MatchString(printed) ||
		!strings.Contains(made, "name: a × b") {
		t.Errorf("%s\n%s", printed, made)
	}
	if _, again := trained("second", "--file", "first/job.yaml"); again != made {
		t.Errorf("another job:\n%s\nwant\n%s", again, made)
	}
	for _, part := range []string{"derived", "baseline"} {
		printed, made := trained(part, "--data", "table.csv", "--without", part)
		if strings.Contains(printed+made, "a × b") {
			t.Errorf("--without %s:\n%s\n%s", part, printed, made)
		}
	}
}
