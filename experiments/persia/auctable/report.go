package auctable

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// reportTable returns the results of auc-table: every effect on every data set.
func (p *plan) reportTable(results []*result) *report.Report {
	out := &report.Report{
		Comparisons: comparisons(results, true, arms.Own, arms.Common),
		Notes: append(p.notes(results), "Names that end in -like are presets of the generator: columns as "+
			"published of the log, rows drawn."),
		Quantities: p.quantities(results),
		Figures:    []report.Figure{p.tableFigure(results, arms.Own), p.tableFigure(results, arms.Common)},
	}
	for i, e := range p.effects() {
		out.Tables = append(out.Tables, effectTable(e, i, results))
		for _, kind := range []arms.Kind{arms.Own, arms.Common} {
			out.Findings = append(out.Findings, effectFinding(e, i, kind, results))
		}
	}
	out.Findings = append(out.Findings, p.boundFinding(results))
	for _, r := range results {
		out.Tables = append(out.Tables, r.rateTable(), r.levelTable())
	}
	if len(results) == len(p.Sets) { // and not drawn again beside other files
		out.Notes = append(out.Notes, p.Absent...)
	}
	return out
}

// reportTuner returns the results of tuner: the rates of every arm, and what it differs by at its own.
func (p *plan) reportTuner(results []*result) *report.Report {
	out := &report.Report{
		Comparisons: comparisons(results, true, arms.Common, arms.Own), Notes: p.notes(results),
		Figures: []report.Figure{p.tunerFigure(results)},
	}
	for _, r := range results {
		out.Tables = append(out.Tables, r.rateTable(), r.levelTable())
		for i, e := range p.effects() {
			if g := r.Effects[i]; e.Treated != logistic {
				out.Findings = append(out.Findings, fmt.Sprintf("%s: AUC of %s less that of sync is %s at "+
					"the rates of sync (%s) and %s at its own (%s).", r.DataSet, e.Treated,
					report.PlusMinus(g.Common.AUC), g.Common.Text(), report.PlusMinus(g.Own.AUC),
					g.Own.Text()))
			}
		}
	}
	out.Tables = append(out.Tables, report.ComparisonTables(out.Comparisons)...)
	return out
}

// effectTable returns a table of an effect, a line for each data set.
func effectTable(e arms.Difference, at int, results []*result) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("%s: AUC of %s − AUC of %s, in thousandths, ± half the 95 %% interval; all: ± "+
			"of intervals that hold together; * different, = equivalent, each after Holm's adjustment; "+
			"brackets: too few test rows for a verdict", e.Text, e.Treated, e.Reference),
		Header: []string{"data", "own rates", "all", "rates of sync", "all", "test rows"}, Words: 1,
	}
	for _, r := range results {
		row := []string{r.DataSet}
		for _, c := range []*judge.Comparison{r.Effects[at].Own, r.Effects[at].Common} {
			if r.Judged {
				row = append(row, report.MilliVerdict(c),
					fmt.Sprintf("±%.1f", 500*(c.Simultaneous.High-c.Simultaneous.Low)))
			} else {
				row = append(row, "("+report.MilliInterval(c.AUC)+")", "")
			}
		}
		t.Rows = append(t.Rows, append(row, report.Thousands(r.TestRows)))
	}
	return t
}

// rateTable returns a table of what the tuner chose for a data set.
func (r *result) rateTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": learning rates; ÷ sync is the ratio of the best rates of rows, with its " +
			"95 % interval over seeds; ! the best candidate is at an end of the grid",
		Header: []string{"arm", "rows", "network", "rows ÷ sync (95 %)"}, Words: 1,
	}
	for _, a := range r.Arms {
		rows, network := a.RateTexts(3)
		t.Add(a.Name, rows, network, report.RatioText(a.RowRatio))
	}
	return t
}

