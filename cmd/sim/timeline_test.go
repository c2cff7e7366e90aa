package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/sim/station"
)

// simText runs the program.
func simText(args string) (out, said string, code int) {
	var stdout, stderr bytes.Buffer
	code = run(strings.Fields(args), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// traceEvent is an event of a trace, as documented for Chrome's JSON format.
type traceEvent struct {
	Phase   string  `json:"ph"`
	Name    string  `json:"name"`
	Process int     `json:"pid"`
	Thread  int     `json:"tid"`
	At      float64 `json:"ts"`
	Takes   float64 `json:"dur"`
	Arrow   int     `json:"id"`
	Bind    string  `json:"bp"`
	Args    struct {
		Name string   `json:"name"`
		Busy *float64 `json:"busy"`
	} `json:"args"`
}

// readTrace reads a trace as the documentation says: complete events of a thread do not overlap but by
// nesting, which no track here does; an arrow begins and ends within an event of its thread, and not before
// it begins. It returns the busy time of every track, by the names of its process and of itself, in µs.
func readTrace(t *testing.T, name string) (busy map[[2]string]float64, length float64) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Events []traceEvent `json:"traceEvents"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	processes, threads := map[int]string{}, map[int]string{}
	ends := map[int]float64{}              // of the last event of a thread
	begun := map[int]traceEvent{}          // arrows
	counters := map[[2]string]traceEvent{} // last values
	busy = map[[2]string]float64{}
	last := 0.0
	for _, e := range file.Events {
		if e.At < last {
			t.Fatalf("%+v is out of order", e)
		}
		last = max(last, e.At)
		length = max(length, e.At, e.At+e.Takes)
		key := [2]string{processes[e.Process], threads[e.Thread]}
		switch e.Phase {
		case "M":
			switch e.Name {
			case "process_name":
				processes[e.Process] = e.Args.Name
			case "thread_name":
				threads[e.Thread] = e.Args.Name
			}
		case "X":
			if key[0] == "" || key[1] == "" || e.At < ends[e.Thread]-1e-3 || !(e.Takes > 0) {
				t.Errorf("%+v on %q, after one that ends at %v", e, key, ends[e.Thread])
			}
			ends[e.Thread] = e.At + e.Takes
			busy[key] += e.Takes
		case "C":
			key[1] = e.Name
			if before, known := counters[key]; known {
				busy[key] += *before.Args.Busy * (e.At - before.At)
			}
			counters[key] = e
		case "s", "f":
			if !(e.At < ends[e.Thread]) {
				t.Errorf("%+v is within no event", e)
			}
			if from, known := begun[e.Arrow]; known == (e.Phase == "s") || known && from.At > e.At ||
				(e.Phase == "f") != (e.Bind == "e") {
				t.Errorf("%+v from %+v", e, from)
			}
			begun[e.Arrow] = e
		default:
			t.Errorf("unknown phase: %+v", e)
		}
	}
	if len(begun) == 0 {
		t.Error("no arrows")
	}
	return busy, length
}

// classOf returns the name that a report has for the stations of a track.
func classOf(track [2]string) string {
	role, _, _ := strings.Cut(track[0], " ")
	name := regexp.MustCompile(` \d+$`).ReplaceAllString(track[1], "")
	switch {
	case name == "work" || name == "pool and merge":
		return map[string]string{"data-loader": "loader threads", "embedding-worker": "EW threads",
			"embedding-ps": "PS threads", "dense-ps": "dense PS threads"}[role]
	case role == "nn-worker":
		return map[string]string{"accelerator": "accelerator", "host thread": "rank host threads",
			"copies in": "host-accelerator copies", "copies out": "host-accelerator copies"}[name]
	case name == "channel":
		return "all-reduce channel"
	}
	return name // of a counter, or of a stream of a step graph
}

// The busy time of the tracks of a trace over its length is the share that sim run prints of their stations,
// within 0.1 %: in the mean over all stations of a kind.
func TestTraceHasTheSharesOfSimRun(t *testing.T) {
	for _, args := range []string{"--mode hybrid --gpus 4", "--mode async-ps --gpus 4",
		"--preset dgx-h100 --gpus 16"} {
		file := filepath.Join(t.TempDir(), "trace.json")
		if _, said, code := simText("trace " + file + " " + args); code != 0 {
			t.Fatal(said)
		}
		busy, length := readTrace(t, file)
		sums := map[string]float64{}
		for track, time := range busy { // order-free: sums
			sums[classOf(track)] += time / length
		}
		samples := " --samples 1"
		if strings.Contains(args, "dgx") {
			samples = "" // it shows the sampled point with the median throughput
		}
		out, said, code := simText("run " + args + " --seeds 1 --json" + samples)
		var d struct{ Stations []station.Use }
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Stations) < 5 {
			t.Fatalf("%v: %s", err, said)
		}
		for _, u := range d.Stations {
			n := u.Servers * float64(u.Stations)
			if slices.Contains([]string{"host thread", "accelerator", "collectives", "input collectives",
				"copies"}, u.Name) && strings.Contains(args, "dgx") {
				n = 1 // the trace has one rank
			}
			if got := sums[u.Name] / n; math.Abs(got-u.MeanBusy) > 1e-3*u.MeanBusy {
				t.Errorf("%s: %s is busy for %v of the time, its tracks for %v", args, u.Name, u.MeanBusy,
					got)
			}
		}
	}
}

// A trace is refused where its file exists or cannot be.
func TestTraceRefusesFiles(t *testing.T) {
	folder := t.TempDir()
	for args, want := range map[string]string{
		"":                              "trace: 0 names; want one",
		"a b":                           "trace: 2 names; want one",
		folder:                          "trace: " + folder + " exists",
		folder + "/no/trace.json":       "no such file or directory",
		folder + "/x --mode hybrids":    `"hybrids" is unknown; the nearest is "hybrid"`,
		folder + "/x --gpus 1000000000": "--gpus: 1000000000; want 1 to",
	} {
		_, said, code := simText("trace " + args)
		first, _, _ := strings.Cut(said, "\n")
		if code == 0 || !strings.Contains(first, want) {
			t.Errorf("%q: exit %d: %s", args, code, first)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
