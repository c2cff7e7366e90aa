package capacity

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/metric"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/runtime/probe"
	"tandem/sim/device"
)

// tinyCurve is a plan of a second.
func tinyCurve() *curvePlan {
	return &curvePlan{Seed: 1, Sizes: []int{20_000, 60_000}, Dim: curveDim, Batch: 4096, Batches: 2,
		Rounds: 5,
		Small:  64 << 20, Huge: 64 << 20, Reference: 64 << 20}
}

// A tiny plan has times of every size, of reads and of updates, and everything that a report shows.
func TestTinyCurve(t *testing.T) {
	p := tinyCurve()
	c, err := p.measure(t.Context(), report.Options{Progress: reporttest.Progress(t)})
	if err == device.ErrChases {
		t.Skip("the cache of this machine is too large for the small buffers of this test")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Points) != 2 || len(c.Sizes[0].Reads) != p.Rounds || len(c.Sizes[1].Reference) != p.Rounds {
		t.Fatalf("%+v", c)
	}
	for i := range c.Points {
		for k, v := range []curveTime{c.Points[i].Read, c.Points[i].Update} {
			first := []curveTime{c.Points[0].Read, c.Points[0].Update}[k]
			if !(v.Measured.Low > 0 && v.Measured.Low <= v.Measured.Estimate && v.Measured.High < 1e5) ||
				!(v.Simulated > 0) || v.Null != first.Measured.Estimate {
				t.Errorf("size %d, time %d: %+v", i, k, v)
			}
		}
	}
	var out report.Report
	c.addTo(&out)
	if len(out.Findings) != 2 || len(out.Tables) != 2 || len(out.Quantities) != 7 || len(out.Figures) != 1 ||
		len(out.Figures[0].Lines) != 6 {
		t.Errorf("%+v", out)
	}
	if _, err := out.Figures[0].SVG(); err != nil {
		t.Error(err)
	}
}

// madeUp is a curve whose times are known: at 3 M rows the simulated read takes a tenth more, at 10 M rows a
// fifth less.
func madeUp() *curve {
	at := func(v float64) metric.Interval {
		return metric.Interval{Estimate: v, Low: v * 0.99,
			High: v * 1.01}
	}
	one := func(rows int, measured, simulated float64) curvePoint {
		t := curveTime{at(measured), simulated, 20}
		return curvePoint{rows, float64(rows) * rowBytes, 1, t, t}
	}
	return &curve{Machine: &chased{}, Points: []curvePoint{one(1e6, 20, 20), one(3e6, 30, 33), one(1e7,
		40, 32)}}
}

// Errors are of sizes that were not calibrated, relative to what was measured. The goal is met, missed or
// open by the interval.
func TestLargestError(t *testing.T) {
	c := madeUp()
	reads := []curveTime{c.Points[0].Read, c.Points[1].Read, c.Points[2].Read}
	if e, at := largestError(reads, simulatedTime); math.Abs(e.Estimate-0.2) > 1e-9 || at != 2 ||
		!(e.Low > 0.19 && e.Low < e.Estimate && e.High > e.Estimate && e.High < 0.21) {
		t.Errorf("largest error %+v at size %d, want 0.2 at 2", e, at)
	}
	if e, _ := largestError(reads, nullTime); math.Abs(e.Estimate-0.5) > 1e-9 {
		t.Errorf("null: %+v, want 0.5", e)
	}
	for want, simulated := range map[string]float64{"Missed: ": 32, "Met: ": 38, "Open: ": 34.1} {
		c.Points[2].Read.Simulated = simulated
		var out report.Report
		c.addTo(&out)
		if got := out.Findings[0]; !strings.HasPrefix(got, want) {
			t.Errorf("simulated %v ns of 40: %q, want %q", simulated, got, want)
		}
		if q := out.Quantities; q[0].Name != "lookup-error-largest" || q[2].Estimate != 2 {
			t.Errorf("quantities %+v", q)
		}
	}
}

