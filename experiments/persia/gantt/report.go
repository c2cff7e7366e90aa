package gantt

import (
	"fmt"
	"math"

	"tandem/algo/metric"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results as tables, a figure and sentences.
func (p *plan) report(list []*result) *report.Report {
	out := &report.Report{
		Tables:  []cli.Table{stageTable(list), stepTable(list)},
		Figures: []report.Figure{p.figure(list)}, Settings: p, Data: list,
		Notes: []string{
			"The paper's chart has no numbers: what is compared is the order of the stages and what " +
				"overlaps.",
			"A closed form takes the stages' durations from sync and knows no waiting: a stage that shares " +
				"cores or wires with other batches takes longer, and the optimizer of the network is left " +
				"out. In hybrid and async a batch waits between its stages, which the figure shows as gaps.",
			"In async the replicas of the ranks are averaged in the background, at times outside the " +
				"figure: their DS belongs to no batch.",
		},
	}
	worst, checked := 0.0, 0
	for _, r := range list {
		checked += r.Checked
		worst = max(worst, math.Abs(r.overClosed()-1))
		q := report.Quantity{Name: "step-over-closed-form-" + r.ID, Over: report.OverNothing,
			What: "simulated time of a step ÷ closed form, " + r.Name, Interval: same(r.overClosed())}
		out.Quantities = append(out.Quantities, q)
		if r.ToSyncInterval != nil && r != list[fullySync] {
			out.Quantities = append(out.Quantities, report.Quantity{Name: r.ID + "-over-sync-8",
				What: fmt.Sprintf("throughput of %s ÷ sync, %d V100s, Criteo", r.Name, p.GPUs),
				Over: report.OverUnknowns, Interval: metric.Interval{Estimate: r.ToSync,
					Low: r.ToSyncInterval.Low, High: r.ToSyncInterval.High}})
		}
	}
	out.Findings = []string{
		fmt.Sprintf("In all %s complete batches of the four schedules, stages follow in the order GE, FC, "+
			"BC, DS, PEG; in hybrid, DS begins during BC, and in async it belongs to no batch.",
			report.Thousands(checked)),
		fmt.Sprintf("The simulated time of a step is within %.0f %% of the closed form in every schedule.",
			math.Ceil(100*worst)),
	}
	for _, r := range list[1:] {
		interval := ""
		if i := r.ToSyncInterval; i != nil {
			interval = fmt.Sprintf(" (interval %.2f–%.2f)", i.Low, i.High)
		}
		out.Findings = append(out.Findings, fmt.Sprintf("A step of %s takes %s ms, one of sync %s ms: "+
			"%.2f times the throughput%s.", r.Name, ms(r.Step), ms(list[fullySync].Step), r.ToSync, interval))
	}
	return out
}

func same(v float64) metric.Interval { return metric.Interval{Estimate: v, Low: v, High: v} }

// overClosed returns the simulated time of a step divided by the closed form.
func (r *result) overClosed() float64 { return float64(r.Step) / float64(r.Closed) }

func ms(t unit.Tick) string { return fmt.Sprintf("%.1f", 1e3*t.Seconds()) }

// stageTable has the medians of the stages.
func stageTable(list []*result) cli.Table {
	t := cli.Table{
		Caption: "Durations of stages in ms, medians of all ranks",
		Header:  []string{"schedule", "GE", "FC", "BC", "DS", "PEG"}, Words: 1,
	}
	for _, r := range list {
		row := []string{r.Name}
		for stage := pace.GE; stage <= pace.PEG; stage++ {
			text := "–"
			if r.stages[stage] > 0 {
				text = ms(r.stages[stage])
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// stepTable has the time of a step beside the closed form.
func stepTable(list []*result) cli.Table {
	t := cli.Table{
		Caption: "Time of a step, simulated and by the closed form; throughput ÷ sync",
		Header:  []string{"schedule", "step ms", "closed ms", "ratio", "÷ sync", "interval"}, Words: 1,
	}
	for _, r := range list {
		interval := "–"
		if i := r.ToSyncInterval; i != nil && r != list[fullySync] {
			interval = fmt.Sprintf("%.2f–%.2f", i.Low, i.High)
		}
		t.Rows = append(t.Rows, []string{r.Name, ms(r.Step), ms(r.Closed),
			fmt.Sprintf("%.3f", r.overClosed()), fmt.Sprintf("%.2f", r.ToSync), interval})
	}
	return t
}

// figure draws the four schedules. The colour of a batch is that of its step.
func (p *plan) figure(list []*result) report.Figure {
	const colors = 5 // the sixth is grey
	s := &report.Spans{X: report.Axis{Label: "time (ms)"},
		Length: 1e3 * float64(p.Shown) * list[fullySync].Step.Seconds()}
	const tick = 20 // ms
	for at := 0.0; at <= s.Length; at += tick {
		s.X.Ticks = append(s.X.Ticks, at)
	}
	for stage := pace.GE; stage <= pace.PEG; stage++ {
		s.Lanes = append(s.Lanes, stage.String())
	}
	for _, r := range list {
		panel := report.SpanPanel{Title: fmt.Sprintf("%s: %s ms a step", r.Name, ms(r.Step))}
		first := int32(math.MaxInt32)
		for _, span := range r.Spans {
			first = min(first, span.Step)
		}
		for _, span := range r.Spans {
			panel.Spans = append(panel.Spans, report.Span{
				Lane: int(span.Stage), From: 1e3 * span.From.Seconds(), To: 1e3 * span.To.Seconds(),
				Color: int(span.Step) % colors, Text: fmt.Sprint(span.Step - first),
			})
		}
		s.Panels = append(s.Panels, panel)
	}
	return report.Figure{Name: "schedules", Spans: s,
		Title: "Rank 0 in four schedules: stages of batches, numbered (simulated)"}
}
