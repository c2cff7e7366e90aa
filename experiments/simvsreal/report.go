package simvsreal

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/paired"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report turns the runs of a plan into tables, figures and sentences.
func (p *plan) report(r *results) *report.Report {
	return &report.Report{
		Findings: r.findings(),
		Notes:    p.notes(),
		Tables:   []cli.Table{r.timeTable(), r.stageTable(), r.stalenessTable(), r.qualityTable(), r.workTable()},
		Figures:  []report.Figure{r.timeFigure(), r.stalenessFigure()},
		Settings: p,
		Data:     r,
	}
}

func (r *results) timeTable() cli.Table {
	t := cli.Table{
		Caption: "Step time: medians over rounds; ± is half the range of real runs; error is simulated − real",
		Header: []string{"mode", "within budget", "real (ms)", "± (%)", "simulated (ms)", "error (%)", "budget (%)",
			"real (samples/s)", "simulated (samples/s)"},
		Words: 2,
	}
	for _, m := range r.Modes {
		verdict := "yes"
		switch {
		case m.Mode == job.Sync:
			verdict = "calibrates"
		case m.error() > m.budget():
			verdict = "no"
		case m.spread() > spreadMost:
			verdict = "too unsteady to say"
		}
		speed := func(run *paired.Run) float64 { return run.Throughput }
		t.Rows = append(t.Rows, []string{
			m.Mode, verdict, milliseconds(median(of(m.Real, stepTime))), percent(m.spread()),
			milliseconds(median(of(m.Simulated, stepTime))), signedPercent(median(m.errors())), percent(m.budget()),
			fmt.Sprintf("%.0f", median(of(m.Real, speed))), fmt.Sprintf("%.0f", median(of(m.Simulated, speed))),
		})
	}
	return t
}

