package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// runJSON runs "sim run" and reads its JSON.
func runJSON(t *testing.T, args string) map[string]any {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(append([]string{"run", "--json"}, strings.Fields(args)...), &stdout, &stderr); code != 0 {
		t.Fatalf("sim run %s: exit %d: %s", args, code, stderr.String())
	}
	var d map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// keys are what every object of a prediction has, at least.
func keys() []string {
	return []string{"valid", "mode", "gpus", "throughput_samples_per_s", "throughput_interval",
		"throughput_ci95", "step_time_ms.mean", "step_time_ms.p50", "step_time_ms.p99", "scaling_efficiency",
		"staleness.mean", "staleness.p99", "staleness.max", "stage_ms.ge", "stage_ms.fc", "stage_ms.bc",
		"stage_ms.ds", "stage_ms.peg", "stations", "bottlenecks", "cost_usd_per_hour",
		"cost_usd_per_billion_samples", "parameters", "events", "wall_s", "peak_rss_bytes", "seed",
		"reproduce"}
}

// Keys that do not apply are null, never absent: the stages of roles in a step graph, the interval of one
// sample, and all figures of a job that does not fit.
func TestObjectHasEveryKey(t *testing.T) {
	null := func(d map[string]any) (list []string) {
		for _, key := range keys() {
			outer, inner, nested := strings.Cut(key, ".")
			value, found := d[outer]
			if nested {
				value, found = value.(map[string]any)[inner]
			}
			if !found {
				t.Errorf("no key %s", key)
			}
			if value == nil {
				list = append(list, key)
			}
		}
		return list
	}
	if got := null(runJSON(t,
		"--samples 8 --seeds 2 --preset persia-gcp --model criteo --gpus 8")); got != nil {
		t.Errorf("null of roles: %v", got)
	}
	roles := runJSON(t, "--samples 1 --gpus 8")
	want := []string{"throughput_interval", "throughput_ci95", "cost_usd_per_hour",
		"cost_usd_per_billion_samples"}
	if got := null(roles); !slices.Equal(got, want) {
		t.Errorf("null of one sample without prices: %v; want %v", got, want)
	}
	graph := runJSON(t, "--samples 4 --seeds 2 --preset dgx-h100 --gpus 8 --global-batch 55296")
	want = []string{"stage_ms.ge", "stage_ms.fc", "stage_ms.bc", "stage_ms.ds", "stage_ms.peg"}
	if got := null(graph); !slices.Equal(got, want) {
		t.Errorf("null of a step graph: %v; want %v", got, want)
	}
	if cost := graph["cost_usd_per_hour"].(float64); cost < 8*2 || cost > 8*12 {
		t.Errorf("8 H100s and their host cost $ %v an hour", cost)
	}
	if graph["reproduce"] != "go run ./cmd/sim run --preset dgx-h100 --gpus 8 --global-batch 55296 "+
		"--samples 4 "+
		"--seeds 2 --json" {
		t.Errorf("reproduce: %v", graph["reproduce"])
	}
	var stdout bytes.Buffer
	if code := run(strings.Fields("run --json --preset persia-gcp --row-precision fp32"), &stdout,
		&bytes.Buffer{}); code != 1 {
		t.Errorf("exit %d", code)
	}
	var refused map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &refused); err != nil {
		t.Fatal(err)
	}
	if null(refused); refused["valid"] != false || refused["error"] == nil {
		t.Errorf("a job that does not fit: %v", refused)
	}
}

// Every parameter of the object has a number with its unit, or is a format in words.
func TestObjectHasEveryParameter(t *testing.T) {
	names := map[string]string{}
	for _, x := range runJSON(t,
		"--samples 1 --row-precision fp16 --set embedding-ps.count=7")["parameters"].([]any) {
		p := x.(map[string]any)
		low, number := p["low"].(float64)
		if number && !(low <= p["value"].(float64) && p["value"].(float64) <= p["high"].(float64)) ||
			p["kind"] == "" || p["source"] == "" {
			t.Errorf("parameter %v", p)
		}
		names[p["name"].(string)] = p["text"].(string)
	}
	for name, want := range map[string]string{"precision.rows": "fp16", "precision.compute": "fp32",
		"embedding-ps.count": "7", "accelerator.memory": "32GB", "model.dim": "16"} {
		if names[name] != want {
			t.Errorf("%s is %q, want %q", name, names[name], want)
		}
	}
}

// The same A100s by two ways to name them: in the cluster of V100s they bring their own wires, and what
// differs still are hosts, network and where the EWs and PSs run, which a note names. On one server these
// matter little: the answers are within a factor of 1.5, where A100s behind a V100's disabled NVLink are
// half as fast.
func TestAcceleratorBringsItsWires(t *testing.T) {
	in := runJSON(t, "--samples 1 --accelerator A100-SXM4-40GB --gpus 8")
	own := runJSON(t, "--samples 1 --preset persia-gcp --model criteo --gpus 8")
	behind := runJSON(t, "--samples 1 --accelerator A100-SXM4-40GB --inside nvlink2-off --gpus 8")
	rate := func(d map[string]any) float64 { return d["throughput_samples_per_s"].(float64) }
	if rate(behind) > rate(in)/1.5 {
		t.Errorf("%.0f samples/s behind disabled NVLink, %.0f with the accelerator's own wires", rate(behind),
			rate(in))
	}
	if ratio := rate(in) / rate(own); ratio < 1/1.5 || ratio > 1.5 {
		t.Errorf("A100s: %.0f samples/s in one cluster, %.0f in the other", rate(in), rate(own))
	}
	if notes, _ := json.Marshal(in["notes"]); !strings.Contains(string(notes),
		"brings its own wires, nvlink3") {
		t.Errorf("notes %s", notes)
	}
}

// The help names every key of the object.
func TestHelpNamesEveryKey(t *testing.T) {
	for key := range runJSON(t, "--samples 1 --gpus 1") {
		if !strings.Contains(runUsage, key) {
			t.Errorf("run --help does not name %s", key)
		}
	}
}

// In sync the look-up of a batch begins during the step before and waits for the end of that step, so that GE
// takes longer than a step. The report says why; hybrid's GE does not wait, and needs no note.
func TestLongLookupsAreExplained(t *testing.T) {
	for mode, want := range map[string]bool{"sync": true, "hybrid": false} {
		d := runJSON(t, "--samples 1 --gpus 8 --mode "+mode)
		notes, _ := json.Marshal(d["notes"])
		lookup, step := d["stage_ms"].(map[string]any)["ge"], d["step_time_ms"].(map[string]any)["mean"]
		longer := lookup.(float64) > step.(float64)
		if got := strings.Contains(string(notes), "GE is longer than a step"); got != want || longer != want {
			t.Errorf("%s: GE is longer: %t, noted: %t; want %t", mode, longer, got, want)
		}
	}
}
