package rivals

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// The stored results are of the inputs in the tree.
func TestStoredResults(t *testing.T) {
	p := newPlan(report.Options{Seeds: 5, Seed: 1})
	if err := p.CheckStored("full.json", "go run ./experiments scalability --part rivals"); err != nil {
		t.Error(err)
	}
}

// smallResults returns the results of a small plan.
func smallResults(t *testing.T) (*paper.Plan, *paper.Predictions, *results) {
	t.Helper()
	p := newPlan(report.Options{Quick: true, Seeds: 2})
	p.Samples, p.Steps, p.Seeds = 4, 2, 1
	r, err := p.Measure(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p, r, divide(r)
}

// A lead is the product of its factors. The algorithm is hybrid ÷ the mode of the rival with the same system
// software, and no less than 1 of both if the rival may run hybrid itself.
func TestLeadsAreProductsOfTheirFactors(t *testing.T) {
	p, all, r := smallResults(t)
	if len(r.Leads) != 2*3*3 || len(r.Transfers) != 3*3 {
		t.Fatalf("%d leads, %d transfers", len(r.Leads), len(r.Transfers))
	}
	for _, l := range r.Leads {
		if got := l.Algorithm.Estimate * l.Implementation.Estimate; math.Abs(got-l.Published.Value) > 1e-9 {
			t.Errorf("%s, %s, %d GPUs: the product is %v, want %v", l.Data, l.Rival, l.GPUs, got,
				l.Published.Value)
		}
		if l.Implementation.Low*l.Algorithm.High > l.Published.Low+1e-9 ||
			l.Implementation.High*l.Algorithm.Low < l.Published.High-1e-9 {
			t.Errorf("%+v: the intervals do not hold what the bars allow", l)
		}
		a := l.Algorithm
		if l.Rival == "PaddlePaddle" && (a.Estimate != 1 || a.Low > 1 || a.High < 1) {
			t.Errorf("%+v: PaddlePaddle may run hybrid", l)
		}
	}
	taobao := paper.ScalingFigure()[0]
	of := func(mode string) float64 { return all.Of[taobao.Case(mode, 8)].Mid.Throughput }
	if l := r.Leads[0]; l.Rival != "XDL sync" || l.Algorithm.Estimate != of(job.Hybrid)/of(job.Sync) ||
		math.Abs(l.Published.Value-8.40) > 0.01 {
		t.Errorf("%+v", l)
	}
	sync := all.Of[taobao.Case(job.Sync, 8)].Samples
	for k, x := range all.Of[taobao.Case(job.Hybrid, 8)].Samples {
		if a := r.Leads[0].Algorithm; x/sync[k] < a.Low*0.95 || a.High*1.05 < x/sync[k] {
			t.Errorf("point %d: %v is not in %+v", k, x/sync[k], a)
		}
	}
	out := draw(p, r)
	const printed = "Of the printed 7.12 × over XDL async on Taobao (7.07 in the bars)"
	if len(out.Quantities) != 2*18+9 || len(out.Figures[0].Bars) != 27 || len(out.Findings) != 4 ||
		!strings.HasPrefix(out.Findings[0], printed) {
		t.Errorf("%d quantities, %d bars, findings %q", len(out.Quantities), len(out.Figures[0].Bars),
			out.Findings)
	}
}

// If the implementation is the same factor on 8 GPUs as on 1, the lead grows as the algorithm's factor does.
func TestTransfersGrowAsTheAlgorithm(t *testing.T) {
	_, _, r := smallResults(t)
	for i := range r.Transfers {
		x := &r.Transfers[i]
		eight, one := &r.Leads[i], &r.Leads[9+i]
		want := one.Published.Value * eight.Algorithm.Estimate / one.Algorithm.Estimate
		if eight.Data != x.Data || one.Rival != x.Rival || math.Abs(x.Predicted.Estimate-want) > 1e-9 ||
			x.Null != one.Published.Value || x.Predicted.Low > want || x.Predicted.High < want {
			t.Errorf("%+v, want %v", x, want)
		}
	}
}

// The larger factor of a lead is counted only if it is larger over the whole interval.
func TestLargerFactor(t *testing.T) {
	one := func(a, i metric.Interval) lead {
		return lead{GPUs: 8, Published: paper.Figure{Value: a.Estimate * i.Estimate}, Algorithm: a,
			Implementation: i}
	}
	of := func(estimate, low, high float64) metric.Interval {
		return metric.Interval{Estimate: estimate, Low: low, High: high}
	}
	got := largerFinding([]lead{one(of(2, 1, 3), of(8, 4, 9)), one(of(2, 1, 3), of(4, 2.9, 9)),
		one(of(4, 3, 5), of(0.5, 0.4, 2)), {GPUs: 1}}, 8)
	const want = "On 8 GPUs, the implementation is the larger factor at every value of the unknown inputs " +
		"in 1 of 3 leads, the algorithm in 1. At the middle, the algorithm gives 25 to 200 % of a " +
		"lead's logarithm."
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
