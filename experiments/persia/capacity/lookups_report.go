package capacity

import (
	"fmt"
	"math"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// errorGoal is by how much the simulated time of a row may differ from the measured one.
const errorGoal = 0.15

// relative returns a prediction ÷ the measured time − 1, with the interval of the measured time.
func (t *curveTime) relative(prediction float64) metric.Interval {
	return metric.Interval{Estimate: prediction/t.Measured.Estimate - 1, Low: prediction/t.Measured.High - 1,
		High: prediction/t.Measured.Low - 1}
}

func simulatedTime(t *curveTime) float64 { return t.Simulated }
func nullTime(t *curveTime) float64      { return t.Null }

// largestError returns the largest error of predictions of all times but the first, at which they were
// calibrated, as a share of the measured time, with the interval that those of the measured times give, and
// its index.
func largestError(times []curveTime, predicted func(t *curveTime) float64) (most metric.Interval, at int) {
	for i := 1; i < len(times); i++ {
		e := times[i].relative(predicted(&times[i]))
		if size := math.Abs(e.Estimate); at == 0 || size > most.Estimate {
			at, most.Estimate = i, size
		}
		most.Low, most.High = max(most.Low, e.Low, -e.High), max(most.High, e.High, -e.Low)
	}
	return most, at
}

// addTo adds the curve to a report.
func (c *curve) addTo(r *report.Report) {
	if c == nil {
		return
	}
	if len(c.Points) > 0 {
		c.addPoints(r)
	}
	if len(c.LeftOut) > 0 {
		var names []string
		for _, n := range c.LeftOut {
			names = append(names, fmt.Sprintf("%s (%.1f GB)", millions(n), float64(n)*rowBytes/1e9))
		}
		r.Notes = append(r.Notes, fmt.Sprintf("Not measured, because %v of memory were available: tables of "+
			"%s.", c.Available, strings.Join(names, ", ")))
	}
}

// addPoints adds what was measured: of look-ups and of updates.
func (c *curve) addPoints(r *report.Report) {
	f := report.Figure{
		Name: "look-ups", Title: "Time of a row by the size of its table, on one core of this machine",
		X: report.Axis{Label: "million rows", LogPlusOne: true},
		Y: report.Axis{Label: "ns a row"},
	}
	var reads, updates []curveTime
	for i := range c.Points {
		p := &c.Points[i]
		f.X.Ticks = append(f.X.Ticks, float64(p.Rows)/1e6)
		reads, updates = append(reads, p.Read), append(updates, p.Update)
	}
	most := max(c.addSide(r, &f, "look-up", 0, reads), c.addSide(r, &f, "update", 1, updates))
	const step = 20 // ns between ticks
	for v := 0.0; len(f.Y.Ticks) < 2 || v < most+step; v += step {
		f.Y.Ticks = append(f.Y.Ticks, v)
	}
	r.Figures = append(r.Figures, f)
	rows := float64(c.Points[len(c.Points)-1].Rows)
	r.Quantities = append(r.Quantities, report.Quantity{Name: "lookup-rows-most",
		What: "rows of the largest table measured", Over: report.OverNothing,
		Interval: metric.Interval{Estimate: rows, Low: rows, High: rows}})
	r.Notes = append(r.Notes, curveNotes()...)
}

// millions returns a number of rows for people.
func millions(rows int) string { return fmt.Sprintf("%g M rows", float64(rows)/1e6) }

// addSide adds what look-ups (0) or updates (1) take: how far the simulated times, and one constant time, are
// from the measured ones, as a sentence, quantities, a table and lines of the figure. It returns the longest
// time.
func (c *curve) addSide(r *report.Report, f *report.Figure, name string, side int, times []curveTime,
) (longest float64) {
	model, worst := largestError(times, simulatedTime)
	null, _ := largestError(times, nullTime)
	outcome := "Open"
	switch {
	case model.High <= errorGoal:
		outcome = "Met"
	case model.Low > errorGoal:
		outcome = "Missed"
	}
	last := len(times) - 1
	first, end := times[0].Measured.Estimate, times[last].Measured
	rows := func(i int) string { return millions(c.Points[i].Rows) }
	r.Findings = append(r.Findings, fmt.Sprintf("%s: the simulated %s time is within %s of the "+
		"measured one (interval %s to %s; goal %s) in tables of %s to %s, worst at %s; one constant "+
		"time for all sizes is up to %s off. Measured, a row takes %.1f ns among %s and %.1f ns "+
		"among %s.", outcome, name, percent(model.Estimate), percent(model.Low), percent(model.High),
		percent(errorGoal), rows(1), rows(last), rows(worst), percent(null.Estimate), first, rows(0),
		end.Estimate, rows(last)))

	slug := strings.ReplaceAll(name, "-", "")
	r.Quantities = append(r.Quantities, report.Quantity{
		Name: slug + "-error-largest", Over: report.OverRounds, Interval: model,
		What: "largest error of the simulated time of a " + name +
			" over sizes, relative to the measured one",
	}, report.Quantity{
		Name: slug + "-error-null", Over: report.OverRounds, Interval: null,
		What: "the same of one constant time, that of the smallest table",
	}, report.Quantity{
		Name: slug + "-growth", Over: report.OverRounds,
		What: "measured time of a " + name + " in the largest table ÷ the smallest",
		Interval: metric.Interval{Estimate: end.Estimate / first, Low: end.Low / first,
			High: end.High / first},
	})

	table := cli.Table{
		Caption: fmt.Sprintf("%s: ns a row of fp16 with row-wise Adagrad, one core. Calibrated in the "+
			"first row: %.1f ns of core work. Null: one constant", strings.ToUpper(name[:1])+name[1:],
			c.Work[side]),
		Header: []string{"M rows", "GB", "measured", "95 %", "simulated", "error", "null", "memory"},
	}
	var measured, simulated, constant []report.Point
	for i := range times {
		t, p, x := &times[i], &c.Points[i], f.X.Ticks[i]
		table.Add(fmt.Sprint(x), fmt.Sprintf("%.2f", p.Bytes/1e9), fmt.Sprintf("%.1f", t.Measured.Estimate),
			fmt.Sprintf("%.1f–%.1f", t.Measured.Low, t.Measured.High), fmt.Sprintf("%.1f", t.Simulated),
			signed(t.relative(t.Simulated).Estimate), signed(t.relative(t.Null).Estimate),
			fmt.Sprintf("%.2f×", p.Drift))
		longest = max(longest, t.Measured.High, t.Simulated)
		measured = append(measured, report.Point{X: x, Y: t.Measured.Estimate, Low: t.Measured.Low,
			High: t.Measured.High})
		simulated = append(simulated, report.Exact(x, t.Simulated))
		constant = append(constant, report.Exact(x, t.Null))
	}
	r.Tables = append(r.Tables, table)
	f.Lines = append(f.Lines,
		report.Line{Name: name + ", measured", Color: 2 * side, Points: measured},
		report.Line{Name: name + ", simulated", Color: 2*side + 1, Points: simulated},
		report.Line{Name: name + ", one constant", Color: report.Grey, Guide: true, Points: constant})
	return longest
}

// signed returns a share in percent with its sign.
func signed(share float64) string { return report.Minus(fmt.Sprintf("%+.1f %%", 100*share)) }

// curveNotes say how the curve is measured, and what it does not have.
func curveNotes() []string {
	return []string{
		"Look-ups: random ids, a round of batches is read and then updated, a time is the lower quartile " +
			"over the batches of a round, because other work only slows them, and the median over rounds " +
			"counts. The simulated time is the work of a core, calibrated at the smallest table, and the " +
			"wait for memory by the law of device.Host.RowTime. Its numbers come from chases through " +
			"buffers of their own, none from the curve.",
		"The terms of that law, lines asked for ahead, a cache and walks of their own and further groups " +
			"of the index, were chosen after looking at curves of up to 180 M rows.",
		"The column memory is the time of a chase that takes its turn in the same rounds, relative to " +
			"the first chases: the speed of a machine's memory drifts, and the simulated times follow " +
			"that chase.",
	}
}
