package gantt

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/metric"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

func (p *plan) report(list []*result) *report.Report {
	out := &report.Report{
		Figures: []report.Figure{p.figure(list)},
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
	stages := cli.Table{Caption: "Durations of stages in ms, medians of all ranks",
		Header: append([]string{"schedule"}, stageNames()...), Words: 1}
	steps := cli.Table{Caption: "Time of a step, simulated and by the closed form; throughput ÷ sync",
		Header: []string{"schedule", "step ms", "closed ms", "ratio", "÷ sync", "interval"}, Words: 1}
	worst, checked := 0.0, 0
	var speeds []string
	for i, r := range list {
		ratio := r.overClosed()
		checked, worst = checked+r.Checked, max(worst, math.Abs(ratio-1))
		out.Quantities = append(out.Quantities, report.Quantity{Name: "step-over-closed-form-" + r.ID,
			What: "simulated time of a step ÷ closed form, " + r.Name, Over: report.OverNothing,
			Interval: metric.Interval{Estimate: ratio, Low: ratio, High: ratio}})
		interval, inBrackets := "–", ""
		if v := r.ToSyncInterval; v != nil && i != fullySync {
			out.Quantities = append(out.Quantities, report.Quantity{Name: r.ID + "-over-sync-8",
				What: fmt.Sprintf("throughput of %s ÷ sync, %d V100s, Criteo", r.Name, p.GPUs),
				Over: report.OverUnknowns, Interval: metric.Interval{Estimate: r.ToSync, Low: v.Low,
					High: v.High}})
			interval = fmt.Sprintf("%.2f–%.2f", v.Low, v.High)
			inBrackets = " (interval " + interval + ")"
		}
		if i != fullySync {
			speeds = append(speeds, fmt.Sprintf("A step of %s takes %s ms, one of sync %s ms: %.2f times "+
				"the throughput%s.", r.Name, ms(r.Step), ms(list[fullySync].Step), r.ToSync, inBrackets))
		}
		row := []string{r.Name}
		for _, stage := range stageNames() {
			text := "–"
			if r.Stages[stage] > 0 {
				text = ms(r.Stages[stage])
			}
			row = append(row, text)
		}
		stages.Add(row...)
		steps.Add(r.Name, ms(r.Step), ms(r.Closed), fmt.Sprintf("%.3f", ratio), fmt.Sprintf("%.2f", r.ToSync),
			interval)
	}
	out.Tables = []cli.Table{stages, steps}
	out.Findings = append([]string{
		fmt.Sprintf("In all %s complete batches of the four schedules, stages follow in the order GE, FC, "+
			"BC, DS, PEG; in hybrid, DS begins during BC, and in async it belongs to no batch.",
			report.Thousands(checked)),
		fmt.Sprintf("The simulated time of a step is within %.0f %% of the closed form in every schedule.",
			math.Ceil(100*worst)),
	}, speeds...)
	return out
}

func (r *result) overClosed() float64 { return float64(r.Step) / float64(r.Closed) }

func ms(t unit.Tick) string { return fmt.Sprintf("%.1f", 1e3*t.Seconds()) }

func stageNames() (names []string) {
	for stage := pace.GE; stage <= pace.PEG; stage++ {
		names = append(names, stage.String())
	}
	return names
}

// figure draws the four schedules. The colour of a batch is that of its step.
func (p *plan) figure(list []*result) report.Figure {
	const colors = 5 // the sixth is grey
	s := &report.Spans{X: report.Axis{Label: "time (ms)"}, Lanes: stageNames(),
		Length: 1e3 * float64(p.Shown) * list[fullySync].Step.Seconds()}
	const tick = 20 // ms
	for at := 0.0; at <= s.Length; at += tick {
		s.X.Ticks = append(s.X.Ticks, at)
	}
	for _, r := range list {
		panel := report.SpanPanel{Title: fmt.Sprintf("%s: %s ms a step", r.Name, ms(r.Step))}
		first := int32(math.MaxInt32)
		for _, span := range r.Spans {
			first = min(first, span.Step)
		}
		for _, span := range r.Spans {
			panel.Spans = append(panel.Spans, report.Span{
				Lane: slices.Index(s.Lanes, span.Name),
				From: 1e3 * span.From.Seconds(), To: 1e3 * span.To.Seconds(),
				Color: int(span.Step) % colors, Text: fmt.Sprint(span.Step - first),
			})
		}
		s.Panels = append(s.Panels, panel)
	}
	return report.Figure{Name: "schedules", Spans: s,
		Title: "Rank 0 in four schedules: stages of batches, numbered (simulated)"}
}
