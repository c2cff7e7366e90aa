package peers

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/algo/unit"
	"tandem/experiments/internal/report"
)

// smallPlan returns a plan of a few networks.
func smallPlan() *plan {
	p, _ := newPlan(report.Options{Seed: 1, Seeds: 2})
	p.Networks, p.Cases = 6, p.Cases[2:3]
	return p
}

// textOf returns a report as text on one line.
func textOf(t *testing.T, r *report.Report) string {
	t.Helper()
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// Both sides simulate the same networks, and the report has all of them.
func TestWithSimGrid(t *testing.T) {
	folder := t.TempDir()
	results, err := smallPlan().measure(t.Context(), report.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	if results.Absent != "" {
		t.Skip(results.Absent)
	}
	r := smallPlan().report(results)
	if text := textOf(t, r); !strings.Contains(text, "On 6 random networks with ") ||
		!strings.Contains(text, "islands of 8 links") || strings.Contains(text, "Missed: on ") {
		t.Errorf("report\n%s", text)
	}
	kept, err := os.ReadFile(filepath.Join(folder, "cases.jsonl"))
	if lines := strings.Count(string(kept), "\n"); err != nil || lines != 6+1 {
		t.Errorf("%d lines, error %v, want a line for each network", lines, err)
	}
	if err := r.WriteFolder(folder); err != nil {
		t.Error(err)
	}
}

// Without a compiler, the report is one line.
func TestWithoutSimGrid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r, err := New().Run(t.Context(), report.Options{Folder: t.TempDir(), Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	const want = "Skipped: SimGrid is absent: there is no compiler c++."
	if len(r.Findings) != 1 || r.Findings[0] != want || r.Tables != nil {
		t.Errorf("findings %q and %d tables, want %q alone", r.Findings, len(r.Tables), want)
	}
	if err := r.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// A compiler without SimGrid's headers is the same as no compiler; a context that has ended is not.
func TestWithoutHeaders(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, compiler), []byte("#!/bin/sh\nexit 1\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	if _, err := buildSimGrid(t.Context()); !errors.Is(err, errAbsent) ||
		!strings.Contains(err.Error(), "libsimgrid-dev") {
		t.Errorf("error %v, want %v with the name of the package", err, errAbsent)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := buildSimGrid(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}

// Two flows of 1 GB share a link of 1 GB/s from 0.5 s on. The first, which has sent 0.5 GB, ends at 1.5 s;
// the second has sent 0.5 GB by then and ends at 2 s. A third has a limit of 0.25 GB/s.
func TestRunTandem(t *testing.T) {
	w := &network{Capacities: []float64{1e9, 1e12}, Flows: []flow{
		{Bytes: 1e9, Links: []int{0}},
		{Start: unit.Second / 2, Bytes: 1e9, Links: []int{1, 0}},
		{Bytes: 1e9, Limit: 0.25e9, Links: []int{1}},
	}}
	r, _ := runTandem(w)
	want := []unit.Tick{3 * unit.Second / 2, 2 * unit.Second, 4 * unit.Second}
	for i, at := range r.finishes {
		if at != want[i] {
			t.Errorf("flow %d ends at %v, want %v", i, at, want[i])
		}
	}
	if r.inFlight != 3 {
		t.Errorf("at most %d flows in flight, want 3", r.inFlight)
	}
	// The limit is a third link, of the third flow.
	const text = "3\n1e+09\n1e+12\n2.5e+08\n3\n0 1000000000 1 0\n0.5 1000000000 2 1 0\n0 1000000000 2 1 2\n"
	if got := w.text(); got != text {
		t.Errorf("text %q, want %q", got, text)
	}
}

// The error is relative to the time of a flow, not to the instant of its end.
func TestLargestError(t *testing.T) {
	w := &network{Flows: []flow{{Start: 9 * unit.Second}, {Start: 0}}}
	got, err := largestError(w, []unit.Tick{10 * unit.Second, 10 * unit.Second}, []float64{11, 10})
	if err != nil || math.Abs(got-0.5) > 1e-12 {
		t.Errorf("error %v and %v, want 0.5", got, err)
	}
	if _, err := largestError(w, make([]unit.Tick, 2), []float64{-1, 10}); err == nil {
		t.Error("no error for a flow that does not end")
	}
}

func TestParseRun(t *testing.T) {
	r, err := parseRun([]byte("3.32.0 0.25\n1.5\n2\n"), 2)
	if err != nil || r.version != "3.32.0" || r.wall != 250*time.Millisecond || r.finishes[1] != 2 {
		t.Errorf("run %+v, error %v", r, err)
	}
	for text, want := range map[string]string{"3.32.0": "has no version and time",
		"3 0.1\n1.5\n": "has 1 of 2 flows"} {
		if _, err := parseRun([]byte(text), 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Missed goals are findings.
func TestFindings(t *testing.T) {
	p := smallPlan()
	r := &results{Networks: []networkResult{{Flows: 3, Error: 2e-3}, {Flows: 1000, Error: 1e-9}},
		Cases: []*caseResult{
			{Name: "slow", Tandem: []float64{1, 1}, SimGrid: []float64{2, 3}},
			{Name: "fast", Tandem: []float64{1, 1}, SimGrid: []float64{4, 4}},
		}}
	text := textOf(t, p.report(r))
	for _, want := range []string{
		"Missed: on 1 of 2 random networks, the time of a flow differs from SimGrid's by more than " +
			"1.0e−03, at most by 2.0e−03.",
		"Tandem handles 2.5 to 4 times the events per second of SimGrid; the target, 3, is reached on 1 of 2",
		"Missed: slow: 2.5 (2–3) × SimGrid's events per second, target 3.", "short of 3",
		"Only 2 rounds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
