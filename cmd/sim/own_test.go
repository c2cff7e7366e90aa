package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ownFile writes a file of a test, and returns its path.
func ownFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// refusal returns what a command that is refused says.
func refusal(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, &stdout, &stderr); code == 0 {
		t.Errorf("sim %q: exit 0, and says %s%s", args, stdout.String(), stderr.String())
	}
	return stderr.String()
}

// runText returns the report of "sim run".
func runText(t *testing.T, args string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(append([]string{"run"}, strings.Fields(args)...), &stdout, &stderr); code != 0 {
		t.Fatalf("sim run %s: exit %d: %s", args, code, stderr.String())
	}
	return stdout.String()
}

const ownJob = `
name: mine
data:
  kind: synthetic
  synthetic:
    train-rows: 100000
    test-rows: 100
    numeric: 13
    columns:
      - {name: user, cardinality: 5000000, zipf: 1.05}
      - {name: item, cardinality: 300000, zipf: 0.9}
      - {name: tags, cardinality: 2000, zipf: 1.2, ids-per-row: 3}
model: {kind: feed-forward, embedding-dim: 64, top: [512, 256]}
rows: {optimizer: {kind: rowwise-adagrad}}
training: {mode: hybrid, global-batch: 65536}
roles: {ranks: 8}
`

// ownModel is the model of ownJob as a profile, which the simulator reads by other code.
const ownModel = `
name: mine
source: a test
date: 2026
tables:
  - {name: user, rows: 5000000, popularity: {exponent: 1.05}}
  - {name: item, rows: 300000, popularity: {exponent: 0.9}}
  - {name: tags, rows: 2000, ids: 3, popularity: {exponent: 1.2}}
dim: 64
numeric: 13
dense: {interaction: concat, top: [512, 256, 1]}
precisions: {compute: fp32, rows: fp32, activations: fp32, wire: fp32, gradients: fp32}
optimizers: {rows: rowwise-adagrad, dense: adam}
batch: {per-gpu: 8192}
`

// A job file is predicted on a cluster that keeps the tables on its GPUs as its tables and network are when a
// profile has them: the same step, the same memory, the same places of the tables.
func TestJobOnGPUsIsItsModel(t *testing.T) {
	file, profile := ownFile(t, "job.yaml", ownJob), ownFile(t, "model.yaml", ownModel)
	for _, preset := range []string{"dgx-h100", "zionex-128"} {
		of := runJSON(t, "--samples 1 --gpus 8 --preset "+preset+" --file "+file)
		as := runJSON(t, "--samples 1 --gpus 8 --preset "+preset+" --batch-per-gpu 8192 --model "+profile)
		ratio := of["throughput_samples_per_s"].(float64) / as["throughput_samples_per_s"].(float64)
		if math.Abs(ratio-1) > 0.002 {
			t.Errorf("%s: %.4f of the samples/s of the profile", preset, ratio)
		}
		memory, want := of["memory_bytes"].(map[string]any), as["memory_bytes"].(map[string]any)
		for _, part := range []string{"Tables", "State", "Dense"} {
			if memory[part] != want[part] {
				t.Errorf("%s: %v of %s, want %v", preset, memory[part], part, want[part])
			}
		}
		if of["mode"] != "sync" || len(of["placement"].([]any)) != 3 {
			t.Errorf("%s: mode %v, placement %v", preset, of["mode"], of["placement"])
		}
	}
	text := refusal(t, "run", "--file", file, "--preset", "dgx-h100", "--mode", "hybrid")
	if !strings.Contains(text, `mode "hybrid" with system hugectr; want sync`) {
		t.Error(text)
	}
}

// A cluster of one's own needs no data: a file that says what differs from a preset, or the section of a job
// file, stands wherever a cluster's name does.
func TestOwnClusterNeedsNoData(t *testing.T) {
	price := "set: {accelerator.dollars-per-hour: '1', server.dollars-per-hour: '8'}"
	flat := ownFile(t, "flat.yaml", "preset: dgx-h100\ngpus: 16\n"+price)
	section := ownFile(t, "job.yaml", "cluster:\n  preset: dgx-h100\n  gpus: 16\n  "+price)
	plain := runJSON(t, "--samples 1 --gpus 16 --preset dgx-h100")
	for _, file := range []string{flat, section, ownFile(t, "above.yaml", "preset: "+section)} {
		for _, flag := range []string{"--cluster ", "--preset "} {
			d := runJSON(t, "--samples 1 "+flag+file)
			if d["throughput_samples_per_s"] != plain["throughput_samples_per_s"] ||
				d["cost_usd_per_hour"] != 32.0 {
				t.Errorf("%s%s: %v samples/s at $ %v an hour; want %v at 32", flag, file,
					d["throughput_samples_per_s"], d["cost_usd_per_hour"], plain["throughput_samples_per_s"])
			}
		}
		d := comparisonOf(t, []string{file, "dgx-h100 --gpus 16"}, "--samples 2")
		if d.Sides[1].Speed.Ratio != 1 {
			t.Errorf("%s: %+v", file, d.Sides[1].Speed)
		}
		text := refusal(t, "run", "--file", file)
		if !strings.Contains(text, "a cluster and no data") || !strings.Contains(text, "--cluster "+file) {
			t.Error(text)
		}
	}
	text := refusal(t, "run", "--cluster", "dgx-h10")
	if !strings.Contains(text, `the nearest is "dgx-h100"`) {
		t.Error(text)
	}
}

// The report says what every GPU has of the tables, neighbours that are alike in one line; of many GPUs it
// has the extremes, and the JSON object has all.
func TestEveryGPUIsShown(t *testing.T) {
	args := "--samples 1 --seeds 1 --steps 4 --preset dgx-h100 --model mlperf-dlrm --gpus "
	text := runText(t, args+"8")
	for gpu := range 8 {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^  (%d|\d to %[1]d|%[1]d to \d) +\d+ +\S+ +\d+ %%$`,
			gpu)).MatchString(text) {
			t.Errorf("no line of GPU %d:\n%s", gpu, text)
		}
	}
	if text := runText(t, args+"32"); !strings.Contains(text, "\n  fullest ") ||
		!strings.Contains(text, "\n  idlest ") {
		t.Error(text)
	}
	if ranks := runJSON(t, args+"32")["ranks"].([]any); len(ranks) != 32 {
		t.Errorf("%d GPUs in the JSON object", len(ranks))
	}
}
