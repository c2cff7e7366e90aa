package capacity

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// The stored results are of the inputs in the tree.
func TestStoredResults(t *testing.T) {
	p := newPlan(report.Options{Seeds: 5, Seed: 1})
	const again = "go run ./experiments scalability --part capacity"
	if err := p.CheckStored("full.json", again); err != nil {
		t.Error(err)
	}
}

// 100 T in half precision fit the 30 hosts of the paper, with their 11.776 TB each. Rows of 16 values in
// single precision are 400 TB without any overhead, and 10 hosts have a third of the memory.
func TestFits(t *testing.T) {
	list, err := fits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		refused          bool
		needed, overhead float64
	}{{false, 350e12, 24}, {true, 550e12, -8}, {true, 350e12, -14}} {
		f := &list[i]
		if math.Abs(f.Needed/want.needed-1) > 1e-6 || f.OverheadMost != want.overhead ||
			(f.Refusal != "") != want.refused {
			t.Errorf("%+v, want %+v", *f, want)
		}
		if want.refused && !strings.Contains(f.Refusal, "does not fit") {
			t.Errorf("refusal %q", f.Refusal)
		}
	}
}

// The control is judged by its ratio and by what binds it.
func TestControlFinding(t *testing.T) {
	name := few()[0].name(largest())
	for want, c := range map[string]controlResult{
		"The control holds: ":                {Case: name, Ratio: 0.7, Bottleneck: "PS memory"},
		"Missed: the control does not hold:": {Case: name, Ratio: 0.9, Bottleneck: "PS memory"},
		"Missed: the control does not hold":  {Case: name, Ratio: 0.7, Bottleneck: "DS"},
	} {
		if got := controlFinding([]controlResult{{Case: "other"}, c}); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A small plan has tables and a figure of its cases.
func TestReportOfASmallPlan(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	p.Samples, p.Steps, p.Seeds, p.Claims = 0, 2, 1, nil
	p.Cases = slices.DeleteFunc(p.Cases, func(c paper.Case) bool { return c.Choice.Mode != job.Hybrid })
	r, err := p.Measure(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := controls(r)
	if len(list) != 1+3*2 || list[0].Ratio != 1 || list[3].MemoryBusy <= list[0].MemoryBusy {
		t.Errorf("controls %+v", list)
	}
	if c := &list[2]; c.Case != few()[0].name(largest()) || c.BusyPS < 0.95 || c.Ratio > 1-slowerLeast {
		t.Errorf("PSs of the control do not bind: %+v", c)
	}
	flat := r.Ratio(few()[0].name(largest()), few()[0].name(smallest())).Interval()
	q := (&results{Controls: list, Flatness: flat}).controlQuantities()
	if len(q) != 2 || q[0].Estimate > 1-slowerLeast || q[1].Estimate > 1-flatWithin {
		t.Errorf("quantities %+v", q)
	}
	f := figure(&r.Results)
	if len(f.Lines) != 3+3 || len(f.Lines[1].Points) != 2 || len(f.Lines[2].Points) != 5 {
		t.Errorf("figure %+v", f)
	}
	bySize, byMode := bars(&r.Results).Columns.Panels[0], bars(&r.Results).Columns.Panels[1]
	first, second := bySize.Groups[0].Columns[0], bySize.Groups[1].Columns[0]
	sync := byMode.Groups[0].Columns[0]
	if first.Value != r.Case(smallest().name()).Middle/1e6 || first.Paper != 1.8 || second.Value != 0 ||
		second.Paper != 1.86 || sync.Paper != 0.73 {
		t.Errorf("columns %+v and %+v", bySize, byMode)
	}
	for _, table := range controlTables(list) {
		if len(table.Rows) == len(list) {
			continue
		}
		t.Errorf("table %+v", table)
	}
}
