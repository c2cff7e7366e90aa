package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/sim/predict"
)

// explanationOf runs "sim explain" with --json.
func explanationOf(t *testing.T, args string) *explanation {
	t.Helper()
	out, messages, code := simText("explain " + args + " --json")
	var x explanation
	if err := json.Unmarshal([]byte(out), &x); err != nil || code != 0 {
		t.Fatalf("%s: %v: %s", args, err, messages)
	}
	return &x
}

// In every mode without work in the background, the phases of a step on a rank sum to the step. Waiting for
// embeddings goes away where enough batches may be outstanding. The way of a batch begins with reading and
// ends with the update of rows.
func TestPhasesSumToTheStep(t *testing.T) {
	for _, mode := range []string{"sync", "hybrid", "local-sgd", "async-ps", "ssp"} {
		x := explanationOf(t, "--gpus 4 --mode "+mode)
		sum, waits := 0.0, 0.0
		for _, p := range x.Phases {
			sum += p.Takes
			if p.Name == "wait for embeddings (GE)" {
				waits = p.Takes
			}
		}
		if math.Abs(sum/x.Step-1) > 0.02 {
			t.Errorf("%s: phases sum to %v ms, and a step takes %v", mode, sum, x.Step)
		}
		if (mode == "sync") != (waits > 0.1*x.Step) {
			t.Errorf("%s: %v of %v ms wait for embeddings", mode, waits, x.Step)
		}
		if len(x.Way) < 10 || x.Way[0].Name != "read the samples" ||
			x.Way[len(x.Way)-1].Name != "update rows" {
			t.Errorf("%s: %+v", mode, x.Way)
		}
	}
}

// In sync, a step on one rank is what the stages of its only batch take, one after the other: nothing of the
// way from the first look-up to the update of rows is left out.
func TestTheWayOfABatchIsTheStepOfSync(t *testing.T) {
	x := explanationOf(t, "--gpus 1 --mode sync --set system.nn-worker.jitter=0 "+
		"--set system.embedding-worker.jitter=0 --set system.embedding-ps.jitter=0")
	sum := 0.0
	for _, m := range x.Way {
		switch m.Name { // these are for the next batch, during the step
		case "read the samples", "ids to the embedding worker", "numbers and labels to the rank", "ids by PS",
			"look-ups to the PSs":
			continue
		}
		sum += m.Takes
		if m.Waits != nil && m.Name != "look rows up" {
			sum += *m.Waits
		}
	}
	if math.Abs(sum/x.Step-1) > 0.05 {
		t.Errorf("the way takes %v ms, and a step %v: %+v", sum, x.Step, x.Way)
	}
}

// An explanation has at most 80 columns, and its files are new ones.
func TestExplanationFits80Columns(t *testing.T) {
	folder := t.TempDir()
	for _, args := range []string{"--gpus 2", "--preset dgx-h100 --model criteo --gpus 8"} {
		svg, page := filepath.Join(folder, "g.svg"), filepath.Join(folder, "p.html")
		out, messages, code := simText("explain " + args + " --gantt " + svg + " --report " + page)
		if code != 0 {
			t.Fatalf("%s: %s", args, messages)
		}
		checkColumns(t, args, out)
		for flag, file := range map[string]string{"--gantt ": svg, "--report ": page} {
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), "gantt series") {
				t.Errorf("%s: %v: %d bytes without a bar", file, err, len(text))
			}
			if _, messages, code := simText("explain " + args + " " + flag + file); code == 0 ||
				!strings.Contains(messages, flag[:len(flag)-1]+": "+file+" exists") {
				t.Errorf("%s: exit %d: %s", args, code, messages)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Effects are said in words: what the parameter is about, and its name.
func TestEffectWords(t *testing.T) {
	for want, effects := range map[string][]predict.Effect{
		"Nothing that is not known": nil,
		"Measure first the wire between GPUs of a server (inside.bandwidth): 60 % of the interval. --set": {
			{Name: "inside.bandwidth", Share: 0.6}, {Name: "network.latency", Share: 0.05}},
		"Measure first own.name: 100 % of the interval; then the network (network.latency): 50 %.": {
			{Name: "own.name", Share: 1.2}, {Name: "network.latency", Share: 0.5}},
	} {
		if got := effectWords(effects); !strings.Contains(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
	// Every unknown of a cluster with PSs and of one without has words.
	for _, args := range []string{"", "--preset dgx-h100"} {
		d := runJSON(t, "--samples 1 --parameters "+args)
		for _, p := range d["parameters"].([]any) {
			name := p.(map[string]any)["name"].(string)
			if wordsOf(name) == name && !strings.HasPrefix(name, "precision.") &&
				!strings.HasPrefix(name, "hot.") {
				t.Errorf("%q: no words", name)
			}
		}
	}
}
