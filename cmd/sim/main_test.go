package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/runtime/blas"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/probe"
	"tandem/sim/cost"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"sim": main}) }

// The scripts in testdata run the command as a user would; those in testdata/gpu on a GPU in software.
func TestScripts(t *testing.T) {
	t.Run("cpu", func(t *testing.T) { runScripts(t, "testdata", nil) })
	t.Run("gpu", func(t *testing.T) {
		runScripts(t, filepath.Join("testdata", "gpu"), []string{
			"LD_LIBRARY_PATH=" + softgpu.Folder(t), "TANDEM_SOFTGPU_DEVICES=2",
			"XDG_CACHE_HOME=" + t.TempDir()}) // kernels are compiled once
	})
}

// runScripts runs the scripts of a folder with further variables of the environment.
func runScripts(t *testing.T, folder string, environment []string) {
	testscript.Run(t, testscript.Params{
		Dir: folder,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TANDEM_DATA", e.WorkDir)
			e.Setenv(blas.Variable, os.Getenv(blas.Variable))
			e.Vars = append(e.Vars, environment...)
			table, err := os.ReadFile("../../datasets/parquet/testdata/snappy.parquet")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(e.WorkDir, "table.parquet"), table, 0o644)
		},
		Condition: func(name string) (bool, error) {
			if name != "gpu" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, err := cuda.Open(cuda.Libraries{})
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"recorded": recorded,
			"truncate": truncate, "change": change},
	})
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		args string
		code int
		want string // on stderr
	}{
		{"--modes hybird", 2, `--modes: "hybird" is unknown; the nearest is "hybrid"`},
		{"--cluster persai", 2, `the nearest is "persia"`},
		{"--preset dgx-h10", 2, `--preset: "dgx-h10" is unknown; the nearest is "dgx-h100"`},
		{"run --model criteo-syn-100", 2, `--model: "criteo-syn-100" is unknown; the nearest is ` +
			`"criteo-syn-100t"`},
		{"run --system tandm", 2, `--system: "tandm" is unknown; the nearest is "tandem"`},
		{"run --precision fp8", 2, `--precision: "fp8" is unknown`},
		{"run --row-precision int8", 2, `--row-precision: "int8" is unknown`},
		{"run --mode sequential", 2, "--mode: sequential training has no roles to simulate"},
		{"run --gpus 0", 2, "--gpus: 0; want 1 to"},
		{"run --global-batch 0", 2, "--global-batch: 0; want at least 1"},
		{"run --global-batch 4 --gpus 8", 2, "a global batch of 4 samples on 8 GPUs; want at least one each"},
		{"run --global-batch 64 --batch-per-gpu 8", 2, "want one of the two"},
		{"run --samples 0", 2, "--samples: 0; want at least 1"},
		{"run --seeds 0", 2, "--seeds: 0; want at least 1"},
		{"run --steps 0", 2, "--steps: 0; want 1 to 100000"},
		{"run --set network.latncy=3us", 2,
			`--set: unknown parameter "network.latncy"; the nearest is "network.latency"`},
		{"run --set training.staleness=3", 2, `--set: unknown parameter "training.staleness"`},
		{"--file ../train/jobs/frappe.yaml --set nothing=3", 2, `--set: unknown parameter "nothing"`},
		{"run --set network.latency=3parsec", 2, "--set: network.latency: bad value: "},
		{"run --set network.latency=-3us", 2, "--set: network.latency: bad value: "},
		{"run --set network.share=3", 2, "--set: bad value: network.share: high = 3; want at most 1"},
		{"run --set embedding-ps.count=0", 2, "--set: embedding-ps.count: bad value: 0; want more than 0"},
		{"run --set embedding-ps.count=40000000", 2, "bad value: 40000000; want at most 1048576"},
		{"run --set embedding-ps.network=1e30Gbps", 2, "bad value: 1e30Gbps; want at most 8000Tbps"},
		{"run --set network.latency=3us --set network.latency=4us", 2,
			"--set: network.latency is both 3us and 4us"},
		{"run --network 1e30Gbps", 2, `--network: "1e30Gbps"; want a rate above 0 and at most 8000Tbps`},
		{"run --set network.latency", 2, `--set: "network.latency": want NAME=VALUE`},
		{"run --preset dgx-h100 --system tandem", 2, "cluster dgx-h100 has no hosts for embedding workers"},
		{"run --preset dgx-h100 --mode hybrid", 2, `mode "hybrid" with system hugectr`},
		{"run --accelerator MI300X --inside nvlink3", 2,
			"nvlink3 needs accelerators with nvlink; MI300X has"},
		{"run --preset persia-gcp --row-precision fp32", 1,
			"take 550TB, the 30 PS hosts have 353.3TB: does not fit"},
		{"run --preset persia-gcp --set embedding-ps.count=10 --set embedding-ps.memory=12TB", 1,
			"the 10 PS hosts have 120TB: does not fit"},
		{"run --cluster gcp --preset persia-paper", 2, "--cluster and --preset: want one of the two"},
		{"--accelerator V100", 2, `the nearest is "V100-SXM2-32GB"`},
		{"--gpus 0", 2, "--gpus: 0; want 1 to"},
		{"--gpus 1,2,x", 2, `invalid argument "1,2,x" for "--gpus" flag: "x" is not a whole number; ` +
			`separate numbers by commas, as 1,8,64`},
		{"--gpus 20000 --modes hybrid", 2, "20000 GPUs; want 1 to 16384"},
		{"train --gpus 24 --modes hybrid,sync", 2,
			"--modes sync: ranks = 24 do not divide groups = 32: sync promises"},
		{"--network 25", 2, "a rate has a unit"},
		{"--network -1Gbps", 2, "--network"},
		{"--batch-per-gpu 0", 2, "--batch-per-gpu"},
		{"--staleness -1", 2, "--staleness"},
		{"--gpus 8 --modes hybrid --staleness 60000", 2, "--staleness: 60000; want at most 1000"},
		{"--staleness 20 --prefetch 4", 2,
			"staleness = 20 needs 21 batches in flight, and prefetch = 4 allows 4"},
		{"--modes sync --mode-set every", 2, `--mode-set: "every": want NAME=VALUE with a whole number, as ` +
			`every=16`},
		{"--modes sync,hybrid --mode-set slack=3", 2,
			"--mode-set: slack is a setting of ssp, not of sync or hybrid"},
		{"--modes ssp --mode-set slak=3", 2, `--mode-set: "slak" is unknown; the nearest is "slack"`},
		{"--modes ssp --mode-set slack=-1", 2, "--mode-set: slack = -1; want 0 to 1000000 in mode ssp"},
		{"--modes sync,sync", 2, `--modes: "sync" is named twice`},
		{"--inside nvlink33", 2, `--inside: "nvlink33" is unknown; the nearest is "nvlink3"`},
		{"--cluster this-machine --inside nvlink3", 2, "neither network nor accelerator"},
		{"--jitter 5", 2, "--jitter"},
		{"--cluster this-machine --network 25Gbps", 2, "neither network nor accelerator"},
		{"--faults loss=0.1", 2,
			`--faults: unknown fault "loss"; use drop, duplicate, reorder, delay, crash or seed`},
		{"--mode ssp --faults crash=nn-worker/0@3", 2,
			"--faults: ssp: crashes[0].role = nn-worker: no other rank has its parameters"},
		{"--faults crash=coordinator/0@3", 2,
			"--faults: sync: crashes[0].role = coordinator: the mode has no such role"},
		{"--faults crash=embedding-worker/40@3", 2, "--faults: sync: crashes[0].index = 40; the job has "},
		{"--faults crash=data-loader/0@1001", 2, "crashes[0].step = 1001; want at most 1000"},
		{"--retry 2m", 2, "--retry: wire.retry = 2min; want 0 to 1min"},
		{"--modes async-ps --gpus 8 --faults drop=0.01 --retry 5ms", 1,
			"roles ask again every 5ms; set a longer retry"},
		{"--nonsense", 2, "unknown flag"},
		{"now", 2, `unknown command "now"`},
		{"--file /nonexistent/job.yaml", 1, "no such file"},
		{"--batch-per-gpu 100000000 --gpus 1", 1, "does not fit"},
	}
	for _, test := range tests {
		var stdout, stderr bytes.Buffer
		code := run(strings.Fields(test.args), &stdout, &stderr)
		if code != test.code || !strings.Contains(stderr.String(), test.want) || stdout.Len() > 0 {
			t.Errorf("sim %s: exit %d, want %d; stdout %q, stderr %q", test.args, code, test.code,
				stdout.String(), stderr.String())
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		lines = slices.DeleteFunc(lines, func(line string) bool { // notes
			return !strings.HasPrefix(line, "sim: error: ") && !strings.HasPrefix(line, "sim: hint: ")
		})
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "sim: error: ") ||
			!strings.HasPrefix(lines[1], "sim: hint: ") {
			t.Errorf("sim %s: stderr %q", test.args, stderr.String())
		}
	}
}