func (r *results) stageTable() cli.Table {
	t := cli.Table{
		Caption: "Stages in ms: medians of batches, then over rounds; – where a mode has none",
		Header:  []string{"mode", "run", "GE", "FC", "BC", "DS", "PEG"},
		Words:   2,
	}
	for _, m := range r.Modes {
		for _, kind := range []struct {
			name string
			runs []*paired.Run
		}{{"real", m.Real}, {"simulated", m.Simulated}} {
			row := []string{m.Mode, kind.name}
			for stage := range 5 {
				v := median(of(kind.runs, func(run *paired.Run) float64 { return run.Stages.All()[stage] }))
				if v == 0 {
					row = append(row, "–")
					continue
				}
				row = append(row, milliseconds(v))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// kinds of staleness.
func kinds() []struct {
	name string
	of   func(r *paired.Run) *histogram.Histogram
} {
	return []struct {
		name string
		of   func(r *paired.Run) *histogram.Histogram
	}{
		{"own", func(r *paired.Run) *histogram.Histogram { return &r.Staleness.Own }},
		{"cross", func(r *paired.Run) *histogram.Histogram { return &r.Staleness.Cross }},
		{"in flight", func(r *paired.Run) *histogram.Histogram { return &r.Staleness.Inflight }},
		{"dense", func(r *paired.Run) *histogram.Histogram { return &r.Staleness.Dense }},
	}
}

// pooled merges the histograms of runs.
func pooled(runs []*paired.Run, of func(r *paired.Run) *histogram.Histogram) *histogram.Histogram {
	all := &histogram.Histogram{}
	for _, r := range runs {
		all.Merge(of(r))
	}
	return all
}

func (r *results) stalenessTable() cli.Table {
	t := cli.Table{
		Caption: "Staleness, all rounds: own, cross and in flight in batches by read, dense in updates by push",
		Header:  []string{"mode", "kind", "real mean", "simulated mean", "real max", "simulated max", "distance"},
		Words:   2,
	}
	for _, m := range r.Modes {
		for _, k := range kinds() {
			real, simulated := pooled(m.Real, k.of), pooled(m.Simulated, k.of)
			if real.Count() == 0 || simulated.Count() == 0 {
				continue
			}
			t.Rows = append(t.Rows, []string{m.Mode, k.name, fmt.Sprintf("%.2f", real.Mean()), fmt.Sprintf("%.2f", simulated.Mean()),
				fmt.Sprint(real.Max()), fmt.Sprint(simulated.Max()), fmt.Sprintf("%.2f", real.Distance(simulated))})
		}
	}
	return t
}

func (r *results) qualityTable() cli.Table {
	t := cli.Table{
		Caption: "Quality on the test rows: mean over rounds; the difference is paired by round",
		Header:  []string{"mode", "real AUC", "simulated AUC", "simulated − real ± 95 %", "real log loss (nats)", "simulated log loss (nats)"},
		Words:   1,
	}
	for _, m := range r.Modes {
		auc := func(run *paired.Run) float64 { return run.AUC }
		loss := func(run *paired.Run) float64 { return run.LogLoss }
		real, simulated := of(m.Real, auc), of(m.Simulated, auc)
		t.Rows = append(t.Rows, []string{m.Mode, report.Level(real), report.Level(simulated),
			report.PlusMinus(metric.MeanInterval(report.Differences(simulated, real))),
			report.Level(of(m.Real, loss)), report.Level(of(m.Simulated, loss))})
	}
	return t
}

func (r *results) workTable() cli.Table {
	t := cli.Table{
		Caption: "Work times that priced the first round: medians of its sync run",
		Header:  []string{"work", "samples", "time (ms)"},
		Words:   1,
	}
	for _, w := range r.Work {
		samples := fmt.Sprint(w.Samples)
		if w.Samples == 0 {
			samples = "any"
		}
		t.Rows = append(t.Rows, []string{w.Kind, samples, fmt.Sprintf("%.4f", w.Seconds*1e3)})
	}
	return t
}

// timeFigure has a point for every mode.
func (r *results) timeFigure() report.Figure {
	f := report.Figure{
		Name: "step-time", Title: "Step time by mode, predicted from the work times of sync",
		X: report.Axis{Label: "real (ms)"}, Y: report.Axis{Label: "simulated (ms), bars: range over rounds"},
	}
	most := 0.0
	for i, m := range r.Modes {
		simulated := of(m.Simulated, func(run *paired.Run) float64 { return run.StepSeconds * 1e3 })
		x := median(of(m.Real, stepTime)) * 1e3
		point := report.Point{X: x, Y: median(simulated), Low: slices.Min(simulated), High: slices.Max(simulated)}
		f.Lines = append(f.Lines, report.Line{Name: m.Mode, Color: i, Points: []report.Point{point}})
		most = max(most, x, point.High)
	}
	for _, g := range []struct {
		name   string
		factor float64
	}{{"simulated = real", 1}, {"±10 %", 1 + budgetLeast}, {"", 1 - budgetLeast}} {
		f.Lines = append(f.Lines, report.Line{Name: g.name, Color: report.Grey, Guide: true,
			Points: []report.Point{report.Exact(0, 0), report.Exact(most, most*g.factor)}})
	}
	return f
}

// stalenessFigure has the cumulated histograms of hybrid in both worlds.
func (r *results) stalenessFigure() report.Figure {
	f := report.Figure{
		Name: "staleness", Title: "Staleness of reads in hybrid mode, in both worlds",
		X: report.Axis{Label: "staleness (steps)"}, Y: report.Axis{Label: "share of reads not staler", Ticks: []float64{0, 0.25, 0.5, 0.75, 1}},
	}
	for _, m := range r.Modes {
		if m.Mode != job.Hybrid {
			continue
		}
		for i, k := range kinds()[:2] {
			real, simulated := pooled(m.Real, k.of), pooled(m.Simulated, k.of)
			most := max(real.Max(), simulated.Max())
			f.Lines = append(f.Lines, cumulated(k.name+", real", i, real, most), cumulated(k.name+", simulated", i+2, simulated, most))
		}
	}
	return f
}

// cumulated is the share of values at most x, for every x up to most.
func cumulated(name string, color int, h *histogram.Histogram, most int) report.Line {
	l := report.Line{Name: name, Color: color}
	for value := range most + 1 {
		l.Points = append(l.Points, report.Exact(float64(value), h.AtMost(value)))
	}
	return l
}

func (r *results) findings() []string {
	err, budget := r.overall()
	word := "within"
	if err > budget {
		word = "above"
	}
	sentences := []string{fmt.Sprintf("Step time of the modes that are predicted: median error %s %%, %s the budget of %s %%.",
		percent(err), word, percent(budget))}
	if budget > budgetSpreads*spreadMost {
		sentences = append(sentences, "The machine was too busy with other things for that to say anything: run it again on an idle one.")
	}
	var outside []string
	for _, m := range r.Modes {
		if m.Mode != job.Sync && m.error() > m.budget() {
			outside = append(outside, fmt.Sprintf("%s (%s %%)", m.Mode, signedPercent(median(m.errors()))))
		}
	}
	if outside != nil {
		sentences = append(sentences, "Above their own budgets: "+strings.Join(outside, ", ")+".")
	}
	farthest, distance := "", 0.0
	for _, m := range r.Modes {
		for _, k := range kinds()[:2] {
			if d := pooled(m.Real, k.of).Distance(pooled(m.Simulated, k.of)); d >= distance {
				farthest, distance = m.Mode+", "+k.name, d
			}
		}
	}
	return append(sentences, fmt.Sprintf("The largest distance between real and simulated staleness of reads is %.2f steps (%s).", distance, farthest))
}

func (p *plan) notes() []string {
	notes := []string{
		report.ModeSettingsNote(p.Job, p.Modes),
		"Sync calibrates: medians of the times of its work price every mode. Its own step time is not used, and its error says how far medians, messages and scheduling alone lead astray.",
		"Follows from sync without being measured: one put is applied in 1/ranks of a step's puts, a shard of the network is updated in its part of the whole. Copies of the network for pulls and averages are priced by the probe.",
		"Known to differ: a real rank goes backward group by group, so its first bucket is final late, in the last group; simulated buckets end in proportion to their size. Threads that the system interrupts, garbage collection and idle cores' wake-up are not simulated.",
		"The spread is half the range of the real runs over their median, over all rounds; a machine that others load has a large one. An error compares two runs of one round.",
		"The distance of histograms is Wasserstein's: by how many steps reads must be moved on average. Total variation would call a shift by one step as bad as one by ten.",
		"A step time leaves out the first tenth of the batches and the last. BC ends with the first gradients handed over, and DS has the rest where they overlap.",
		"The simulated runs have the same rows, order and initial values, and do real arithmetic: only when each effect takes place is simulated.",
	}
	if p.Rounds < report.SeedsWanted {
		notes = append(notes, fmt.Sprintf("Only %d rounds: take at least %d before believing a spread.", p.Rounds, report.SeedsWanted))
	}
	return notes
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3f", seconds*1e3) }
func percent(share float64) string        { return fmt.Sprintf("%.1f", share*100) }
func signedPercent(share float64) string {
	return strings.Replace(fmt.Sprintf("%+.1f", share*100), "-", "−", 1)
}
