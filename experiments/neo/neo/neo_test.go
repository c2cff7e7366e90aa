package neo

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/sim/predict"
)

// The stored results are of the inputs in the tree.
func TestStoredResults(t *testing.T) {
	p := newPlan(report.Options{Seeds: 5, Seed: 1})
	if err := p.CheckStored("full.json", "go run ./experiments neo"); err != nil {
		t.Error(err)
	}
}

// smallResults returns the results of the plan with a small model on 8 ranks.
func smallResults(t *testing.T) (*paper.Plan, *paper.Predictions, *results) {
	t.Helper()
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	p.Samples, p.Seeds = 3, 1
	for i := range p.Cases {
		c := &p.Cases[i].Choice
		c.Model, c.GPUs = "criteo", min(8, c.GPUs)
	}
	r, err := p.Measure(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p, r, divide(r)
}

func TestLead(t *testing.T) {
	p, all, r := smallResults(t)
	t.Run("factors multiply to it", func(t *testing.T) { testFactors(t, p, all, r) })
	t.Run("tables fit a terminal", func(t *testing.T) {
		for i := range r.Factors {
			r.Factors[i].Input = "system.embedding-kernels.host-reserve"
		}
		reporttest.CheckWidth(t, draw(p, r))
	})
	t.Run("trainers are unknown", func(t *testing.T) { testTrainers(t, p, all, r) })
}

// Each factor begins where the one before ends, so their product is the lead, and the residual is what is
// left of the published 40.
func testFactors(t *testing.T, p *paper.Plan, all *paper.Predictions, r *results) {
	product := 1.0
	for i, f := range r.Factors {
		product *= f.Estimate
		if i > 0 && f.Over != r.Factors[i-1].Of {
			t.Errorf("%s is over %q, want %q", f.What, f.Over, r.Factors[i-1].Of)
		}
		if f.Low > f.High {
			t.Errorf("%+v", f)
		}
	}
	rate := func(name string) float64 { return all.Of[name].Mid.Throughput }
	lead := rate(onZionEX) / rate(cpuName(middleTrainers))
	if r.Product.Estimate != lead || math.Abs(product/lead-1) > 1e-9 ||
		math.Abs(r.Residual.Estimate*lead-40) > 1e-9 || r.Residual.Low*r.Product.High > 40 {
		t.Errorf("factors multiply to %v, product %+v, lead %v, residual %+v", product, r.Product, lead,
			r.Residual)
	}
	out := draw(p, r)
	if len(out.Quantities) != 4+4+2 || len(out.Figures[0].Bars) != 5 || out.Figures[0].Bars[4].Target != 40 ||
		!strings.Contains(out.Findings[0], string(r.Verdict)) {
		t.Errorf("quantities %+v, bars %+v, findings %q", out.Quantities, out.Figures[0].Bars, out.Findings)
	}
}

// The interval of what depends on the trainers holds every number of them, and that of other factors does not
// depend on them.
func testTrainers(t *testing.T, p *paper.Plan, all *paper.Predictions, r *results) {
	for _, c := range p.Claims {
		if c.Over == "" {
			continue
		}
		at := all.Of[c.Of].Samples[1] / all.Of[c.Over].Samples[1]
		if at < r.Product.Low*0.9 || r.Product.High*1.1 < at {
			t.Errorf("%s: %v is not in %+v", c.What, at, r.Product.Interval)
		}
	}
	placement := r.Factors[2]
	for k, x := range all.Of[placement.Over].Samples {
		at := all.Of[placement.Of].Samples[k] / x
		if at < placement.Low*0.9 || placement.High*1.1 < at {
			t.Errorf("point %d: %v is not in %+v", k, at, placement.Interval)
		}
	}
}

// Only what the abstract or a secondary source has is compared, and the clusters differ in one thing each.
func TestPlan(t *testing.T) {
	p := newPlan(report.Options{Seeds: 2})
	for _, c := range p.Claims {
		if v := c.Figure.Value; v != 40 && v != 1.7 {
			t.Errorf("%s is compared with %v", c.What, v)
		}
	}
	slow, fast := p.Cases[len(p.Cases)-2].Choice, p.Cases[len(p.Cases)-1].Choice
	slow.Set = nil
	if slow.Preset != fast.Preset || slow.GPUs != fast.GPUs || slow.Model != fast.Model || fast.Set != nil {
		t.Errorf("%+v and %+v differ in more than the network", slow, fast)
	}
	for _, c := range p.Cases {
		if _, err := c.Choice.Job(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// On fewer than 128 GPUs, a part of the tables lies on SSDs, which bind; so there is no curve of scaling.
func TestFewerGPUsNeedSSDs(t *testing.T) {
	rate := func(gpus int) float64 {
		choice := paper.Choice{Preset: "zionex-128", Model: "neo-12t", Mode: job.Sync, GPUs: gpus}
		j, err := choice.Job()
		if err != nil {
			t.Fatal(err)
		}
		p, err := predict.Run(t.Context(), j, predict.Options{Seeds: 1, Steps: 4})
		if err != nil {
			t.Fatal(err)
		}
		return p.Mid.Throughput
	}
	if half, all := rate(64), rate(128); half > all/20 {
		t.Errorf("%.3g samples/s on 64 GPUs, %.3g on 128", half, all)
	}
}
