package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tandem/sim/cost"
	"tandem/sim/device"
)

// sweepText runs "sim sweep".
func sweepText(args string) (out, said string, code int) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"sweep"}, strings.Fields(args)...), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// A sweep has the same bytes on any number of cores, and after it was stopped: what the file has is not
// simulated again.
func TestASweepIsContinued(t *testing.T) {
	const args = "--samples 2 --over gpus=1,2,4 --over mode=sync,hybrid --out "
	name := filepath.Join(t.TempDir(), "sweep.csv")
	var whole string
	for _, cores := range []int{1, 2, 4} {
		before := runtime.GOMAXPROCS(cores)
		if _, said, code := sweepText(args + name); code != 0 {
			t.Fatal(said)
		}
		runtime.GOMAXPROCS(before)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if whole == "" {
			whole = string(text)
		}
		if string(text) != whole {
			t.Errorf("on %d cores:\n%s\non one:\n%s", cores, text, whole)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.SplitAfter(whole, "\n")
	fields := strings.Split(lines[4], ",")
	fields[3] = "7" // samples/s that no simulation gives: the line must stay
	marked := strings.Join(fields, ",")
	stopped := lines[0] + lines[6] + marked + lines[1][:20]
	if err := os.WriteFile(name, []byte(stopped), 0o600); err != nil {
		t.Fatal(err)
	}
	_, said, code := sweepText(args + name)
	text, err := os.ReadFile(name)
	if err != nil || code != 0 || !strings.Contains(said, "has 2 of 6 points already") {
		t.Fatalf("%v: %s", err, said)
	}
	if want := strings.Replace(whole, lines[4], marked, 1); string(text) != want {
		t.Errorf("continued:\n%s\nwant\n%s", text, want)
	}
	_, said, code = sweepText("--seed 2 " + args + name)
	if code == 0 || !strings.Contains(said, "another sweep's file: line 2, 1, sync, is of other flags") {
		t.Errorf("another seed: exit %d: %s", code, said)
	}
}

// A point has the figures that sim run has of it. The fastest and the cheapest are among the points, and what
// does not fit says why.
func TestASweepHasTheFiguresOfRun(t *testing.T) {
	out, said, code := sweepText("--preset persia-gcp --gpus 4 --samples 2 --json " +
		"--over embedding-ps.count=5,30 --over row-precision=fp16,fp32")
	var d sweepDocument
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("%v: %s", err, said)
	}
	if d.Fastest == nil || *d.Fastest != 2 || *d.Cheapest != 2 || len(d.Points) != 4 {
		t.Fatalf("%s", out)
	}
	for i, p := range d.Points {
		if i != 2 && (p.Throughput != nil || !strings.Contains(*p.Refusal, "does not fit")) {
			t.Errorf("%+v", p)
		}
	}
	own := runJSON(t, "--preset persia-gcp --gpus 4 --samples 2 --seeds 1 --set embedding-ps.count=30 "+
		"--row-precision fp16")
	if p := d.Points[2]; own["throughput_samples_per_s"] != *p.Throughput ||
		own["cost_usd_per_hour"] != *p.DollarsPerHour ||
		own["throughput_interval"].([]any)[1] != p.Interval[1] {
		t.Errorf("%+v; sim run has %v, $ %v", p, own["throughput_samples_per_s"], own["cost_usd_per_hour"])
	}
}

// The smallest number that is as fast as the fastest is named, and no line has more than 80 columns.
func TestASweepSaysWhatIsEnough(t *testing.T) {
	for _, args := range []string{
		"--preset persia-gcp --model criteo --gpus 8 --samples 2 --over embedding-ps.count=1..8*2",
		"--gpus 4 --samples 2 --over embedding-workers.count=2,20 --over network.latency=3,30us",
		"--gpus 4 --samples 1 --over accelerator=A100-SXM4-80GB,T4 --over mode=async-average,backup-workers",
	} {
		out, said, code := sweepText(args)
		if code != 0 {
			t.Fatalf("%s: %s", args, said)
		}
		checkColumns(t, args, out)
		if strings.Contains(args, "1..8*2") && !strings.Contains(out, "Enough: embedding-ps.count = ") {
			t.Errorf("%s:\n%s", args, out)
		}
	}
}

// A line depends on the profiles that a job file names, and on those that these name.
func TestASweepDependsOnNamedProfiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	profile := func(library interface{ Text(string) ([]byte, error) }, name, from, to string) string {
		t.Helper()
		text, err := library.Text(name)
		if err != nil || !strings.Contains(string(text), from) {
			t.Fatalf("%v: %s", err, text)
		}
		return strings.Replace(string(text), from, to, 1)
	}
	accelerator := profile(device.Accelerators, "H100-SXM5", "name: H100-SXM5", "name: mine")
	device := write("device.yaml", accelerator)
	cluster := write("cluster.yaml", profile(cost.Clusters, "dgx-h100", "accelerator: H100-SXM5",
		"accelerator: "+device))
	out := filepath.Join(folder, "sweep.csv")
	args := "--model mlperf-dcnv2 --samples 1 --over gpus=8,16 --preset " + cluster + " --out " + out
	for range 2 {
		if _, said, code := sweepText(args); code != 0 {
			t.Fatal(said)
		}
	}
	write("device.yaml", accelerator+"# changed\n")
	if _, said, code := sweepText(args); code == 0 || !strings.Contains(said, "is of other flags, files") {
		t.Errorf("a changed profile: exit %d: %s", code, said)
	}
}