// levelTable returns a table of the AUC on a data set, beside simpler and better predictions.
func (r *result) levelTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC on the test rows, mean over seeds ± half the 95 % interval; a constant " +
			"guess has 0.5, no model exceeds the oracle",
		Header: []string{"arm", "at the rates of sync", "at its own rates"}, Words: 1,
	}
	for _, a := range r.Arms {
		t.Add(a.Name, report.Level(a.Common.AUC), report.Level(a.Own.AUC))
	}
	if r.Oracle != nil {
		t.Add("oracle", "", report.Level(r.Oracle))
	}
	return t
}

// tableFigure shows the differences to sync on the judged data sets: a place on the axis for each data set, a
// colour for each mode.
func (p *plan) tableFigure(results []*result, kind arms.Kind) report.Figure {
	f := report.Figure{
		Name:  strings.ReplaceAll(string(kind), " ", "-"),
		Title: "AUC of a mode − AUC of sync, " + rateText(kind),
		Y:     report.Axis{Label: "AUC difference (bars: 95 %)"},
	}
	results = judged(results)
	for i, r := range results {
		f.X.Ticks = append(f.X.Ticks, float64(i))
		name := strings.ReplaceAll(r.DataSet, "-", "-\n")
		if len(results) > 8 && i%2 == 1 { // side by side they would touch
			name = "\n\n" + name
		}
		f.X.Names = append(f.X.Names, name)
	}
	f.Lines = report.MarginLines(-0.5, float64(len(results))-0.5)
	color := 0
	for i, e := range p.effects() {
		if e.Reference != job.Sync || e.Treated == byRank {
			continue
		}
		l := report.Line{Name: e.Treated, Color: color, Scatter: true}
		side := (float64(color) - float64(len(p.Modes)-2)/2) * 0.7 / float64(len(p.Modes))
		for k, r := range results {
			l.Points = append(l.Points, report.IntervalPoint(float64(k)+side, r.Effects[i].At(kind).AUC))
		}
		f.Lines = append(f.Lines, l)
		color++
	}
	return f
}

// judged returns the results with enough test rows for a verdict.
func judged(results []*result) []*result {
	return slices.DeleteFunc(slices.Clone(results), func(r *result) bool { return !r.Judged })
}

func rateText(kind arms.Kind) string {
	if kind == arms.Own {
		return "each at its own rates"
	}
	return "at the rates of sync"
}

// tunerFigure shows the differences to sync: a place on the axis per mode, a series per data set and rate.
func (p *plan) tunerFigure(results []*result) report.Figure {
	f := report.Figure{
		Name: "auc-difference", Title: "AUC of each mode − AUC of sync, at the rates of sync (common) and " +
			"its own",
		X: report.Axis{Label: "mode"}, Y: report.Axis{Label: "AUC difference (bars: 95 % over seeds)"},
	}
	for _, e := range p.effects() {
		if e.Treated != logistic {
			f.X.Ticks, f.X.Names = append(f.X.Ticks, float64(len(f.X.Ticks))), append(f.X.Names, e.Treated)
		}
	}
	f.Lines = report.MarginLines(-0.5, float64(len(f.X.Ticks))-0.5)
	color := 0
	for _, r := range results {
		for _, kind := range []arms.Kind{arms.Common, arms.Own} {
			name, _, _ := strings.Cut(string(kind), " ")
			l := report.Line{Name: r.DataSet + ", " + name, Color: color, Scatter: true}
			for i, x := range f.X.Ticks {
				x += 0.06 * (float64(color) - 1.5) // side by side
				l.Points = append(l.Points, report.IntervalPoint(x, r.Effects[i].At(kind).AUC))
			}
			f.Lines = append(f.Lines, l)
			color++
		}
	}
	return f
}

// effectFinding returns the sentence on an effect at a kind of rates.
func effectFinding(e arms.Difference, at int, kind arms.Kind, results []*result) string {
	sets := map[metric.Verdict][]string{}
	for _, r := range judged(results) {
		c, text := r.Effects[at].At(kind), r.DataSet
		if c.Verdict != metric.Equivalent {
			text += fmt.Sprintf(" (%s)", report.PlusMinus(c.AUC))
		}
		sets[c.Verdict] = append(sets[c.Verdict], text)
	}
	var parts []string
	for _, v := range []metric.Verdict{metric.Different, metric.Equivalent, metric.Inconclusive} {
		if sets[v] != nil {
			parts = append(parts, v.String()+" on "+strings.Join(sets[v], ", "))
		}
	}
	if parts == nil {
		parts = []string{"no data set has enough test rows for a verdict"}
	}
	return fmt.Sprintf("%s, %s: %s.", e.Text, rateText(kind), strings.Join(parts, "; "))
}

