package hotrows

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

func (p *plan) report(r *results) *report.Report {
	out := &report.Report{
		Comparisons: r.comparisons(), Notes: p.notes(r),
		Tables: []cli.Table{levelTable(r), p.lossTable(r), speedTable(r.Speeds)},
	}
	for _, d := range r.DataSets {
		for _, tau := range p.Taus {
			out.Findings = append(out.Findings, d.finding(tau))
		}
	}
	out.Findings = append(out.Findings, p.speedFindings(r.Speeds)...)
	for _, tau := range p.Taus {
		out.Figures = append(out.Figures, lossFigure(r, tau))
	}
	return out
}

// levelTable has a line per data set: training without delay.
func levelTable(r *results) cli.Table {
	t := cli.Table{
		Caption: "Training without delay, at tuned rates",
		Header:  []string{"data", "AUC ± 95 %", "steps", "test rows", "row rate", "dense rate"}, Words: 1,
	}
	for _, d := range r.DataSets {
		v := d.Variants[0]
		t.Add(d.DataSet, report.Level(v.AUC), report.Thousands(d.Steps), report.Thousands(d.TestRows),
			report.Digits(v.Rates.Rows, 3), report.Digits(v.Rates.Dense, 3))
	}
	return t
}

// lossTable has a line per variant with late rows or fewer steps.
func (p *plan) lossTable(r *results) cli.Table {
	t := cli.Table{
		Caption: "AUC loss against training without delay; all rows but hot ones are τ steps late",
		Header:  []string{"data", "τ", "hot from", "hot rows", "share", "AUC loss ± 95 %", "left"},
		Words:   1,
	}
	for _, d := range r.DataSets {
		for _, tau := range p.Taus {
			t.Add(d.DataSet, fmt.Sprint(tau), "only lag", "–", "–", d.find(variant{Drop: tau}).lossText(),
				"–")
			for _, v := range d.late(tau) {
				from, rows, share, left := "none", "0", "–", "–"
				if v.Variant.Threshold != nil {
					from, rows, share = percent(*v.Variant.Threshold), v.hot(), wholePercent(v.HotShare)
				}
				if d.lost(tau) && v.Diverged == 0 {
					left = wholePercent(v.Remaining)
				}
				t.Add(d.DataSet, fmt.Sprint(tau), from, rows, share, v.lossText(), left)
			}
		}
	}
	return t
}

func (v *variantResult) hot() string { return report.Thousands(int(math.Round(v.HotRows))) }

// lossText returns the loss, or how many trainings diverged.
func (v *variantResult) lossText() string {
	if v.Diverged > 0 {
		return fmt.Sprintf("%d of %d diverged", v.Diverged, len(v.AUC))
	}
	return report.Amount(v.Loss)
}

func speedTable(speeds []*speed) cli.Table {
	t := cli.Table{
		Caption: "Simulated samples per second; in hot-rows every rank holds the hot rows",
		Header:  []string{"GPUs", "mode", "from", "rows", "samples/s", "÷ sync [98 %]", "÷ hybrid"},
		Words:   2,
	}
	for _, s := range speeds {
		from, rows := "–", "–"
		if s.Replica != nil {
			from, rows = percent(s.Threshold), report.Thousands(int(s.Replica.Rows))
		}
		t.Add(fmt.Sprint(s.GPUs), s.Mode, from, rows, report.Thousands(int(math.Round(s.Throughput))),
			fmt.Sprintf("%.2f [%.2f, %.2f]", s.ToSync, s.ToSyncInterval.Low, s.ToSyncInterval.High),
			fmt.Sprintf("%.3f", s.ToHybrid))
	}
	return t
}

func percent(share float64) string { return report.Digits(100*share, 4) + " %" }

// wholePercent returns a share, rounded to 1 %, as text.
func wholePercent(share float64) string {
	return report.Minus(fmt.Sprintf("%.0f %%", 100*share+0))
}

// lost reports whether late rows, none of them hot, cost AUC: the interval of the loss is above 0.
func (d *dataSetResult) lost(tau int) bool {
	none := d.find(variant{Tau: tau})
	return none.Diverged == 0 && none.Loss.Low > 0
}

// verdict returns the verdict of a comparison. Early results do not have them beside the variants.
func verdict(c *judge.Comparison) string {
	if c == nil {
		return "not judged"
	}
	return c.Text()
}

// finding says what late rows cost, and the fewest hot rows that leave at most half of it, and a tenth.
func (d *dataSetResult) finding(tau int) string {
	late, lag := d.late(tau), d.find(variant{Drop: tau})
	none, hot := late[0], late[1:]
	head := fmt.Sprintf("%s, τ = %d: ", d.DataSet, tau)
	switch {
	case none.Diverged > 0:
		return head + "training with all rows late diverged."
	case none.Loss.High < 0:
		return head + fmt.Sprintf("late rows gain %s AUC (%s), training without delay that is %d steps "+
			"shorter %s (%s).", report.Amount(report.Negated(none.Loss)), verdict(none.ToFresh), tau,
			report.Amount(report.Negated(lag.Loss)), verdict(lag.ToFresh))
	case !d.lost(tau):
		return head + fmt.Sprintf("neither loss nor gain from late rows is found: a loss of %s AUC (%s).",
			report.Amount(none.Loss), verdict(none.ToFresh))
	}
	head += fmt.Sprintf("late rows cost %s AUC (%s)", report.Amount(none.Loss), verdict(none.ToFresh))
	told := -1
	for _, most := range []float64{0.5, 0.1} {
		at := slices.IndexFunc(hot, func(v *variantResult) bool {
			return v.Diverged == 0 && v.Remaining <= most && v.Gain.Low > 0
		})
		if at > told {
			v := hot[at]
			head += fmt.Sprintf("; with the %s rows fresh that are in at least %s of the samples, %s is "+
				"left (%s) and %s gained (%s)", v.hot(), percent(*v.Variant.Threshold), report.Amount(v.Loss),
				verdict(v.ToFresh), report.Amount(v.Gain), verdict(v.ToLate))
			told = at
		}
	}
	if told < 0 {
		head += fmt.Sprintf("; no threshold down to %s gets half of it back",
			percent(*hot[len(hot)-1].Variant.Threshold))
	}
	return head + "."
}

