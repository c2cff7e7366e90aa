package capacity

import (
	"fmt"
	"math"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// results are all results of the experiment.
type results struct {
	paper.Results
	Fits     []fit           `json:"fits"`
	Controls []controlResult `json:"controls"`
	// Flatness is the throughput of 100 T ÷ 6.25 T on the first control.
	Flatness metric.Interval `json:"control_flatness"`
	LookUps  *curve          `json:"look_ups,omitempty"`
}

// report adds to the comparisons what fits, the controls and the look-up curve.
func (p *plan) report(r *results) *report.Report {
	out := p.Report(&r.Results)
	out.Tables = append(out.Tables, controlTables(r.Controls)...)
	out.Findings = append(append(out.Findings, fitFindings(r.Fits)...), controlFinding(r.Controls),
		flatnessFinding(&r.Results))
	out.Quantities = append(out.Quantities, r.controlQuantities()...)
	out.Notes = append(out.Notes, notes()...)
	out.Figures = append(out.Figures, figure(&r.Results), bars(&r.Results))
	r.LookUps.addTo(out)
	return out
}

// fitFindings say what fits.
func fitFindings(fits []fit) (sentences []string) {
	const tera = 1e12
	for i := range fits {
		f := &fits[i]
		outcome := "fit"
		if f.Refusal != "" {
			outcome = "do not fit"
		}
		sentences = append(sentences, fmt.Sprintf("100 T parameters in %s %s %d PS hosts: %.3g T rows of %g "+
			"bytes are %.0f TB, and the hosts have %.0f TB.", f.Precision, outcome, f.Hosts, f.Rows/tera,
			f.RowBytes, f.Needed/tera, f.There/tera))
	}
	return sentences
}

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
	wrapped := func(name string) string { return cli.WrapAt(name, "  ", 0, 22) }
	for i := range list {
		c := &list[i]
		interval := "–"
		if c.Low > 0 {
			interval = fmt.Sprintf("%.2f–%.2f", c.Low, c.High)
		}
		rates.Add(c.Case, fmt.Sprintf("%.2f", c.Middle/1e6), fmt.Sprintf("%.2f", c.Ratio), interval)
		bounds.Add(wrapped(c.Case), wrapped(c.Bottleneck), c.BusiestPS, percent(c.BusyPS),
			percent(c.MemoryBusy))
	}
	return []cli.Table{rates, bounds}
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// firstControl returns the result of 100 T on the first control.
func firstControl(list []controlResult) *controlResult {
	for i := range list {
		if list[i].Case == few()[0].name(largest()) {
			return &list[i]
		}
	}
	return &controlResult{}
}

// controlFinding compares 100 T on the first control with the target.
func controlFinding(list []controlResult) string {
	c := firstControl(list)
	outcome, interval := "The control holds", ""
	if c.Ratio > 1-slowerLeast || !strings.HasPrefix(c.Bottleneck, ofPSs) {
		outcome = "Missed: the control does not hold"
	}
	if c.Low > 0 {
		interval = fmt.Sprintf(" (interval %.2f–%.2f)", c.Low, c.High)
	}
	return fmt.Sprintf("%s: %s has %.2f of the throughput on the PSs of the paper%s, target at most %g; "+
		"it is bound by %s. %s, the busiest resource of PSs, are busy for %s of the time.", outcome,
		c.Case, c.Ratio, interval, 1-slowerLeast, c.Bottleneck, c.BusiestPS, percent(c.BusyPS))
}

// flatWithin is by how much the throughput of sizes may differ.
const flatWithin = 0.05

// flatnessFinding compares sizes where PSs bind and where they do not.
func flatnessFinding(r *paper.Results) string {
	small, most, c := smallest(), largest(), few()[0]
	flat := r.Case(most.name()).Middle / r.Case(small.name()).Middle
	bound := r.Case(c.name(most)).Middle / r.Case(c.name(small)).Middle
	outcome := "flat within 5 %"
	if math.Abs(flat-1) > flatWithin {
		outcome = "not flat within 5 %"
	}
	return fmt.Sprintf("Throughput is %s: 100 T has %.3f of that of %g T. On %s, where PSs bind, "+
		"100 T has %.3f: rows of larger tables cost more, and show where nothing hides them.", outcome, flat,
		small.trillions, c, bound)
}

// controlQuantities are the slowdown of 100 T on the first control, and the ratio of sizes there.
func (r *results) controlQuantities() []report.Quantity {
	c, on := firstControl(r.Controls), few()[0]
	return []report.Quantity{
		paper.Quantity("control-slowdown", fmt.Sprintf("throughput of 100 T on %s ÷ the paper's PSs", on),
			metric.Interval{Estimate: c.Ratio, Low: c.Low, High: c.High}),
		paper.Quantity("control-flatness", fmt.Sprintf("throughput of 100 T ÷ 6.25 T on %s", on), r.Flatness),
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
	var hybrid []paper.Point
	for _, s := range sizes() {
		hybrid = append(hybrid, paper.Point{
			X: s.trillions, Paper: paper.Digitised(s.rate, readingError), Case: s.name(),
		})
	}
	f.Lines = r.Beside("hybrid", 0, paper.Mega, hybrid)
	for i, c := range few() {
		line := report.Line{Name: c.String(), Color: 1 + i}
		for _, s := range sizes() {
			if x := r.Case(c.name(s)); x != nil {
				line.Points = append(line.Points, report.Exact(s.trillions, x.Middle/1e6))
			}
		}
		f.Lines = append(f.Lines, line)
	}
	return f
}

// bars draws the figure of the paper: hybrid by size, and at the largest size the other modes.
func bars(r *paper.Results) report.Figure {
	bySize, byMode := report.ColumnPanel{X: "parameters, hybrid"}, report.ColumnPanel{X: "mode, 100 T"}
	bar := func(series int, name string, rate float64) report.Column {
		return r.Column(series, name, paper.Mega, paper.Digitised(rate, readingError))
	}
	for _, s := range sizes() {
		bySize.Groups = append(bySize.Groups, report.ColumnGroup{Name: fmt.Sprintf("%g T", s.trillions),
			Columns: []report.Column{bar(0, s.name(), s.rate)}})
	}
	for i, x := range []struct {
		mode, name string
		rate       float64
	}{{job.Sync, modeName(job.Sync), syncRate}, {job.AsyncAverage, modeName(job.AsyncAverage), asyncRate}} {
		byMode.Groups = append(byMode.Groups, report.ColumnGroup{Name: strings.TrimSuffix(x.mode, "-average"),
			Columns: []report.Column{bar(1+i, x.name, x.rate)}})
	}
	return report.Figure{Name: "bars", Title: "Throughput of 6.25 to 100 trillion parameters on 64 A100s",
		Columns: &report.Columns{Panels: []report.ColumnPanel{bySize, byMode}, Y: "million samples/s",
			Series: []string{"hybrid", "sync", "async"},
			Marks:  [2]string{fmt.Sprintf("paper, digitised ±%g", readingError), ""}}}
}

// notes returns what a reader needs to judge this experiment.
func notes() []string {
	return []string{
		"The async of the paper is async-average: Bagua's asynchronous averaging of models. async-ps, with " +
			"dense parameters on PSs, is simulated at the middle of the inputs only.",
		"The dimension of rows is not published. A row has an overhead of Tandem's store. Persia's own " +
			"store, measured, adds about 110 bytes to a row, more than fits rows of 16 values: its run had " +
			"longer rows or a leaner store.",
		"In the controls, hosts have the memory of several machines but the memory rates and network of " +
			"one, and the first has few cores. Ratios are taken point by point. That first control " +
			"replaced one of 10 hosts, whose PSs are busy for 4 % of the time and bind nothing.",
		"Part of the difference between bars is noise, so a prediction without a difference between sizes " +
			"agrees with them.",
	}
}