// predictJSON runs the command and reads its JSON.
func predictJSON(t *testing.T, args string) document {
	t.Helper()
	return predictOn(t, slow, args)
}

// predictOn is predictJSON on a machine.
func predictOn(t *testing.T, machine func() (probe.Result, error), args string) document {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &program{stdout: &stdout, stderr: &stderr, dataDir: os.Getenv("TANDEM_DATA"), probe: machine}
	c := p.command()
	c.SetArgs(append(strings.Fields(args), "--json", "--samples", "2"))
	if code := cli.PrintError(&stderr, "sim", c.Execute()); code != 0 {
		t.Fatalf("sim %s: exit %d: %s", args, code, stderr.String())
	}
	var d document
	decoder := json.NewDecoder(&stdout)
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

// --staleness is what runs, independent of the default of prefetch; sync reads one batch ahead.
func TestDepthIsWhatRuns(t *testing.T) {
	d := predictJSON(t, "--gpus 2 --modes sync,hybrid --staleness 20")
	if d.Runs[0].Depth != 2 || d.Runs[1].Depth != 21 {
		t.Errorf("depth %d and %d; want 2 and 21", d.Runs[0].Depth, d.Runs[1].Depth)
	}
}

// Every mode gets its own of the mode settings, and the report and its command show them.
func TestModeSettingsAreWhatRuns(t *testing.T) {
	const line = "--gpus 2 --modes sync,ssp,async-average --mode-set every=5,slack=0"
	d := predictJSON(t, line)
	for i, want := range []string{"map[]", "map[slack:0]", "map[every:5]"} {
		if got := fmt.Sprint(d.Runs[i].ModeSettings); got != want {
			t.Errorf("%s: settings %s, want %s", d.Runs[i].Mode, got, want)
		}
	}
	if !strings.Contains(d.Command, "--mode-set every=5,slack=0") {
		t.Errorf("command: %s", d.Command)
	}
	d = predictJSON(t, "--gpus 2 --modes ssp")
	if got := fmt.Sprint(d.Runs[0].ModeSettings); got != "map[slack:3]" {
		t.Errorf("by default %s", got)
	}
	var stdout, stderr bytes.Buffer
	run(strings.Fields("--gpus 2 --modes ssp"), &stdout, &stderr)
	if !strings.Contains(stdout.String(), "\nMode settings: ssp: slack = 3.\n") {
		t.Errorf("%s%s", stdout.String(), stderr.String())
	}
}

// The JSON keys of staleness are in lower case.
func TestStalenessKeys(t *testing.T) {
	text, err := json.Marshal(pace.Staleness{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"own":`, `"cross":`, `"inflight":`} {
		if !strings.Contains(string(text), key) {
			t.Errorf("no %s in %s", key, text)
		}
	}
}

func TestProgressOnATerminal(t *testing.T) {
	for _, x := range []struct{ args, want string }{
		{"--gpus 1 --modes hybrid", "hybrid on 1"}, {"run --gpus 2 --samples 1", "steps of the first sample"},
		{"run --gpus 1 --samples 2", "sensitivities"},
	} {
		for _, terminal := range []bool{false, true} {
			var stdout, stderr bytes.Buffer
			p := &program{stdout: &stdout, stderr: &stderr, terminal: terminal}
			c := p.command()
			c.SetArgs(strings.Fields(x.args))
			if err := c.Execute(); err != nil {
				t.Fatal(err)
			}
			if shown := strings.Contains(stderr.String(), x.want); shown != terminal {
				t.Errorf("%s: terminal %v: stderr %q", x.args, terminal, stderr.String())
			}
		}
	}
}

func TestThisMachineInWords(t *testing.T) {
	var stdout, stderr bytes.Buffer
	p := &program{stdout: &stdout, stderr: &stderr, probe: slow}
	c := p.command()
	c.SetArgs([]string{"--cluster", "this-machine", "--gpus", "1,2", "--modes", "hybrid"})
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mode           ranks samples/s", "relative to that on 1 rank.",
		"criteo on this machine", "machine cores"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
}

// slow is the probe of a slow machine with one core.
func slow() (probe.Result, error) {
	return probe.Result{Cores: 1, Multiply: 50e9, Copy: 5e9, Lookup: 100, Update: 200, Message: 500,
		Create: 300, Date: "2026-01-01"}, nil
}

func TestJSON(t *testing.T) {
	d := predictJSON(t, "--gpus 1,4 --modes sync,hybrid")
	if len(d.Runs) != 4 || len(d.Assumptions) == 0 || len(d.Sensitivities) == 0 || len(d.Published) != 2 {
		t.Fatalf("%d runs, %d assumptions, %d sensitivities, %d published", len(d.Runs), len(d.Assumptions),
			len(d.Sensitivities), len(d.Published))
	}
	for _, r := range d.Runs {
		if !(0 < r.Low && r.Low <= r.Throughput && r.Throughput <= r.High) || len(r.Bottlenecks) == 0 ||
			len(r.Stations) < 3 {
			t.Errorf("%+v", r)
		}
	}
	// Weak scaling: throughput a GPU, against that of one GPU.
	if r := d.Runs[1]; r.ScalingEfficiency != r.Throughput/4/d.Runs[0].Throughput {
		t.Errorf("efficiency %v", r.ScalingEfficiency)
	}
}

// The same job, a slower network: never faster.
func TestNetworkOverride(t *testing.T) {
	fast, slow := predictJSON(t, "--gpus 16 --modes hybrid"),
		predictJSON(t, "--gpus 16 --modes hybrid --network 10Gbps")
	if slow.Runs[0].Throughput >= fast.Runs[0].Throughput {
		t.Errorf("10 Gbps %.0f, 100 Gbps %.0f samples/s", slow.Runs[0].Throughput, fast.Runs[0].Throughput)
	}
	if len(slow.Published) != 0 {
		t.Error("Persia's figures stand beside another cluster's")
	}
}

func TestThisMachineIsMeasured(t *testing.T) {
	d := predictJSON(t, "--cluster this-machine --modes hybrid")
	if len(d.Runs) != 3 {
		t.Fatalf("%d runs", len(d.Runs))
	}
	measured, all := 0, 0
	for _, a := range d.Assumptions {
		if strings.HasPrefix(a.Name, "model.") {
			continue
		}
		all++
		if a.Kind == "measured" {
			measured++
		}
	}
	if measured < all-5 { // one time of an id for both its users, and three counts of 1
		t.Errorf("%d of %d quantities are measured", measured, all)
	}
}

// Faults cost throughput, are counted, and are as reproducible as everything else.
func TestFaultsAreReported(t *testing.T) {
	const args = "--gpus 2 --modes hybrid"
	clean, a, b := predictJSON(t, args), predictJSON(t, args+" --faults drop=0.05,seed=3"),
		predictJSON(t, args+" --faults drop=0.05,seed=3")
	if c := clean.Runs[0].Faults; c != nil {
		t.Errorf("%v without faults", c)
	}
	if a.Runs[0].Throughput >= clean.Runs[0].Throughput || a.Runs[0].Faults.Dropped == 0 ||
		len(a.Published) > 0 {
		t.Errorf("%.0f samples/s with faults %v, %.0f without", a.Runs[0].Throughput, a.Runs[0].Faults,
			clean.Runs[0].Throughput)
	}
	if *a.Runs[0].Faults != *b.Runs[0].Faults || a.Runs[0].Throughput != b.Runs[0].Throughput {
		t.Errorf("%v and %v", a.Runs[0].Faults, b.Runs[0].Faults)
	}
}

func TestJitterIsReproducible(t *testing.T) {
	const args = "--gpus 8 --modes hybrid --jitter 0.3 --seed "
	a, b, c := predictJSON(t, args+"1"), predictJSON(t, args+"1"), predictJSON(t, args+"2")
	if a.Runs[0].Throughput != b.Runs[0].Throughput || a.Runs[0].Throughput == c.Runs[0].Throughput {
		t.Errorf("seed 1 gives %v and %v, seed 2 %v", a.Runs[0].Throughput, b.Runs[0].Throughput,
			c.Runs[0].Throughput)
	}
}

// Rows that a training creates cost what the probe measured; where no row is new, their price is not listed.
func TestCreationOfRowsHasAPrice(t *testing.T) {
	const create = "system.embedding-ps.create.row-time"
	lists := func(d document) bool {
		return slices.ContainsFunc(d.Assumptions, func(a cost.Assumption) bool { return a.Name == create })
	}
	file := filepath.Join(t.TempDir(), "new.yaml")
	text := `data: {kind: synthetic, synthetic: {train-rows: 4000, test-rows: 10, columns: [{name: user, ` +
		`cardinality: 1000000}]}}
training: {mode: sync, global-batch: 400}
roles: {ranks: 1}
model: {embedding-dim: 16, top: [8]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const args = " --cluster this-machine"
	cheap := predictJSON(t, "--file "+file+args)
	dear := predictOn(t, func() (probe.Result, error) {
		r, err := slow()
		r.Create = 100 * unit.Microsecond
		return r, err
	}, "--file "+file+args)
	if !lists(cheap) || cheap.Runs[0].Throughput < 2*dear.Runs[0].Throughput {
		t.Errorf("%.0f samples/s, and %.0f with rows that take 100 us to create; %s listed: %v",
			cheap.Runs[0].Throughput, dear.Runs[0].Throughput, create, lists(cheap))
	}
	if lists(predictJSON(t, "--gpus 1 --modes sync")) {
		t.Error("a model without an end of its data lists " + create)
	}
}
