package auctable

import (
	"fmt"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	return &report.Report{
		Comparisons: comparisons(results, true),
		Findings:    p.findings(results),
		Notes:       p.notes(results),
		Quantities:  p.quantities(results),
		Tables:      p.tables(results),
		Figures:     []report.Figure{p.figure(results, arms.Own), p.figure(results, arms.Common)},
		Settings:    p,
		Data:        results,
	}
}

// tables returns a table for every effect, the AUC of simpler and better predictions, and rates.
func (p *plan) tables(results []*result) (list []cli.Table) {
	for i, e := range p.effects() {
		list = append(list, effectTable(e, i, results))
	}
	list = append(list, levelTable(results))
	for _, r := range results {
		list = append(list, r.rateTable())
	}
	return list
}

// effectTable returns a table of an effect, a line for each data set.
func effectTable(e effect, at int, results []*result) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("%s: AUC of %s − AUC of %s, in thousandths, ± half the 95 %% interval; all: ± "+
			"of intervals that hold together; * different, = equivalent, each after Holm's adjustment; "+
			"brackets: too few test rows for a verdict", e.text, e.treated, e.reference),
		Header: []string{"data", "own rates", "all", "rates of sync", "all", "test rows"}, Words: 1,
	}
	for _, r := range results {
		g := r.Effects[at]
		row := []string{r.DataSet}
		for _, c := range []*judge.Comparison{g.Own, g.Common} {
			row = append(row, r.value(c), fmt.Sprintf("±%.1f", 500*(c.Simultaneous.High-c.Simultaneous.Low)))
		}
		if !r.Judged {
			row[2], row[4] = "", ""
		}
		t.Rows = append(t.Rows, append(row, report.Thousands(r.TestRows)))
	}
	return t
}

// value returns a difference with the mark of its verdict.
func (r *result) value(c *judge.Comparison) string {
	if !r.Judged {
		return "(" + report.MilliInterval(c.AUC) + ")"
	}
	return report.MilliVerdict(c)
}

// levelTable returns a table of the AUC of sync beside simpler and better predictions.
func levelTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "AUC on the test rows, mean over seeds ± half the 95 % interval, at tuned rates; a " +
			"constant guess has 0.5, no model exceeds the oracle",
		Header: []string{"data", "sync", "logistic", "oracle"}, Words: 1,
	}
	for _, r := range results {
		oracle := ""
		if r.Oracle != nil {
			oracle = report.Level(r.Oracle)
		}
		t.Rows = append(t.Rows, []string{r.DataSet, report.Level(r.Arm(job.Sync).Own.AUC),
			report.Level(r.Arm(logistic).Own.AUC), oracle})
	}
	return t
}

// rateTable returns a table of what the tuner chose for a data set, with the AUC.
func (r *result) rateTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": tuned learning rates of rows and network (! the best candidate is at an " +
			"end of the grid) and AUC, mean over seeds ± half the 95 % interval",
		Header: []string{"arm", "rows", "network", "AUC, own rates", "AUC, rates of sync"}, Words: 1,
	}
	for _, a := range r.Arms {
		rows, network := a.RateTexts(2)
		t.Rows = append(t.Rows, []string{a.Name, rows, network, report.Level(a.Own.AUC),
			report.Level(a.Common.AUC)})
	}
	return t
}

// figure shows the differences to sync on the judged data sets: a place on the axis for each data set, a
// colour for each mode.
func (p *plan) figure(results []*result, kind arms.Kind) report.Figure {
	f := report.Figure{
		Name:  strings.ReplaceAll(string(kind), " ", "-"),
		Title: "AUC of a mode − AUC of sync, " + rateText(kind),
		Y:     report.Axis{Label: "AUC difference (bars: 95 %)"},
	}
	lines := map[string]*report.Line{}
	for _, r := range results {
		if !r.Judged {
			continue
		}
		x := float64(len(f.X.Ticks))
		f.X.Ticks, f.X.Names = append(f.X.Ticks, x),
			append(f.X.Names, strings.ReplaceAll(r.DataSet, "-", "-\n"))
		for i, e := range p.effects() {
			if e.reference != job.Sync || e.treated == byRank {
				continue
			}
			if lines[e.name] == nil {
				lines[e.name] = &report.Line{Name: e.treated, Color: len(lines), Scatter: true}
			}
			l := lines[e.name]
			v := r.Effects[i].At(kind).AUC
			side := (float64(l.Color) - float64(len(p.Modes)-2)/2) * 0.7 / float64(len(p.Modes))
			l.Points = append(l.Points, report.Point{X: x + side, Y: v.Estimate, Low: v.Low, High: v.High})
		}
	}
	f.Lines = report.MarginLines(-0.5, float64(len(f.X.Ticks))-0.5)
	for _, e := range p.effects() {
		if l := lines[e.name]; l != nil {
			f.Lines = append(f.Lines, *l)
		}
	}
	return f
}

