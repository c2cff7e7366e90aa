package kwai

import (
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/paper"
	"tandem/experiments/report"
)

// The stored results are of the inputs in the tree.
func TestStoredResults(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 5, Seed: 1})
	if err := p.CheckStored("quick.json", "go run ./experiments kwai --quick"); err != nil {
		t.Error(err)
	}
}

// No claim is an input, and all claims have their cases, in both versions.
func TestPlan(t *testing.T) {
	for _, quick := range []bool{true, false} {
		p := newPlan(report.Options{Quick: quick, Seeds: 2})
		known := map[string]bool{"": true}
		for _, c := range p.Cases {
			known[c.Name] = true
		}
		printed := 0
		for _, c := range p.Claims {
			if c.Input || !known[c.Over] || !quick && !known[c.Of] {
				t.Errorf("claim %+v", c)
			}
			if c.Figure == paper.Printed(3.8, 0.1) {
				printed++
			}
		}
		if printed != 2 {
			t.Errorf("%d claims about the printed 3.8, want one for 8 GPUs and one for 64", printed)
		}
	}
}

// The figure has a curve of the paper for each mode beside the predictions.
func TestFigure(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	p.Samples, p.Steps, p.Seeds, p.Claims = 2, 2, 1, nil
	p.Cases = slices.DeleteFunc(p.Cases, func(c paper.Case) bool { return c.Choice.Mode != job.Hybrid })
	r, err := p.Measure(t.Context(), report.Options{Folder: t.TempDir()}, "small")
	if err != nil {
		t.Fatal(err)
	}
	f := figure(r)
	if len(f.Lines) != 9 || len(f.Lines[3].Points) != 6 || len(f.Lines[5].Points) != 2 ||
		f.Lines[5].Points[1].Y != r.Prediction(caseName(job.Hybrid, 64)).Mid.Throughput/1e3 {
		t.Errorf("figure %+v", f)
	}
}
