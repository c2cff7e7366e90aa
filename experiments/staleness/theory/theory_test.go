package theory

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/staleness/theory/stability"
)

var long = flag.Bool("long", false, "measure all thresholds of the experiment: a minute")

// mustThreshold returns the product η·q·h of a threshold.
func mustThreshold(t *testing.T, s samples, d int) float64 {
	t.Helper()
	one := probe{samples: s, Delay: d, Precision: 0.002}
	rate, err := one.threshold(t.Context(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return rate * s.share() * curvature
}

// mustExcess returns the outcome of a training at a point with a delay.
func mustExcess(t *testing.T, at point, d, steps int) outcome {
	t.Helper()
	p := &plan{Steps: steps}
	at.Delay = d
	o, err := p.excess(at, true, 1).excess(t.Context(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// With drawn samples, weights converge below the boundary of the mean square.
func TestDrawnSamplesConvergeBelowTheMeanSquareBoundary(t *testing.T) {
	c := samples{Ids: 32, Batch: thresholdBatch, Balanced: true, Random: true, Seed: 1}
	limit := stability.MeanSquareBoundary(1, c.spread())
	if got := mustThreshold(t, c, 1); got < limit || got > stability.Boundary(1) {
		t.Errorf("threshold %.4f, want %.4f to %.4f", got, limit, stability.Boundary(1))
	}
}

// The theorem and least squares: the excess loss grows in proportion to τ·q·η, with the slope h. The
// prediction is exact, and the interval of the test is six standard errors of such a pair: a weight is
// forgotten in 1/a steps, so there are ids·a·steps independent squares, and late and timely weights differ by
// half of a·d.
func TestExcessLossGrowsByDelayTimesShareTimesRate(t *testing.T) {
	const steps = 10_000
	base := point{Ids: 8, Delay: 4, Product: 0.05}
	later, rarer, slower := base, base, base
	later.Delay *= 2
	rarer.Ids, rarer.Product = 16, base.Product/2
	slower.Product = base.Product / 2
	growths := map[point]float64{}
	for _, at := range []point{base, later, rarer, slower} {
		var excess [2]float64
		for i, d := range []int{0, at.Delay} {
			o := mustExcess(t, at, d, steps)
			if math.Abs(o.Missed-float64(d)) > 0.01 { // the first d steps of a run miss fewer
				t.Errorf("%+v: %v updates missed under a delay of %d", at, o.Missed, d)
			}
			excess[i] = o.Excess
		}
		growth := excess[1]/excess[0] - 1
		want := stability.Variance(at.Delay, at.Product)/stability.Variance(0, at.Product) - 1
		if most := 6 * want / math.Sqrt(float64(at.Ids)*at.Product*steps); math.Abs(growth-want) > most {
			t.Errorf("%+v: growth %.4f, want %.4f ± %.4f", at, growth, want, most)
		}
		growths[at] = growth
	}
	if !(growths[slower] < growths[base] && growths[rarer] < growths[base] &&
		growths[base] < growths[later]) {
		t.Errorf("growth %v: want less at a lower rate or share, and more at a longer delay", growths)
	}
}

// The theorem of docs/theory.md bounds the mean squared gradient, and for one row per sample it is within a
// factor of 2 for the noise and 4 for the staleness, and of 2 for the label noise, whose bound is ½ in place
// of ¼.
func TestTheoremBoundsTheMeanSquaredGradient(t *testing.T) {
	p := &plan{Steps: 5_000}
	for _, at := range []point{{Ids: 8, Delay: 8, Product: 0.05}, {Ids: 8, Delay: 1, Product: 0.05}} {
		o := mustExcess(t, at, at.Delay, p.Steps)
		bound, ok := p.bound(at, o.Missed)
		if ratio := bound / o.Gradient; !ok || ratio < 1 || ratio > 8 {
			t.Errorf("%+v: the bound is %.2f times the mean squared gradient (within its conditions: %t)", at,
				ratio,
				ok)
		}
	}
	for _, at := range []point{{Ids: 8, Delay: 11, Product: 0.05}, {Ids: 8, Delay: 0, Product: 0.6}} {
		if _, ok := p.bound(at, 1); ok {
			t.Errorf("%+v is said to be within the conditions", at)
		}
	}
}

// Batches have what the predictions assume.
func TestCoins(t *testing.T) {
	for _, s := range []samples{
		{Ids: 4, Batch: 64, Balanced: true}, {Ids: 4, Batch: 64, Balanced: true, Random: true},
		{Ids: 4, Batch: 64}, {Ids: 4, Batch: 64, Random: true},
	} {
		c := coins{samples: s}
		const steps = 4000
		var heads, squares float64 // per step
		for step := range steps {
			b, err := c.Read(step)
			if err != nil {
				t.Fatal(err)
			}
			var count, ones [4]float64
			for i := range b.Samples {
				id := b.Slots[0].SampleIDs(i)[0]
				count[id]++
				ones[id] += float64(b.Labels[i])
			}
			if c.Balanced && ones[1] != count[1]/2 || !c.Random && count[1] != 16 {
				t.Fatalf("%+v: %v samples of id 1, %v of them labelled 1", c, count[1], ones[1])
			}
			heads += ones[1] / steps
			squares += square(count[1]/16-1) / steps
		}
		// The share of 1 is within five standard errors of ½, and the spread is as spread says.
		if math.Abs(heads-8) > 5*math.Sqrt(16.*2/steps) {
			t.Errorf("%+v: %v of 16 samples are labelled 1", c, heads)
		}
		if math.Abs(squares-c.spread()) > 5*math.Sqrt(2./steps)*c.spread() {
			t.Errorf("%+v: the share varies by %v, want %v", c, squares, c.spread())
		}
	}
}

// tiny returns a plan of seconds.
func tiny() *plan {
	p, _ := newPlan(report.Options{Seeds: 2, Seed: 1, Quick: true})
	p.Ids, p.Delays, p.Precision = []int{1, 4}, []int{0, 1}, 0.02
	p.Points, p.Steps = p.Points[:2], 1000
	p.Taus, p.ThreadSteps = []int{0, 7}, 100
	return p
}

// A plan of every kind of measurement ends in a report, and a second run in its folder measures nothing and
// reports the same. Half of the lines with the rest of one are continued.
func TestResumedRunMeasuresNothingTwice(t *testing.T) {
	p, folder := tiny(), t.TempDir()
	measured := 0
	o := report.Options{Folder: folder, Progress: func(int, int, string) { measured++ }}
	first, err := p.measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "measurements.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.Count(text, []byte("\n"))
	if measured != all || all != 2*2+2*2+4+2*1+2*3 {
		t.Errorf("%d measurements, %d lines", measured, all)
	}
	r := p.report(first)
	reporttest.CheckWidth(t, r)
	if err := r.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
	for _, kept := range []int{len(text), len(text)/2 - 1} {
		if err := os.WriteFile(path, text[:kept], 0o644); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(text[:kept], []byte("\n"))
		measured = 0
		again, err := p.measure(t.Context(), o)
		if err != nil || measured != all-lines {
			t.Fatalf("%d measurements after %d of %d, error %v", measured, lines, all, err)
		}
		if first.Thresholds[3].Measured != again.Thresholds[3].Measured ||
			first.Growth[1].Growth != again.Growth[1].Growth {
			t.Errorf("the resumed run differs: %+v and %+v", first, again)
		}
	}
	if err := os.WriteFile(path, []byte("{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.measure(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "measurements.jsonl:1: ") {
		t.Errorf("a broken line: error %v", err)
	}
}

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tiny().measure(ctx, report.Options{Folder: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}

// The search says when it cannot begin.
func TestThresholdOfADelayThatIsTooLong(t *testing.T) {
	one := probe{samples: samples{Ids: 1, Batch: 2, Balanced: true, Seed: 1}, Delay: 700, Precision: 0.1}
	if _, err := one.threshold(t.Context(), backend.Backend{}); err == nil ||
		!strings.Contains(err.Error(), "shorten the delay of 700 steps") {
		t.Errorf("error %v", err)
	}
}
