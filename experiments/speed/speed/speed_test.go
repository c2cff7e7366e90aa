package speed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/algo/numeric/model"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
)

// smallPlan returns a plan with short cases of every kind.
func smallPlan() *plan {
	ff := &pytorch.Network{Name: "small", Kind: model.FeedForward, Dim: 4, Slots: 3, Numeric: 2,
		Top: []int{8, 5}}
	factors := &pytorch.Network{
		Name:    "small DLRM",
		Kind:    model.DLRM,
		Dim:     4,
		Slots:   3,
		Numeric: 2,
		Bottom:  []int{6},
		Top:     []int{8},
	}
	ffCriteo := &pytorch.Network{Name: "tiny", Kind: model.FeedForward, Dim: 2, Slots: 26, Numeric: 13,
		Top: []int{4}}
	dlrmCriteo := &pytorch.Network{Name: "tiny DLRM", Kind: model.DLRM, Dim: 4, Slots: 26, Numeric: 13,
		Bottom: []int{6}, Top: []int{4}}
	return &plan{Rounds: 2, Window: time.Millisecond, Cases: []testCase{
		{Kind: kindDense, Batch: 16, Threads: 1, Net: ff, Target: 1e9},
		{Kind: kindDense, Batch: 17, Threads: 2, Net: ff, Target: 1e-9},
		{Kind: kindDense, Batch: 16, Threads: 2, Net: factors},
		{
			Kind:    kindSparse,
			Batch:   32,
			Threads: 1,
			Rows:    &rows{Dim: 8, Slots: 3, Each: 4000, Distribution: uniform},
		},
		{Kind: kindSparse, Batch: 32, Threads: 2, Target: 1,
			Rows: &rows{Dim: 8, Slots: 3, Each: 400, Distribution: zipf}, RowWise: true},
		{Kind: kindSparse, Batch: 33, Threads: 2, Rows: &rows{Dim: 8, Slots: 3, Each: 4, Distribution: zipf}},
		{
			Kind:    kindLookup,
			Batch:   16,
			Threads: 2,
			Rows:    &rows{Dim: 16, Slots: 3, Each: 100, Distribution: zipf},
		},
		{
			Kind:    kindUpdate,
			Batch:   16,
			Threads: 1,
			Rows:    &rows{Dim: 32, Slots: 3, Each: 100, Distribution: uniform},
		},
		{
			Kind:    kindTrain,
			Batch:   64,
			Threads: 2,
			Net:     ffCriteo,
			Corpus:  &corpus{Train: 1000, Test: 500, Epochs: 1},
		},
		{
			Kind:    kindTrain,
			Batch:   64,
			Threads: 1,
			RowWise: true,
			Net:     dlrmCriteo,
			Corpus:  &corpus{Train: 1000, Test: 500, Epochs: 1},
		},
	}}
}

// on returns a measurement of a plan with peers, by the name of their comparison.
func on(p *plan, peers map[string]side) *measurement {
	return &measurement{plan: p, peers: peers, machine: machine{Engine: "an engine",
		NoPyTorch: "there is no Python interpreter", NoFBGEMM: "the same"}}
}

// Without PyTorch, the report has the numbers of Tandem and the reason.
func TestWithoutPyTorch(t *testing.T) {
	p, folder := smallPlan(), t.TempDir()
	results, err := on(p, nil).all(t.Context(), report.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if len(r.Tandem) != p.Rounds || !(r.Tandem[0] > 0) || r.PyTorch != nil || r.FBGEMM != nil {
			t.Errorf("%s: %v and %v", r, r.Tandem, r.PyTorch)
		}
	}
	out := p.report(results)
	var text strings.Builder
	if err := out.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"dense step, small DLRM", "own work", "No PyTorch: there is no Python interpreter.",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if err := out.WriteFolder(folder); err != nil {
		t.Error(err)
	}
}

// A run that is resumed after its last case measures nothing, which its context would not allow, and has the
// same results.
func TestResumedRunHasTheSameResults(t *testing.T) {
	p, o := smallPlan(), report.Options{Folder: t.TempDir()}
	first, err := on(p, nil).all(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := on(p, nil).all(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(first)
	if got, _ := json.Marshal(again); len(want) < 1000 || !bytes.Equal(got, want) {
		t.Errorf("resumed:\n%s\nwant:\n%s", got, want)
	}
}

// No two cases of a run have the same name, by which a resumed run knows them.
func TestNamesOfCases(t *testing.T) {
	for _, quick := range []bool{false, true} {
		p, err := newPlan(report.Options{Seeds: 2, Quick: quick}, newChoice())
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, c := range p.Cases {
			names[c.name()] = true
		}
		if len(names) != len(p.Cases) {
			t.Errorf("quick %v: %d names of %d cases", quick, len(names), len(p.Cases))
		}
	}
}

// PyTorch computes the same losses; otherwise measure returns an error.
func TestWithPyTorch(t *testing.T) {
	p, folder := smallPlan(), t.TempDir()
	results, err := p.measure(t.Context(), report.Options{Folder: folder}, &report.Python{})
	if err != nil {
		t.Fatal(err)
	}
	if absent := results[0].Machine.NoPyTorch; absent != "" {
		t.Skipf("set TANDEM_PYTHON to a Python interpreter with torch and numpy: %s", absent)
	}
	for _, r := range results {
		if has := comparisons()[0].has(&r.testCase); has != (len(r.PyTorch) == p.Rounds) {
			t.Errorf("%v: rounds of PyTorch %v", r, r.PyTorch)
		}
	}
	out := p.report(results)
	if findings := strings.Join(out.Findings, "\n"); !strings.Contains(findings, " targets are reached") ||
		!strings.Contains(findings, "Missed by 1 of 1: dense step, small, 1e+09 × PyTorch. "+
			"Lowest: dense step, small, batch 16, 1 core: ") {
		t.Errorf("findings\n%s", findings)
	}
	if err := out.WriteFolder(folder); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "ratios.svg")); err != nil {
		t.Error(err)
	}
}

// The experiment fails if the sides compute different values.
func TestSidesMustAgree(t *testing.T) {
	fake, err := startFake(t) // whose loss is 1e9
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	_, err = on(smallPlan(), map[string]side{"PyTorch": fake}).all(t.Context(),
		report.Options{Folder: t.TempDir()})
	if err == nil || !strings.HasPrefix(err.Error(), "dense step, small, batch 16, threads 1: the "+
		"sides compute different values: after 3 steps Tandem has ") {
		t.Errorf("error %v", err)
	}
	if err := agree([]*turn{{check: 1}, {check: math.NaN()}}, &testCase{}); err == nil {
		t.Error("no error for NaN")
	}
}

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := on(smallPlan(), nil).all(ctx, report.Options{Folder: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}

// A rate is compared by round, as the peer's time ÷ Tandem's.
func TestRatio(t *testing.T) {
	r := &result{Tandem: []float64{1, 2, 1}, PyTorch: []float64{2, 2, 4}}
	if got := comparisons()[0].ratio(r); got != (turns.Spread{Low: 1, Median: 2, High: 4}) {
		t.Errorf("ratio %v", got)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		reached, target float64
		want            string
	}{{0.9, 0.9, "ok (≥ 0.9)"}, {0.89, 0.9, "short of 0.9"}, {7, 0, ""}, {math.NaN(), 1, "short of 1"}} {
		if got := (&beside{reached: c.reached, target: c.target}).verdict(); got != c.want {
			t.Errorf("verdict(%v, %v) = %q, want %q", c.reached, c.target, got, c.want)
		}
	}
}
