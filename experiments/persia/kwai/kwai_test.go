package kwai

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// The stored results are of the inputs in the tree.
func TestStoredResults(t *testing.T) {
	p := newPlan(report.Options{Seeds: 5, Seed: 1})
	if err := p.CheckStored("full.json", "go run ./experiments scalability --part kwai"); err != nil {
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

// The points of the box have networks of many shapes, all of 34 M parameters.
func TestPointsHaveNetworksOfManyShapes(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	j, err := p.Cases[0].Choice.Job()
	if err != nil {
		t.Fatal(err)
	}
	depths, tapers := map[int]bool{}, 0
	for _, point := range j.Parameters().Sample(32, 1) {
		n := j.At(point).Model.Network()
		if got := float64(n.Parameters()); math.Abs(got/34e6-1) > 0.01 {
			t.Errorf("%v parameters, want 34e6", got)
		}
		depths[len(n.Top)] = true
		if 10*n.Top[1].Out < 9*n.Top[0].Out {
			tapers++
		}
	}
	if len(depths) < 4 || tapers < 16 {
		t.Errorf("%d depths, %d networks that taper; want 5 to 8 layers, and most", len(depths), tapers)
	}
}

// The shares of the shape are those of layers and of the input's width, and no other.
func TestShapeShare(t *testing.T) {
	got := shapeShare([]predict.Effect{{Name: "model.dense.taper", Share: 0.25},
		{Name: "model.ids", Share: 0.5}, {Name: "model.dim", Share: 0.125},
		{Name: "inside.bandwidth", Share: 0.1}})
	if got != 0.375 {
		t.Errorf("%v, want 0.375", got)
	}
}

// The figure has a curve of the paper for each mode beside the predictions.
func TestFigure(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	p.Samples, p.Steps, p.Seeds, p.Claims = 2, 2, 1, nil
	p.Cases = slices.DeleteFunc(p.Cases, func(c paper.Case) bool { return c.Choice.Mode != job.Hybrid })
	r, err := p.Measure(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := figure(&r.Results)
	hybrid := f.Lines[1:4] // of async there is the paper's alone
	if len(f.Lines) != 5 || len(hybrid[2].Points) != 6 || len(hybrid[1].Points) != 2 ||
		hybrid[1].Points[1].Y != r.Of[caseName(job.Hybrid, 64)].Mid.Throughput/1e3 {
		t.Errorf("figure %+v", f)
	}
}
