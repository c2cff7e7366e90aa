package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// wanted is the rank correlation on held-out worlds from which a scalar counts as a predictor.
const wanted = 0.9

// report returns the prediction as tables, a figure and sentences.
func (p *predictorPlan) report(c *prediction) *report.Report {
	return &report.Report{
		Findings: c.findings(), Notes: p.notes(c), Comparisons: lateLessFresh(c.Worlds),
		Tables: []cli.Table{c.scalarTable(), c.worldTable()}, Figures: []report.Figure{c.figure()},
	}
}

// correlation returns a rank correlation with its interval.
func correlation(v metric.Interval) string {
	return strings.ReplaceAll(fmt.Sprintf("%.2f [%.2f, %.2f]", v.Estimate, v.Low, v.High), "-", "−")
}

func (c *prediction) scalarTable() cli.Table {
	t := cli.Table{
		Caption: "Rank correlation (Spearman) of scalars with the loss; the first was chosen on the first " +
			"half",
		Header: []string{"scalar", "first half", "held out, 95 %"}, Words: 1,
	}
	for _, s := range c.Scalars {
		t.Rows = append(t.Rows, []string{s.Name, report.Minus(fmt.Sprintf("%.2f", s.First)),
			correlation(s.HeldOut)})
	}
	return t
}

// order returns the worlds by predicted loss, then by measured loss.
func (c *prediction) order() (order []int) {
	for i := range c.Worlds {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.Predicted[a], c.Predicted[b]),
			cmp.Compare(c.Worlds[a].Loss.Estimate, c.Worlds[b].Loss.Estimate))
	})
	return order
}

func (c *prediction) worldTable() cli.Table {
	t := cli.Table{
		Caption: "Worlds by predicted loss (AUC × 1000); * held out; generated ones: columns × " +
			"α,\nrows/ids of the largest column, batch B, delay τ, rate r of rows",
		Header: []string{"world", "description", "predicted", "loss±95 %"}, Words: 2,
	}
	for _, i := range c.order() {
		w := &c.Worlds[i]
		name := w.Name
		if w.HeldOut {
			name += "*"
		}
		t.Rows = append(t.Rows, []string{name, w.Text, report.Milli(c.Predicted[i]),
			report.MilliInterval(w.Loss)})
	}
	return t
}

// figure shows measured and predicted losses, a world at a place.
func (c *prediction) figure() report.Figure {
	f := report.Figure{
		Name: "predictor", Title: "Loss of late rows, predicted by " + c.Scalars[0].Name,
		X: report.Axis{Label: "worlds in the order of the prediction (table: w1, w2, … and real data)",
			Ticks: []float64{}, Names: []string{}},
		Y: report.Axis{Label: "AUC lost (bars: 95 % over seeds)"},
	}
	lines := []report.Line{
		{Name: "predicted from half", Color: report.Grey, Guide: true},
		{Name: "measured, first half", Color: report.Grey, Scatter: true},
		{Name: "measured, held out", Color: 0, Scatter: true},
	}
	for place, i := range c.order() {
		w, x := &c.Worlds[i], float64(place+1)
		f.X.Ticks, f.X.Names = append(f.X.Ticks, x), append(f.X.Names, shortName(w))
		lines[0].Points = append(lines[0].Points, report.Exact(x, c.Predicted[i]))
		half := 1
		if w.HeldOut {
			half = 2
		}
		lines[half].Points = append(lines[half].Points, report.IntervalPoint(x, w.Loss))
	}
	f.Lines = lines
	return f
}

// shortName returns the name of a world for an axis: its number, or the first letters of its data.
func shortName(w *worldLoss) string {
	if w.Alpha == 0 {
		return strings.ToUpper(w.Name[:1]) + w.Name[1:2]
	}
	return strings.TrimPrefix(w.Name, "w")
}

// findings returns how well the chosen scalar predicts, and what others do.
func (c *prediction) findings() []string {
	best := &c.Scalars[0]
	reached := "at least"
	if best.HeldOut.Estimate < wanted {
		reached = "below"
	}
	sentences := []string{
		fmt.Sprintf("Chosen on %d worlds: %s (%s), with rank correlation %.2f there and %s on the %d "+
			"held-out worlds, which is %s the %g that was asked for; a random scalar exceeds %.2f with a "+
			"probability of 5 %%.", len(half(c.Worlds, false)), best.Name, best.Words, best.First,
			correlation(best.HeldOut), len(half(c.Worlds, true)), reached, wanted, c.ByChance),
		fmt.Sprintf("Its prediction is off by %.4f AUC in the median of the held-out worlds; the mean loss "+
			"of the first half is off by %.4f. Noise limits every predictor: the losses of two seeds order "+
			"those of the other seeds with a rank correlation of %.2f.", c.Error, c.NullError, c.Reliability),
	}
	var others []string
	for _, name := range []string{"max q", "Σq²", "missed updates", "τ·Σq²·rate", "τ"} {
		at := slices.IndexFunc(c.Scalars, func(s score) bool { return s.Name == name })
		others = append(others, fmt.Sprintf("%s %s", name, correlation(c.Scalars[at].HeldOut)))
	}
	verdicts := map[metric.Verdict]int{}
	for _, late := range lateLessFresh(c.Worlds) {
		verdicts[late.Verdict]++
	}
	return append(sentences, "Others on the held-out worlds: "+strings.Join(others, ", ")+".",
		fmt.Sprintf("Late rows differ from fresh ones in %d of %d worlds, are equivalent in %d, and %d are "+
			"inconclusive.", verdicts[metric.Different], len(c.Worlds), verdicts[metric.Equivalent],
			verdicts[metric.Inconclusive]))
}

// notes returns what a reader needs to judge the findings.
func (p *predictorPlan) notes(c *prediction) []string {
	var meanings []string
	for _, s := range c.Scalars {
		meanings = append(meanings, s.Name+" is "+s.Words)
	}
	notes := []string{
		fmt.Sprintf("The loss is AUC of fresh rows − AUC of late rows, mean over %d seeds that share rows, "+
			"order and initial values. Rows have Adagrad; rates are drawn, not tuned, so worlds differ in "+
			"them.", p.Seeds),
		"Worlds and halves were drawn before the first training, every property on its own. The interval " +
			"of a correlation is over resamples of the held-out worlds; the noise of the losses is in it.",
		"q is the share of training rows with an id; sums are over all ids of all columns. The predicted " +
			"loss is the monotone function of the scalar that fits the first half best.",
		"Scalars: " + strings.Join(meanings, "; ") + ".",
	}
	_, absent := report.Present(slices.DeleteFunc(slices.Clone(p.Worlds), func(w world) bool {
		return slices.ContainsFunc(c.Worlds, func(l worldLoss) bool { return l.Name == w.Name })
	}), p.folder)
	return slices.Concat(notes, absent, report.FewSeedsNote(p.Seeds, "seeds", "an interval"))
}
