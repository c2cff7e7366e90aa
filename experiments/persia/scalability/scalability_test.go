package scalability

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// The stored results are of the inputs in the tree.
func TestStoredResults(t *testing.T) {
	p := newPlan(report.Options{Seeds: 5, Seed: 1})
	if err := p.CheckStored("full.json", "go run ./experiments scalability --part scalability"); err != nil {
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
	if len(p.Cases) != 48+3*4+3 || len(p.Claims) != 48+3*(2*2+1+2*3)+3 {
		t.Errorf("%d cases, %d claims", len(p.Cases), len(p.Claims))
	}
	const want = "Criteo, PaddlePaddle, 1 GPU; Criteo, XDL async, 1 GPU; Criteo, XDL sync, 1 GPU; " +
		"Criteo, 1 GPU, Persia ÷ PaddlePaddle; Criteo, 1 GPU, Persia ÷ XDL async; " +
		"Criteo, 1 GPU, Persia ÷ XDL sync"
	if got := strings.Join(inputs, "; "); got != want {
		t.Errorf("inputs %s, want %s", got, want)
	}
}

// The paper's share of the bar without dense communication is 0.28, 0.27 and 0.30, as its bars have it, and
// stands beside the share of the same GPUs simulated.
func TestSharesOfTheBarWithoutCommunication(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	p.Samples, p.Steps, p.Seeds = 4, 2, 1
	p.Cases = slices.DeleteFunc(p.Cases, func(c paper.Case) bool {
		return c.Choice.Mode != job.Hybrid || c.Choice.System != "" || c.Choice.GPUs%8 > 1
	})
	p.Claims = slices.DeleteFunc(p.Claims, func(c paper.Claim) bool {
		return !strings.HasPrefix(c.Name, "share")
	})
	r, err := p.Measure(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.277, 0.274, 0.301} {
		d := &paper.ScalingFigure()[i]
		for _, s := range persias() {
			ours := r.Ratio(d.Case(s.name, 8), d.Case(s.name, 1)).Middle / 8
			c := r.Comparison(shareName(d, s.products))
			if math.Abs(c.Figure.Value-want) > 0.001 || math.Abs(c.Middle-ours) > 1e-9 {
				t.Errorf("%s: paper %v, want %v; ours %v, want %v", c.What, c.Figure.Value, want, c.Middle,
					ours)
			}
		}
	}
	// A faster wire is a larger share, and the three wires are the range of the unknown one.
	before := 0.0
	for _, wire := range wires() {
		name := "share-of-no-communication-criteo-8-wire-" + strings.ToLower(wire[:len(wire)-2])
		c := r.Comparison(name)
		if c.Middle <= before {
			t.Fatalf("%s: %+v, want a larger share than %v", name, c, before)
		}
		before = c.Middle
	}
	low, mid, high := bandwidth(t, r.Jobs["Criteo, Persia, 8 GPUs"])
	if got := []string{low, mid, high}; !slices.Equal(got, wires()) {
		t.Errorf("wires %v, want %v", wires(), got)
	}
	if got := wireFinding(&r.Results); strings.Count(got, "GB/s: ") != 3 {
		t.Errorf("wires: %q", got)
	}
	if f, findings := shares(&r.Results); len(f.Bars) != 6 || len(findings) != 3 {
		t.Errorf("%d bars, findings %q", len(f.Bars), findings)
	}
}

// bandwidth returns the range of the wire between GPUs.
func bandwidth(t *testing.T, j *predict.Job) (low, mid, high string) {
	t.Helper()
	e, err := j.Parameters().Find("inside.bandwidth")
	if err != nil {
		t.Fatal(err)
	}
	l, m, h := e.Span()
	return e.Text(l), e.Text(m), e.Text(h)
}

// The report of a small plan has a figure with the bars and the predictions.
func TestFigure(t *testing.T) {
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	p.Samples, p.Cases, p.Claims = 4, p.Cases[:2], p.Claims[:2]
	r, err := p.Measure(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := bars(&r.Results)
	taobao := f.Columns.Panels[0]
	ours, missing := taobao.Groups[1].Columns[0], taobao.Groups[1].Columns[1]
	if len(f.Columns.Panels) != 3 || len(taobao.Groups) != 4 || taobao.Groups[3].Columns[0].Paper != 178.9 ||
		ours.Value != r.Of["Taobao, Persia, 2 GPUs"].Mid.Throughput/1e3 || missing.Value != 0 {
		t.Errorf("figure %+v", taobao)
	}
	if r.Comparisons[0].Verdict == paper.NoInterval {
		t.Errorf("%+v", r.Comparisons[0])
	}
	if _, err := f.PNG(); err != nil {
		t.Error(err)
	}
}
