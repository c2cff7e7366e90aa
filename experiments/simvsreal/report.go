package simvsreal

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/experiments/judge"
	"tandem/experiments/paired"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(r *results) *report.Report {
	judged := r.comparisons(p)
	return &report.Report{
		Findings:    r.findings(),
		Comparisons: judged,
		Notes:       p.notes(),
		Tables: []cli.Table{
			r.timeTable(),
			r.stageTable(),
			r.stalenessTable(),
			r.qualityTable(),
			report.ComparisonTable(judged),
			r.workTable(),
		},
		Figures:  []report.Figure{r.timeFigure(), r.stalenessFigure()},
		Settings: p,
		Data:     r,
	}
}

func (r *results) timeTable() cli.Table {
	t := cli.Table{
		Caption: "Step time: medians over rounds; ± is half the range of the real runs; error is " +
			"simulated − real",
		Header: []string{
			"mode",
			"within budget",
			"real (ms)",
			"± (%)",
			"simulated (ms)",
			"error (%)",
			"budget (%)",
			"real (samples/s)",
			"simulated (samples/s)",
		},
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
			verdict = "spread too large"
		}
		speed := func(run *paired.Run) float64 { return run.Throughput }
		t.Rows = append(t.Rows, []string{
			m.Mode, verdict,
			milliseconds(median(m.Real, stepTime)), percent(m.spread()),
			milliseconds(median(m.Simulated, stepTime)), signedPercent(report.Median(m.errors())),
			percent(m.budget()),
			fmt.Sprintf("%.0f", median(m.Real, speed)), fmt.Sprintf("%.0f", median(m.Simulated, speed)),
		})
	}
	return t
}