// rateText names a kind of rates in sentences.
func rateText(kind arms.Kind) string {
	if kind == arms.Own {
		return "each at its own rates"
	}
	return "at the rates of sync"
}

// findings returns the sentences on every effect.
func (p *plan) findings(results []*result) (sentences []string) {
	for i, e := range p.effects() {
		for _, kind := range []arms.Kind{arms.Own, arms.Common} {
			sentences = append(sentences, effectFinding(e, i, kind, results))
		}
	}
	return append(sentences, p.boundFinding(results))
}

// effectFinding returns the sentence on an effect at a kind of rates.
func effectFinding(e effect, at int, kind arms.Kind, results []*result) string {
	var different, equivalent, open []string
	for _, r := range results {
		if !r.Judged {
			continue
		}
		c := r.Effects[at].At(kind)
		switch c.Verdict {
		case metric.Different:
			different = append(different, fmt.Sprintf("%s (%s)", r.DataSet, report.PlusMinus(c.AUC)))
		case metric.Equivalent:
			equivalent = append(equivalent, r.DataSet)
		default:
			open = append(open, fmt.Sprintf("%s (%s)", r.DataSet, report.PlusMinus(c.AUC)))
		}
	}
	var parts []string
	for _, part := range []struct {
		text string
		sets []string
	}{{"different on ", different}, {"equivalent on ", equivalent}, {"inconclusive on ", open}} {
		if part.sets != nil {
			parts = append(parts, part.text+strings.Join(part.sets, ", "))
		}
	}
	if parts == nil {
		parts = []string{"no data set has enough test rows for a verdict"}
	}
	return fmt.Sprintf("%s, %s: %s.", e.text, rateText(kind), strings.Join(parts, "; "))
}

// boundFinding returns the sentence on what Persia reports: hybrid within 0.1 % of sync on its three data
// sets, asynchronous training 0.5 to 1 % below.
func (p *plan) boundFinding(results []*result) string {
	var inside, outside, judged int
	for _, r := range results {
		for i, e := range p.effects() {
			if !r.Judged || e.name != job.Hybrid+"-less-sync" {
				continue
			}
			judged++
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
		judged, outside)
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
					Name: e.name + "-" + name + kind.Suffix(),
					What: fmt.Sprintf("AUC of %s − AUC of %s on %s, %s", e.treated, e.reference, r.DataSet,
						rateText(kind)),
					Interval: r.Effects[i].At(kind).AUC, Over: report.OverSeeds,
				})
			}
		}
	}
	return list
}

// notes returns what a reader needs to judge the findings.
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
	t := p.Job.Training
	notes := []string{
		fmt.Sprintf("Engine: deterministic training on the simulated cluster persia-paper, %d ranks, "+
			"τ = %d; sync, sync by rank and logistic regression in sequence, which has the bits of sync.",
			p.Job.Roles.Ranks, t.Prefetch-1),
		fmt.Sprintf("One epoch of a network %v over rows of dimension %d; rows have Adagrad, the network "+
			"Adam. Runs are shorter than the published ones, so staleness is a larger part of them.",
			p.Job.Model.Top, p.Job.Model.EmbeddingDim),
		fmt.Sprintf("Every arm had the same trials: %d pairs of rates under one seed, the best under more, "+
			"the finalists under %d, and the top of a parabola. On generated data they use seeds that are "+
			"not used afterwards, on real data the last tenth of the training rows. %g and %g are kept "+
			"unless other rates are better by more than two standard errors. %d arms have their best rates "+
			"at an end of the grid.", len(p.Rates.Rows)*len(p.Rates.Dense), p.Rates.Seeds, nominal.Rows,
			nominal.Dense, edges),
		fmt.Sprintf("%d trainings of comparisons diverged and count as a guess of ½.", diverged),
		"Names that end in -like are presets of the generator: columns as published of the log, rows drawn.",
		report.ModeSettingsNote(p.Job, p.Modes),
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