// speedFindings compares hot-rows at the lowest threshold that was trained with the other modes.
func (p *plan) speedFindings(speeds []*speed) (sentences []string) {
	hybrid := 0.0 // ÷ sync, on the same GPUs
	for _, s := range speeds {
		switch {
		case s.Mode == job.Hybrid:
			hybrid = s.ToSync
		case s.Threshold == p.Thresholds[len(p.Thresholds)-1]:
			sentences = append(sentences, fmt.Sprintf("Simulated on %d GPUs: hot-rows with %s rows on every "+
				"rank, those in at least %s of the samples, is %.2f times as fast as sync and %.3f times as "+
				"fast as hybrid, which is %.2f times as fast as sync.", s.GPUs,
				report.Thousands(int(s.Replica.Rows)), percent(s.Threshold), s.ToSync, s.ToHybrid, hybrid))
		}
	}
	return sentences
}

func (p *plan) notes(r *results) []string {
	notes := []string{
		"A row is hot from a share of the samples that contain it; “share” is that of hot rows in all row " +
			"gradients, and “left” the loss ÷ the loss without hot rows, where that is above 0. “only lag” " +
			"is not late and trains τ steps less.",
		"A finding names the fewest hot rows that leave at most half of the loss, and at most a tenth, " +
			"among thresholds whose gain over no hot rows is above 0 with its interval.",
		"Learning rates are tuned on other rows: of training without delay for rows and network, then of " +
			"every variant for rows, around these. A variant keeps the rates of training without delay " +
			"unless others are better by more than two standard errors.",
		"Hot rows are known beforehand: all training samples are counted. Their delay is 0, as if their " +
			"gradients were reduced in every step. The network is never late.",
		fmt.Sprintf("Simulated is the model of the cluster %s with τ = %d, not the trained data: its rows "+
			"above the same thresholds. The interval holds the central 98 %% of %d points of the box of "+
			"unknowns.", p.Speed.Preset, p.Speed.Tau, p.Speed.Samples),
		"hot-rows is hybrid with rows.hot, as the simulator prices it: EWs find the hot rows of every bag; " +
			"accelerators gather, pool and update them by kernels of their own; their gradients, also " +
			"those that are 0, are one fp32 bucket of the all-reduce after those of the network, which " +
			"does not overlap backward; pooled values of bags with hot rows are not sent.",
	}
	var diverged []string
	edges := 0
	for _, d := range r.DataSets {
		for _, v := range d.Variants {
			if v.AtEdge && v.Variant.Drop == 0 {
				edges++
			}
			if v.Diverged > 0 {
				diverged = append(diverged, d.DataSet+", "+v.Variant.String())
			}
		}
	}
	if edges > 0 {
		notes = append(notes, fmt.Sprintf("For %d variants (at_edge in hot-rows.json) the best rate of "+
			"tuning is at an end of the candidates, so a better one may lie beyond.", edges))
	}
	notes = append(notes, report.Absent(p.DataSets, p.folder, func(d dataSet) bool {
		return slices.ContainsFunc(r.DataSets, func(r *dataSetResult) bool { return r.DataSet == d.Name })
	})...)
	if len(diverged) > 0 {
		notes = append(notes, "Trainings diverged of: "+strings.Join(diverged, "; ")+".")
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}

// lossFigure shows the loss by the number of hot rows, a line per data set.
func lossFigure(r *results, tau int) report.Figure {
	var lines []report.Line
	most := 1.0
	for i, d := range r.DataSets {
		line := report.Line{Name: d.DataSet, Color: i}
		for _, v := range d.late(tau) {
			if v.Diverged == 0 {
				line.Points = append(line.Points, report.IntervalPoint(v.HotRows, v.Loss))
				most = max(most, v.HotRows)
			}
		}
		lines = append(lines, line)
	}
	axis := report.Axis{Label: "hot rows, which are fresh", LogPlusOne: true, Ticks: []float64{0}}
	for tick := 1.0; tick <= most; tick *= 10 {
		axis.Ticks = append(axis.Ticks, tick)
	}
	return report.Figure{
		Name:  fmt.Sprintf("loss-%d", tau),
		Title: fmt.Sprintf("AUC loss when all rows but hot ones are %d steps late", tau),
		X:     axis,
		Y:     report.Axis{Label: "AUC loss (bars: 95 % over seeds)"},
		Lines: append(report.MarginLines(0, most), lines...),
	}
}