// boundFinding returns the sentence on what Persia reports: hybrid within 0.1 % of sync on its three data
// sets, asynchronous training 0.5 to 1 % below.
func (p *plan) boundFinding(results []*result) string {
	inside, outside, count := 0, 0, 0
	for i, e := range p.effects() {
		if e.Name != job.Hybrid+"-less-sync" {
			continue
		}
		for _, r := range judged(results) {
			count++
			v := r.Effects[i].Own.AUC
			switch {
			case v.Low > -metric.EquivalenceMargin && v.High < metric.EquivalenceMargin:
				inside++
			case v.High < -metric.EquivalenceMargin || v.Low > metric.EquivalenceMargin:
				outside++
			}
		}
	}
	return fmt.Sprintf("Persia reports hybrid within 0.001 AUC of sync on its data sets. At own rates, the "+
		"95 %% interval lies inside that on %d of %d data sets with verdicts, outside on %d.", inside,
		count, outside)
}

// quantities returns every effect on every data set, and the AUC of sync.
func (p *plan) quantities(results []*result) (list []report.Quantity) {
	for _, r := range results {
		name := report.Slug(r.DataSet)
		list = append(list, report.Quantity{Name: "sync-auc-" + name, What: "AUC of sync on " + r.DataSet,
			Interval: metric.MeanInterval(r.Arm(job.Sync).Own.AUC), Over: report.OverSeeds})
		for i, e := range p.effects() {
			for _, kind := range []arms.Kind{arms.Own, arms.Common} {
				list = append(list, report.Quantity{
					Name: e.Name + "-" + name + kind.Suffix(),
					What: fmt.Sprintf("AUC of %s − AUC of %s on %s, %s", e.Treated, e.Reference, r.DataSet,
						rateText(kind)),
					Interval: r.Effects[i].At(kind).AUC, Over: report.OverSeeds,
				})
			}
		}
	}
	return list
}

func (p *plan) notes(results []*result) []string {
	edges, diverged := 0, 0
	for _, r := range results {
		diverged += r.Diverged
		for _, a := range r.Arms {
			if a.Choice.AtEdge {
				edges++
			}
		}
	}
	inSequence := job.Sync
	if slices.Contains(p.armNames(), byRank) {
		inSequence += ", by rank too,"
	}
	notes := []string{
		fmt.Sprintf("Engine: deterministic training on the simulated cluster persia-paper, %d ranks, "+
			"τ = %d; %s and logistic regression in sequence, which has the bits of sync.",
			p.Job.Roles.Ranks, p.Job.Training.Prefetch-1, inSequence),
		fmt.Sprintf("One epoch of a network %v over rows of dimension %d; rows have Adagrad, the network "+
			"Adam. Runs are shorter than the published ones, so staleness is a larger part of them.",
			p.Job.Model.Top, p.Job.Model.EmbeddingDim),
		fmt.Sprintf("Every arm had the same trials: %d pairs of rates under one seed, the best under more, "+
			"the finalists under %d, and the top of a parabola in the logarithm of each rate. On generated "+
			"data they use seeds that are not used afterwards, on real data the last tenth of the training "+
			"rows. %g and %g are kept unless other rates are better by more than two standard errors. %d "+
			"arms have their best rates at an end of the grid.", len(p.Rates.Rows)*len(p.Rates.Dense),
			p.Rates.Seeds, p.Nominal.Rows, p.Nominal.Dense, edges),
		fmt.Sprintf("%d trainings of comparisons diverged and count as a guess of ½.", diverged),
		"Logistic is logistic regression: one weight for every id and number.",
		report.ModeSettingsNote(p.Job, p.Modes),
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