func (r *results) stageTable() cli.Table {
	t := cli.Table{
		Caption: "Stages in ms: medians over batches, then over rounds; – without this stage",
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
				v := median(kind.runs, func(run *paired.Run) float64 { return run.Stages.All()[stage] })
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

// stalenessKind is one measure of staleness.
type stalenessKind struct {
	name      string
	histogram func(r *paired.Run) *histogram.Histogram
}

// stalenessKinds returns the measures of staleness, own and cross first.
func stalenessKinds() []stalenessKind {
	return []stalenessKind{
		{"own", func(r *paired.Run) *histogram.Histogram { return &r.Staleness.Own }},
		{"cross", func(r *paired.Run) *histogram.Histogram { return &r.Staleness.Cross }},
		{"in flight", func(r *paired.Run) *histogram.Histogram { return &r.Staleness.Inflight }},
		{"dense", func(r *paired.Run) *histogram.Histogram { return &r.Staleness.Dense }},
	}
}

// merged returns the merged histograms of runs.
func merged(runs []*paired.Run, of func(r *paired.Run) *histogram.Histogram) *histogram.Histogram {
	all := &histogram.Histogram{}
	for _, r := range runs {
		all.Merge(of(r))
	}
	return all
}

func (r *results) stalenessTable() cli.Table {
	t := cli.Table{
		Caption: "Staleness over all rounds: own, cross and in flight in batches per read, dense in " +
			"updates per push",
		Header: []string{
			"mode",
			"kind",
			"real mean",
			"simulated mean",
			"real max",
			"simulated max",
			"distance",
		},
		Words: 2,
	}
	for _, m := range r.Modes {
		for _, k := range stalenessKinds() {
			real, simulated := merged(m.Real, k.histogram), merged(m.Simulated, k.histogram)
			if real.Count() == 0 || simulated.Count() == 0 {
				continue
			}
			t.Rows = append(t.Rows, []string{
				m.Mode, k.name, fmt.Sprintf("%.2f", real.Mean()), fmt.Sprintf("%.2f", simulated.Mean()),
				fmt.Sprint(real.Max()), fmt.Sprint(simulated.Max()),
				fmt.Sprintf("%.2f", real.Distance(simulated)),
			})
		}
	}
	return t
}

func (r *results) qualityTable() cli.Table {
	t := cli.Table{
		Caption: "Quality on the test rows: mean over rounds",
		Header: []string{
			"mode", "real AUC", "simulated AUC", "real log loss (nats)", "simulated log loss (nats)",
		},
		Words: 1,
	}
	for _, m := range r.Modes {
		auc := func(run *paired.Run) float64 { return run.AUC }
		loss := func(run *paired.Run) float64 { return run.LogLoss }
		real, simulated := paired.Values(m.Real, auc), paired.Values(m.Simulated, auc)
		t.Rows = append(t.Rows, []string{m.Mode, report.Level(real), report.Level(simulated),
			report.Level(paired.Values(m.Real, loss)), report.Level(paired.Values(m.Simulated, loss))})
	}
	return t
}

// comparisons returns the simulated runs of each mode less its real ones, and the real runs of each mode less
// those of sync, judged. Every round has other test rows.
func (r *results) comparisons(p *plan) []*judge.Comparison {
	quality := func(runs []*paired.Run) judge.Quality {
		return judge.Quality{
			AUC:     paired.Values(runs, func(run *paired.Run) float64 { return run.AUC }),
			LogLoss: paired.Values(runs, func(run *paired.Run) float64 { return run.LogLoss }),
		}
	}
	pair := func(treated, reference string, t, r []*paired.Run) *judge.Comparison {
		return judge.Pair(p.DataSet.Name, treated, reference, p.Seed, quality(t), quality(r))
	}
	var list []*judge.Comparison
	sync := r.Modes[slices.IndexFunc(r.Modes, func(m *modeResult) bool { return m.Mode == job.Sync })]
	for _, m := range r.Modes {
		list = append(list, pair(m.Mode+", simulated", m.Mode+", real", m.Simulated, m.Real))
		if m != sync {
			list = append(list, pair(m.Mode+", real", "sync, real", m.Real, sync.Real))
		}
	}
	judge.Judge(list)
	return list
}

func (r *results) workTable() cli.Table {
	t := cli.Table{
		Caption: "Times of work in the simulation of the first round: medians of its sync run",
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

// timeFigure shows simulated by real step time, a point per mode.
func (r *results) timeFigure() report.Figure {
	f := report.Figure{
		Name: "step-time", Title: "Step time by mode, predicted from the work times of sync",
		X: report.Axis{Label: "real (ms)"}, Y: report.Axis{Label: "simulated (ms), bars: range over rounds"},
	}
	most := 0.0
	for i, m := range r.Modes {
		simulated := paired.Values(m.Simulated,
			func(run *paired.Run) float64 { return run.StepSeconds * 1e3 })
		x := median(m.Real, stepTime) * 1e3
		point := report.Point{
			X: x, Y: report.Median(simulated), Low: slices.Min(simulated), High: slices.Max(simulated),
		}
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

// stalenessFigure shows the cumulative staleness of hybrid, real and simulated.
func (r *results) stalenessFigure() report.Figure {
	f := report.Figure{
		Name: "staleness", Title: "Staleness of reads in hybrid mode, real and simulated",
		X: report.Axis{Label: "staleness (steps)"},
		Y: report.Axis{Label: "share of reads up to this staleness", Ticks: []float64{0, 0.25, 0.5, 0.75, 1}},
	}
	for _, m := range r.Modes {
		if m.Mode != job.Hybrid {
			continue
		}
		for i, k := range stalenessKinds()[:2] {
			real, simulated := merged(m.Real, k.histogram), merged(m.Simulated, k.histogram)
			most := max(real.Max(), simulated.Max())
			f.Lines = append(f.Lines, cumulative(k.name+", real", i, real, most),
				cumulative(k.name+", simulated", i+2, simulated, most))
		}
	}
	return f
}

// cumulative returns the share of values ≤ x for every x up to most.
func cumulative(name string, color int, h *histogram.Histogram, most int) report.Line {
	l := report.Line{Name: name, Color: color}
	for value := range most + 1 {
		l.Points = append(l.Points, report.Exact(float64(value), h.AtMost(value)))
	}
	return l
}

// findings returns a sentence on the error of all predicted modes, on modes above their budgets, and on
// staleness.
func (r *results) findings() []string {
	err, budget := r.overall()
	word := "within"
	if err > budget {
		word = "above"
	}
	sentences := []string{fmt.Sprintf("Step time of the predicted modes: median error %s %%, %s the "+
		"budget of %s %%.",
		percent(err), word, percent(budget))}
	if budget > budgetSpreads*spreadMost {
		sentences = append(sentences, "The real runs differ too much for this to be evidence: run "+
			"again on an idle machine.")
	}
	var outside []string
	for _, m := range r.Modes {
		if m.Mode != job.Sync && m.error() > m.budget() {
			outside = append(outside,
				fmt.Sprintf("%s (%s %%)", m.Mode, signedPercent(report.Median(m.errors()))))
		}
	}
	if outside != nil {
		sentences = append(sentences, "Modes above their own budgets: "+strings.Join(outside, ", ")+".")
	}
	farthest, distance := "", 0.0
	for _, m := range r.Modes {
		for _, k := range stalenessKinds()[:2] {
			if d := merged(m.Real, k.histogram).Distance(merged(m.Simulated, k.histogram)); d >= distance {
				farthest, distance = m.Mode+", "+k.name, d
			}
		}
	}
	return append(sentences, fmt.Sprintf("Largest distance between real and simulated staleness of "+
		"reads: %.2f steps (%s).",
		distance, farthest))
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes() []string {
	notes := []string{
		report.ModeSettingsNote(p.Job, p.Modes),
		"Sync calibrates: the medians of its times of work are the times of work in every mode. Its " +
			"own step time is not used; its error shows the effect of medians, messages and " +
			"scheduling alone.",
		"Two times follow from sync without being measured: applying one put takes 1/ranks of the " +
			"time for the puts of a step, and updating one dense PS's part of the network takes its " +
			"share of the time for the whole network. Copies of the network for pulls and averages " +
			"have the speed that the probe measures.",
		"Known differences: a real rank computes the backward pass group by group, so its first " +
			"bucket is complete only in the last group; simulated buckets complete in proportion to " +
			"their size. Interrupted threads, garbage collection and the wake-up of idle cores are " +
			"not simulated.",
		"The spread is half the range of the real runs over their median, over all rounds. It is " +
			"large on a machine with other load. An error compares the two runs of one round.",
		"The distance between histograms is the Wasserstein distance: by how many steps reads must be " +
			"moved on average. The total variation would rate a shift by one step like a shift by " +
			"ten.",
		"A step time leaves out the first and the last tenth of the batches. BC ends when the first " +
			"gradients are handed over; where BC and DS overlap, DS is the rest.",
		"The simulated runs have the same rows, order and initial values and do the real arithmetic: " +
			"only the times of the effects are simulated.",
		"All modes have one learning rate. A mode that needs another rate, as async-ps with its many small " +
			"steps, is not shown at its best.",
	}
	return append(notes, report.FewSeedsNote(p.Rounds, "rounds", "a spread")...)
}

// median returns the median of a quantity of runs.
func median(runs []*paired.Run, quantity func(r *paired.Run) float64) float64 {
	return report.Median(paired.Values(runs, quantity))
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3f", seconds*1e3) }
func percent(share float64) string        { return fmt.Sprintf("%.1f", share*100) }
func signedPercent(share float64) string {
	return report.Minus(fmt.Sprintf("%+.1f", share*100))
}
