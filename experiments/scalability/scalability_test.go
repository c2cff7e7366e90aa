package scalability

import (
	"strings"
	"testing"

	"tandem/experiments/paper"
	"tandem/experiments/report"
)

// The stored results are of the inputs in the tree.
func TestStoredResults(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 5, Seed: 1})
	if err := p.CheckStored("quick.json", "go run ./experiments scalability --quick"); err != nil {
		t.Error(err)
	}
}

// Every bar is a claim, and those from which price lists are inferred are marked.
func TestPlanHasAllBars(t *testing.T) {
	p := newPlan(report.Options{Seeds: 2})
	var inputs []string
	for _, c := range p.Claims {
		if c.Input {
			inputs = append(inputs, c.What)
		}
	}
	if len(p.Cases) != 48 || len(p.Claims) != 48+3*6 {
		t.Errorf("%d cases, %d claims", len(p.Cases), len(p.Claims))
	}
	const want = "Criteo, PaddlePaddle, 1 GPU; Criteo, XDL async, 1 GPU; Criteo, XDL sync, 1 GPU"
	if got := strings.Join(inputs, "; "); got != want {
		t.Errorf("inputs %s, want %s", got, want)
	}
}

// The report of a small plan has a figure with the bars and the predictions.
func TestFigure(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	p.Samples, p.Cases, p.Claims = 4, p.Cases[:2], p.Claims[:2]
	r, err := p.Measure(t.Context(), report.Options{Folder: t.TempDir()}, "small")
	if err != nil {
		t.Fatal(err)
	}
	f := dataSets()[0].figure(r)
	bars, ours := f.Lines[0], f.Lines[2]
	if len(f.Lines) != 12 || len(bars.Points) != 4 || bars.Points[3].Y != 178.9 || len(ours.Points) != 2 ||
		ours.Points[1].Y != r.Prediction("Taobao, Persia, 2 GPUs").Mid.Throughput/1e3 {
		t.Errorf("figure %+v", f)
	}
	if r.Comparisons[0].Verdict == paper.NoInterval {
		t.Errorf("%+v", r.Comparisons[0])
	}
	if _, err := f.PNG(); err != nil {
		t.Error(err)
	}
}
