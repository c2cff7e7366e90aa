package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// comparisonOf runs "sim compare" with --json.
func comparisonOf(t *testing.T, sides []string, args string) *comparisonDocument {
	t.Helper()
	var stdout, stderr bytes.Buffer
	all := append(append([]string{"compare"}, sides...), strings.Fields(args+" --json")...)
	if code := run(all, &stdout, &stderr); code != 0 {
		t.Fatalf("sim compare %q %s: exit %d: %s", sides, args, code, stderr.String())
	}
	var d comparisonDocument
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// A configuration has the figures that sim run has of it, and more GPUs at a price a GPU are faster for sure
// and dearer for sure where they scale badly.
func TestComparisonHasTheFiguresOfRun(t *testing.T) {
	d := comparisonOf(t, []string{"persia-paper --gpus 2", "persia-paper --gpus 8"},
		"--samples 8 --dollars-per-gpu-hour 2 --mode sync")
	for _, s := range d.Sides {
		own := runJSON(t, strings.TrimPrefix(s.Reproduce, "go run ./cmd/sim run ")+" --seeds 1")
		if own["throughput_samples_per_s"] != s.Throughput ||
			own["cost_usd_per_billion_samples"] != *s.DollarsPerGiga ||
			own["throughput_interval"].([]any)[0] != s.Interval[0] {
			t.Errorf("%s: %v samples/s, %v, $ %v; sim run has %v, %v, $ %v", s.Name, s.Throughput,
				s.Interval, *s.DollarsPerGiga, own["throughput_samples_per_s"], own["throughput_interval"],
				own["cost_usd_per_billion_samples"])
		}
	}
	a, b := d.Sides[0], d.Sides[1]
	if a.Speed != nil || b.Speed.Better != 1 || b.Speed.Ratio < 2 || b.Price.Better != 0 ||
		b.Price.Ratio <= 1 || b.Speed.Interval[0] > b.Speed.Ratio || b.Speed.Interval[1] < b.Speed.Ratio {
		t.Errorf("%+v; price %+v", b.Speed, b.Price)
	}
}

// The report has at most 80 columns, but for commands.
func TestComparisonFits80Columns(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run([]string{"compare", "persia-gcp --mode sync", "commodity-10g --mode async-ps", "dgx-h100",
		"--samples", "2", "--gpus", "4"}, &stdout, &stderr)
	if code != 0 {
		t.Fatal(stderr.String())
	}
	checkColumns(t, "compare", stdout.String())
}

// Without --samples there are as many points as can be simulated in some seconds, the same on any machine.
func TestPointsOfAComparison(t *testing.T) {
	for events, want := range map[int64]int{0: 64, 1000: 64, pairedEvents / 20: 20, pairedEvents: 8} {
		if got := pairedPoints(pairedEvents, events); got != want {
			t.Errorf("%d events: %d points, want %d", events, got, want)
		}
	}
	if d := comparisonOf(t, []string{"dgx-a100", "dgx-h100"}, ""); d.Samples != pairedMost {
		t.Errorf("%d points", d.Samples)
	}
}

// Flags of the whole comparison are refused in a configuration, and clusters that bring different models are
// not compared in silence.
func TestFlagsOfTheWholeComparison(t *testing.T) {
	for _, test := range []struct {
		sides []string
		want  string // on the first line, unless empty
		code  int
	}{
		{[]string{"dgx-h100 --samples 8", "dgx-a100"}, "A: --samples is for all configurations together", 2},
		{[]string{"dgx-h100", "dgx-a100 --json"}, "B: --json is for all configurations together", 2},
		{[]string{"dgx-h100 --gpus 8", "commodity-10g --gpus 4", "--samples", "2"},
			"A trains mlperf-dcnv2, B trains criteo", 0},
		{[]string{"dgx-h100", "dgx-h100 --gpus 16", "--samples", "2"}, "", 0},
	} {
		var stdout, stderr bytes.Buffer
		code := run(append([]string{"compare"}, test.sides...), &stdout, &stderr)
		said := stderr.String()
		if code != test.code || !strings.Contains(said, test.want) ||
			test.want == "" && strings.Contains(said, " trains ") {
			t.Errorf("%q: exit %d: %s", test.sides, code, said)
		}
	}
}
