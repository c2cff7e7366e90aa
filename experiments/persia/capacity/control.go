package capacity

import (
	"fmt"
	"math"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/sim/predict"
)

// Target of the control: by how much 100 T is slower on PSs that bind. What binds must be a resource of PSs.
const (
	slowerLeast = 0.2
	psMemory    = "PS memory"
	ofPSs       = "PS "
)

// controlResult is the throughput of a size on few PS hosts.
type controlResult struct {
	Case   string  `json:"case"`
	Hosts  int     `json:"ps_hosts"`
	Size   float64 `json:"trillions"`
	Middle float64 `json:"samples_per_s"`
	// Ratio is the throughput divided by that of 100 T on 30 hosts, Low and High are the ends of its
	// interval.
	Ratio      float64 `json:"of_30_hosts"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Bottleneck string  `json:"bottleneck"`
	MemoryBusy float64 `json:"ps_memory_busy"` // share of the time
	BusiestPS  string  `json:"busiest_of_ps"`  // the busiest resource of PSs
	BusyPS     float64 `json:"busiest_of_ps_busy"`
}

// controls returns the results on few PS hosts, those of 100 T on 30 hosts first.
func controls(r *paper.Results) []controlResult {
	all := r.Prediction(reference().name(largest()))
	one := func(c control, s size) controlResult {
		p := r.Prediction(c.name(s))
		out := controlResult{
			Case: c.name(s), Hosts: c.hosts, Size: s.trillions, Middle: p.Mid.Throughput,
			Ratio: p.Mid.Throughput / all.Mid.Throughput, Bottleneck: p.Mid.Roles.Bottleneck,
		}
		if ratio := predict.Ratio(p, all); ratio != nil {
			out.Low, out.High = ratio.Low, ratio.High
		}
		for _, u := range p.Mid.Stations {
			if u.Name == psMemory {
				out.MemoryBusy = u.Busy
			}
			if strings.HasPrefix(u.Name, ofPSs) && u.Busy > out.BusyPS {
				out.BusiestPS, out.BusyPS = u.Name, u.Busy
			}
		}
		return out
	}
	list := []controlResult{one(reference(), largest())}
	for _, c := range few() {
		for _, s := range sizes() {
			if r.Prediction(c.name(s)) != nil {
				list = append(list, one(c, s))
			}
		}
	}
	return list
}

// caseColumns is the width of names of cases in tables.
const caseColumns = 22

// controlTables have a row for each size on few PS hosts: throughput, and what binds it.
func controlTables(list []controlResult) []cli.Table {
	rates := cli.Table{
		Caption: "Control: slower PSs with memory enough",
		Header:  []string{"case", "M samples/s", "÷ the first", "interval"}, Words: 1,
	}
	bounds := cli.Table{
		Caption: "Control: what binds, and how busy the PSs are",
		Header:  []string{"case", "bound by", "busiest", "busy", "PS memory"}, Words: 3,
	}
	for i := range list {
		c := &list[i]
		interval := "–"
		if c.Low > 0 {
			interval = fmt.Sprintf("%.2f–%.2f", c.Low, c.High)
		}
		rates.Rows = append(rates.Rows, []string{c.Case, fmt.Sprintf("%.2f", c.Middle/1e6),
			fmt.Sprintf("%.2f", c.Ratio), interval})
		bounds.Rows = append(bounds.Rows, []string{cli.WrapAt(c.Case, "  ", 0, caseColumns),
			cli.WrapAt(c.Bottleneck, "  ", 0, caseColumns), c.BusiestPS, percent(c.BusyPS),
			percent(c.MemoryBusy)})
	}
	return []cli.Table{rates, bounds}
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// controlFinding compares 100 T on the first control with the target.
func controlFinding(list []controlResult) string {
	for i := range list {
		c := &list[i]
		if c.Case != few()[0].name(largest()) {
			continue
		}
		outcome := "The control holds"
		if c.Ratio > 1-slowerLeast || !strings.HasPrefix(c.Bottleneck, ofPSs) {
			outcome = "Missed: the control does not hold"
		}
		interval := ""
		if c.Low > 0 {
			interval = fmt.Sprintf(" (interval %.2f–%.2f)", c.Low, c.High)
		}
		return fmt.Sprintf("%s: %s has %.2f of the throughput on the PSs of the paper%s, target at most %g; "+
			"it is bound by %s. %s, the busiest resource of PSs, are busy for %s of the time.", outcome,
			c.Case, c.Ratio, interval, 1-slowerLeast, c.Bottleneck, c.BusiestPS, percent(c.BusyPS))
	}
	return ""
}

// flatnessFinding compares sizes where PSs bind and where they do not.
func flatnessFinding(r *paper.Results) string {
	smallest, c := sizes()[0], few()[0]
	ratio := func(small, large string) float64 {
		return r.Prediction(large).Mid.Throughput / r.Prediction(small).Mid.Throughput
	}
	most := largest()
	outcome := "flat within 5 %"
	flat := ratio(smallest.name(), most.name())
	if math.Abs(flat-1) > flatWithin {
		outcome = "not flat within 5 %"
	}
	return fmt.Sprintf("Throughput is %s: 100 T has %.3f of that of %g T. On %s, where PSs bind, "+
		"100 T has %.3f: rows of larger tables cost more, and show where nothing hides them.", outcome, flat,
		smallest.trillions, c, ratio(c.name(smallest), c.name(most)))
}

// flatWithin is by how much the throughput of sizes may differ.
const flatWithin = 0.05

// controlQuantities are the slowdown of 100 T on the first control, and the ratio of sizes there.
func controlQuantities(r *paper.Results) []report.Quantity {
	c, most, smallest := few()[0], largest(), sizes()[0]
	quantity := func(name, what, of, over string) report.Quantity {
		a, b := r.Prediction(of), r.Prediction(over)
		v := a.Mid.Throughput / b.Mid.Throughput
		q := report.Quantity{Name: name, What: what, Over: report.OverNothing,
			Interval: metric.Interval{Estimate: v, Low: v, High: v}}
		if i := predict.Ratio(a, b); i != nil {
			q.Low, q.High, q.Over = i.Low, i.High, report.OverUnknowns
		}
		return q
	}
	return []report.Quantity{
		quantity("control-slowdown", fmt.Sprintf("throughput of 100 T on %s ÷ the paper's PSs", c),
			c.name(most), reference().name(most)),
		quantity("control-flatness", fmt.Sprintf("throughput of 100 T ÷ 6.25 T on %s", c), c.name(most),
			c.name(smallest)),
	}
}

// figure returns throughputs by size: predictions with intervals, bars of the paper beside them, and
// controls.
func figure(r *paper.Results) report.Figure {
	f := report.Figure{
		Name: "sizes", Title: "100 T capacity experiment: predicted throughput, and bars of the paper",
		X: report.Axis{Label: "trillion parameters", LogPlusOne: true,
			Ticks: []float64{6.25, 12.5, 25, 50, 100}},
		Y: report.Axis{Label: "million samples/s", Ticks: []float64{0, 0.5, 1, 1.5, 2, 2.5}},
	}
	line := func(name func(s size) string) (points []report.Point) {
		for _, s := range sizes() {
			p := r.Prediction(name(s))
			if p == nil {
				continue
			}
			point := report.Exact(s.trillions, p.Mid.Throughput/1e6)
			if p.Interval != nil {
				point.Low, point.High = p.Interval.Low/1e6, p.Interval.High/1e6
			}
			points = append(points, point)
		}
		return points
	}
	var theirs []report.Point
	for _, s := range sizes() {
		theirs = append(theirs, report.Exact(s.trillions, s.rate))
	}
	f.Lines = report.Beside("hybrid", 0, theirs, line(func(s size) string { return s.name() }))
	for i, c := range few() {
		var points []report.Point
		for _, p := range line(c.name) {
			points = append(points, report.Exact(p.X, p.Y))
		}
		f.Lines = append(f.Lines, report.Line{
			Name: c.String(), Color: 1 + i, Points: points,
		})
	}
	return f
}

// notes returns what a reader needs to judge this experiment.
func notes() []string {
	return []string{
		"The async of the paper is async-average: Bagua's asynchronous averaging of models. async-ps, with " +
			"dense parameters on PSs, is simulated at the middle of the inputs only.",
		fmt.Sprintf("The dimension of rows is not published. A row has an overhead of Tandem's store. "+
			"Persia's "+
			"own store, measured, adds about 110 bytes to a row, more than fits rows of %d values: its run "+
			"had "+
			"longer rows or a leaner store.", 16),
		"In the controls, hosts have the memory of several machines but the memory rates and network of " +
			"one, and the first has few cores. Ratios are taken point by point. That first control " +
			"replaced " +
			"one of 10 hosts, whose PSs are busy for 4 % of the time and bind nothing.",
		"Part of the difference between bars is noise, so a prediction without a difference between sizes " +
			"agrees with them.",
	}
}