// The work of a core is what the smallest size takes beyond the wait for memory, and the curve of another
// size follows from the law alone.
func TestSimulatedCurveByHand(t *testing.T) {
	// No cache and no walks: every line is read from memory, in 10 ns. A read waits for a line of the index
	// and 1.5 of the row, of which the half comes with its neighbour for 0.4 of the time: 22 ns, and 100 ns
	// for each further group. An update needs no index, and writes its lines back: 24 ns.
	host := device.Host{Name: "by hand", MemoryLatency: 100, Cache: 0, CacheLatency: 1, TLBEntries: 1 << 30,
		LinesInFlight: 10, WalksInFlight: 10, NextLine: 0.4}
	c := &curve{Machine: &chased{Memory: host}}
	for _, rows := range []int{1e6, 1e8} {
		c.Sizes = append(c.Sizes, measuredSize{Rows: rows, Reads: []float64{30, 30, 30},
			Updates:   []float64{70, 70, 70},
			Reference: []float64{10, 10, 10}})
	}
	c.Sizes[1].Reference = []float64{20, 20, 20} // by then the memory is half as fast
	c.simulate(64<<20, &probe.Result{Cores: 1, Multiply: 1e9, Copy: 1e12, Lookup: 1, Update: 1, Message: 1})
	one, other := 100*table.Displaced(1e6), 100*table.Displaced(1e8)
	want := []float64{30, 70, 30 - 22 - one + 44 + other, 70 - 24 + 48}
	got := []float64{c.Points[0].Read.Simulated, c.Points[0].Update.Simulated, c.Points[1].Read.Simulated,
		c.Points[1].Update.Simulated}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 0.01 {
			t.Errorf("simulated %v ns, want %v", got, want)
			break
		}
	}
	if math.Abs(c.Work[0]-(8-one)) > 0.01 || math.Abs(c.Work[1]-46) > 0.01 || c.Points[1].Drift != 2 {
		t.Errorf("work %v, want 8 less the groups and 46 ns; drift %v", c.Work, c.Points[1].Drift)
	}
}

// Sizes follow from the memory that is there, and what is left out is named.
func TestSizesFitTheMemory(t *testing.T) {
	quick, full := report.Options{Quick: true}, report.Options{}
	for _, test := range []struct {
		name      string
		o         report.Options
		most      int
		available unit.Bytes
		want      []int
		leftOut   int
	}{
		{"quick", quick, 0, 16e9, []int{1e6, 3e6, 1e7}, 0},
		{"full", full, 0, 26e9, []int{1e6, 3e6, 1e7, 3e7, 1e8, 2e8, 3e8}, 0},
		{"chosen", quick, 5e6, 16e9, []int{1e6, 3e6, 5e6}, 0},
		{"two hundred millions need 12 GB", full, 2e8, 15.6e9, []int{1e6, 3e6, 1e7, 3e7, 1e8, 2e8}, 0},
		{"less memory", full, 0, 13e9, []int{1e6, 3e6, 1e7, 3e7, 1e8, 158e6}, 2},
		{"no memory", quick, 0, 100e6, nil, 3},
	} {
		sizes, leftOut := newCurvePlan(test.o, test.most).within(test.available)
		var out report.Report
		(&curve{Available: test.available, LeftOut: leftOut}).addTo(&out)
		if !slices.Equal(sizes, test.want) || len(leftOut) != test.leftOut ||
			(len(out.Notes) == 0) != (test.leftOut == 0) || out.Figures != nil {
			t.Errorf("%s: %v, left out %v, %q; want %v", test.name, sizes, leftOut, out.Notes, test.want)
		}
		if n := len(sizes); n > 0 && sizes[n-1]*rowBytes > tableMost {
			t.Errorf("%s: %d rows are more than 20 GB", test.name, sizes[n-1])
		}
	}
	tooMuch := &curvePlan{Sizes: []int{1e15}}
	c, err := tooMuch.measure(t.Context(), quick)
	if err != nil || len(c.Points) != 0 || len(c.LeftOut) != 1 {
		t.Errorf("%+v, %v without memory", c, err)
	}
	if checkRows(0) != nil || checkRows(1e7) != nil || checkRows(-1) == nil || checkRows(100) == nil {
		t.Error("--most-rows is not checked")
	}
}
