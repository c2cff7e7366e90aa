package speed

import (
	"bytes"
	"cmp"
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

// Without PyTorch, the report has the numbers of Tandem and the reason.
func TestWithoutPyTorch(t *testing.T) {
	p, folder := smallPlan(), t.TempDir()
	p.NoPyTorch = "there is no Python interpreter"
	report, err := p.execute(t.Context(), report.Options{Folder: folder}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Data.([]*result) {
		if len(r.Tandem) != p.Rounds || !(r.Tandem[0] > 0) || r.PyTorch != nil || r.FBGEMM != nil {
			t.Errorf("%s: %v and %v", r, r.Tandem, r.PyTorch)
		}
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"dense step, small DLRM", "own work", "No PyTorch: there is no Python interpreter.",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if err := report.WriteFolder(folder); err != nil {
		t.Error(err)
	}
}

// A run that is resumed after its last case measures nothing, which its context would not allow, and has the
// same results.
func TestResumedRunHasTheSameResults(t *testing.T) {
	p, o := smallPlan(), report.Options{Folder: t.TempDir()}
	first, err := p.execute(t.Context(), o, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := p.execute(ctx, o, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(first.Data)
	if got, _ := json.Marshal(again.Data); len(want) < 1000 || !bytes.Equal(got, want) {
		t.Errorf("resumed:\n%s\nwant:\n%s", got, want)
	}
}

// No two cases of a run have the same name, by which a resumed run knows them.
func TestNamesOfCases(t *testing.T) {
	for _, quick := range []bool{false, true} {
		p, err := newPlan(report.Options{Seeds: 2, Quick: quick}, newChoice(), 0)
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
	python := cmp.Or(os.Getenv("TANDEM_PYTHON"), "python3")
	peer, err := startPeer(t.Context(), python)
	if err != nil {
		t.Skipf("set TANDEM_PYTHON to a Python interpreter with torch and numpy: %v", err)
	}
	defer peer.Close()
	p, folder := smallPlan(), t.TempDir()
	p.PyTorch = &peer.about
	var fbgemm side
	if second, err := startFBGEMM(t.Context(), python); err != nil {
		t.Logf("without FBGEMM: %v", err)
		p.NoFBGEMM = err.Error()
	} else {
		defer second.Close()
		fbgemm, p.FBGEMM = second, &second.about
	}
	report, err := p.execute(t.Context(), report.Options{Folder: folder}, peer, fbgemm)
	if err != nil {
		t.Fatal(err)
	}
	csv, err := os.ReadFile(filepath.Join(folder, "speed.csv"))
	if lines := strings.Count(string(csv), "\n"); err != nil || lines < 1+2*p.Rounds*(len(p.Cases)-2) {
		t.Errorf("%d lines, error %v, want a line for each side and round", lines, err)
	}
	if findings := strings.Join(report.Findings, "\n"); !strings.Contains(findings, " targets are reached") ||
		!strings.Contains(findings, "Missed by 1 of 1: dense step, small, 1e+09 × PyTorch. "+
			"Lowest: dense step, small, batch 16, 1 core: ") {
		t.Errorf("findings\n%s", findings)
	}
	if err := report.WriteFolder(folder); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "ratios.svg")); err != nil {
		t.Error(err)
	}
}

// The experiment fails if the sides compute different values.
func TestSidesMustAgree(t *testing.T) {
	peer, err := startFake(t) // whose loss is 1e9
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	_, err = smallPlan().execute(t.Context(), report.Options{Folder: t.TempDir()}, peer, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "dense step, small, batch 16, threads 1: the "+
		"sides compute different values: after 3 steps Tandem has ") {
		t.Errorf("error %v", err)
	}
	if err := agree([]*turn{{warm: warmState{1}}, {warm: warmState{math.NaN()}}}, &testCase{}); err == nil {
		t.Error("no error for NaN")
	}
}

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := smallPlan().execute(ctx, report.Options{Folder: t.TempDir()}, nil, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}

// A ratio is computed by round. The machine is half as fast in the second round; the ratios 2, 1 and 4 have
// the median 2.
func TestRatio(t *testing.T) {
	r := &result{Tandem: []float64{1, 2, 1}, PyTorch: []float64{2, 2, 4}}
	if got := comparisons()[0].ratio(r); got != (spread{2, 1, 4}) {
		t.Errorf("ratio %v", got)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		reached, target float64
		want            string
	}{{0.9, 0.9, "ok (≥ 0.9)"}, {0.89, 0.9, "short of 0.9"}, {7, 0, ""}, {math.NaN(), 1, "short of 1"}} {
		if got := verdict(c.reached, c.target); got != c.want {
			t.Errorf("verdict(%v, %v) = %q, want %q", c.reached, c.target, got, c.want)
		}
	}
}
