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

// side is what the curve says about reads or updates, by size.
type side struct {
	name  string
	times []*curveTime
}

// sides returns reads and updates.
func (c *curve) sides() []side {
	list := []side{{name: "look-up"}, {name: "update"}}
	for i := range c.Points {
		list[0].times = append(list[0].times, &c.Points[i].Read)
		list[1].times = append(list[1].times, &c.Points[i].Update)
	}
	return list
}

// largest returns the largest error of a model over the sizes that it was not calibrated at, as a share of
// the measured time, with the interval that those of the measured times give, and the index of the size.
func (s *side) largest(model func(t *curveTime) float64) (most metric.Interval, at int) {
	for i, t := range s.times[1:] {
		e := t.relative(model(t))
		if size := math.Abs(e.Estimate); at == 0 || size > most.Estimate {
			at, most.Estimate = 1+i, size
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
		r.Findings = append(r.Findings, c.findings()...)
		r.Quantities = append(r.Quantities, c.quantities()...)
		r.Tables = append(r.Tables, c.tables()...)
		r.Figures = append(r.Figures, c.figure())
		r.Notes = append(r.Notes, curveNotes()...)
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

// millions returns a number of rows for people.
func millions(rows int) string { return fmt.Sprintf("%g M rows", float64(rows)/1e6) }

// findings say how far the simulated curves are from the measured ones.
func (c *curve) findings() (sentences []string) {
	last := len(c.Points) - 1
	rows := func(i int) string { return millions(c.Points[i].Rows) }
	for _, s := range c.sides() {
		model, at := s.largest(simulatedTime)
		null, _ := s.largest(nullTime)
		outcome := "Open"
		switch {
		case model.High <= errorGoal:
			outcome = "Met"
		case model.Low > errorGoal:
			outcome = "Missed"
		}
		sentences = append(sentences, fmt.Sprintf("%s: the simulated %s time is within %s of the "+
			"measured one (interval %s to %s; goal %s) in tables of %s to %s, worst at %s; one constant "+
			"time for all sizes is up to %s off. Measured, a row takes %.1f ns among %s and %.1f ns "+
			"among %s.", outcome, s.name, percent(model.Estimate), percent(model.Low), percent(model.High),
			percent(errorGoal), rows(1), rows(last), rows(at), percent(null.Estimate),
			s.times[0].Measured.Estimate, rows(0), s.times[last].Measured.Estimate, rows(last)))
	}
	return sentences
}

// quantities are the largest errors of the model and of the null model, and how much rows of the largest
// table take longer.
func (c *curve) quantities() (list []report.Quantity) {
	add := func(name, what string, i metric.Interval) {
		list = append(list, report.Quantity{Name: name, What: what, Interval: i, Over: report.OverRounds})
	}
	last := len(c.Points) - 1
	for _, s := range c.sides() {
		slug := strings.ReplaceAll(s.name, "-", "")
		model, _ := s.largest(simulatedTime)
		null, _ := s.largest(nullTime)
		first, end := s.times[0].Measured.Estimate, s.times[last].Measured
		add(slug+"-error-largest", "largest error of the simulated time of a "+s.name+
			" over sizes, relative to the measured one", model)
		add(slug+"-error-null", "the same of one constant time, that of the smallest table", null)
		add(slug+"-growth", "measured time of a "+s.name+" in the largest table ÷ the smallest",
			metric.Interval{Estimate: end.Estimate / first, Low: end.Low / first, High: end.High / first})
	}
	rows := float64(c.Points[last].Rows)
	return append(list, report.Quantity{Name: "lookup-rows-most", What: "rows of the largest table measured",
		Over: report.OverNothing, Interval: metric.Interval{Estimate: rows, Low: rows, High: rows}})
}

// tables are the curves, and the memory that explains the simulated ones.
func (c *curve) tables() (tables []cli.Table) {
	for i, s := range c.sides() {
		t := cli.Table{
			Caption: fmt.Sprintf("%s: ns a row of fp16 with row-wise Adagrad, one core. Calibrated in the "+
				"first row: %.1f ns of core work. Null: one constant", strings.ToUpper(s.name[:1])+s.name[1:],
				c.Work[i]),
			Header: []string{"M rows", "GB", "measured", "95 %", "simulated", "error", "null", "memory"},
		}
		for k, v := range s.times {
			p := &c.Points[k]
			t.Rows = append(t.Rows, []string{fmt.Sprintf("%g", float64(p.Rows)/1e6),
				fmt.Sprintf("%.2f", p.Bytes/1e9), fmt.Sprintf("%.1f", v.Measured.Estimate),
				fmt.Sprintf("%.1f–%.1f", v.Measured.Low, v.Measured.High), fmt.Sprintf("%.1f", v.Simulated),
				signed(v.relative(v.Simulated).Estimate), signed(v.relative(v.Null).Estimate),
				fmt.Sprintf("%.2f×", p.Drift)})
		}
		tables = append(tables, t)
	}
	return append(tables, c.Machine.table())
}

// signed returns a share in percent with its sign.
func signed(share float64) string { return report.Minus(fmt.Sprintf("%+.1f %%", 100*share)) }

// table has the numbers of the memory, and how far the law is from the chases.
func (c *chased) table() cli.Table {
	m := &c.Memory
	return cli.Table{
		Caption: "This machine's memory, from chases that share no code with the store",
		Header:  []string{"what", "value"}, Words: 1,
		Rows: [][]string{
			{"latency of memory, of the cache", fmt.Sprintf("%.0f ns, %.0f ns", m.MemoryNS, m.CacheNS)},
			{"cache, as it behaves for one chain, for many",
				fmt.Sprintf("%.1f MB, %.1f MB", m.CacheBytes/1e6, m.CacheTogether/1e6)},
			{"last-level cache, as the system reports it (0: it does not)",
				fmt.Sprintf("%.0f MB", m.LastCacheBytes/1e6)},
			{"entries of the TLB", fmt.Sprint(m.TLBEntries)},
			{"huge pages of the hypervisor, if any", percent(m.HypervisorHuge)},
			{"lines, walks of page tables in flight",
				fmt.Sprintf("%.1f, %.1f", m.LinesInFlight, m.WalksInFlight)},
			{"a following line, relative to the first", fmt.Sprintf("%.2f", m.NextLine)},
			{fmt.Sprintf("worst error of the law, %d chases alone, %d together", len(c.Chases),
				m.TogetherCompare), percent(m.WorstAlone) + ", " + percent(m.WorstTogether)},
		},
	}
}

// figure has the measured and the simulated times by size.
func (c *curve) figure() report.Figure {
	f := report.Figure{
		Name: "look-ups", Title: "Time of a row by the size of its table, on one core of this machine",
		X: report.Axis{Label: "million rows", LogPlusOne: true},
		Y: report.Axis{Label: "ns a row"},
	}
	for i := range c.Points {
		f.X.Ticks = append(f.X.Ticks, float64(c.Points[i].Rows)/1e6)
	}
	most := 0.0
	for i, s := range c.sides() {
		var measured, simulated, null []report.Point
		for k, t := range s.times {
			x, v := f.X.Ticks[k], t.Measured
			most = max(most, v.High, t.Simulated)
			measured = append(measured, report.Point{X: x, Y: v.Estimate, Low: v.Low, High: v.High})
			simulated = append(simulated, report.Exact(x, t.Simulated))
			null = append(null, report.Exact(x, t.Null))
		}
		f.Lines = append(f.Lines,
			report.Line{Name: s.name + ", measured", Color: 2 * i, Points: measured},
			report.Line{Name: s.name + ", simulated", Color: 2*i + 1, Points: simulated},
			report.Line{Name: s.name + ", one constant", Color: report.Grey, Guide: true, Points: null})
	}
	const step = 20 // ns between ticks
	for v := 0.0; len(f.Y.Ticks) < 2 || v < most+step; v += step {
		f.Y.Ticks = append(f.Y.Ticks, v)
	}
	return f
}

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
