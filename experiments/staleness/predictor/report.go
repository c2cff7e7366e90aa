package predictor

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

// report returns the comparison as tables, a figure and sentences.
func (c *comparison) report(p *plan, absent []string) *report.Report {
	return &report.Report{
		Findings:    c.findings(),
		Comparisons: comparisons(c.Worlds),
		Notes:       c.notes(p, absent),
		Tables:      []cli.Table{c.scalarTable(), c.worldTable()},
		Figures:     []report.Figure{c.figure()},
		Settings:    p,
		Data:        c,
	}
}

// correlation returns a rank correlation with its interval.
func correlation(v metric.Interval) string {
	return strings.ReplaceAll(fmt.Sprintf("%.2f [%.2f, %.2f]", v.Estimate, v.Low, v.High), "-", "−")
}

func (c *comparison) scalarTable() cli.Table {
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
func (c *comparison) order() []int {
	order := make([]int, len(c.Worlds))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.Predicted[a], c.Predicted[b]),
			cmp.Compare(c.Worlds[a].Loss.Estimate, c.Worlds[b].Loss.Estimate))
	})
	return order
}

func (c *comparison) worldTable() cli.Table {
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
func (c *comparison) figure() report.Figure {
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
		f.X.Ticks, f.X.Names = append(f.X.Ticks, x), append(f.X.Names, short(w))
		lines[0].Points = append(lines[0].Points, report.Exact(x, c.Predicted[i]))
		half := 1
		if w.HeldOut {
			half = 2
		}
		lines[half].Points = append(lines[half].Points,
			report.Point{X: x, Y: w.Loss.Estimate, Low: w.Loss.Low, High: w.Loss.High})
	}
	f.Lines = lines
	return f
}

// short returns the name of a world for an axis: its number, or the first letters of its data.
func short(w *loss) string {
	if w.Alpha == 0 {
		return strings.ToUpper(w.Name[:1]) + w.Name[1:2]
	}
	return strings.TrimPrefix(w.Name, "w")
}

// findings returns how well the chosen scalar predicts, and what others do.
func (c *comparison) findings() []string {
	best := &c.Scalars[0]
	reached := "which is at least the " + fmt.Sprint(wanted) + " that was asked for"
	if best.HeldOut.Estimate < wanted {
		reached = "which is below the " + fmt.Sprint(wanted) + " that was asked for"
	}
	sentences := []string{
		fmt.Sprintf("Chosen on %d worlds: %s (%s), with rank correlation %.2f there and %s on the %d "+
			"held-out worlds, %s; a random scalar exceeds %.2f with a probability of 5 %%.",
			len(half(c.Worlds, false)),
			best.Name, best.Words, best.First, correlation(best.HeldOut), len(half(c.Worlds, true)), reached,
			c.ByChance),
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
	for i := range c.Worlds {
		verdicts[c.Worlds[i].late.Verdict]++
	}
	return append(sentences, "Others on the held-out worlds: "+strings.Join(others, ", ")+".",
		fmt.Sprintf("Late rows differ from fresh ones in %d of %d worlds, are equivalent in %d, and %d are "+
			"inconclusive.", verdicts[metric.Different], len(c.Worlds), verdicts[metric.Equivalent],
			verdicts[metric.Inconclusive]))
}

// notes returns what a reader needs to judge the findings.
func (c *comparison) notes(p *plan, absent []string) []string {
	notes := []string{
		fmt.Sprintf("The loss is AUC of fresh rows − AUC of late rows, mean over %d seeds that share rows, "+
			"order and initial values. Rows have Adagrad; rates are drawn, not tuned, so worlds differ in "+
			"them.",
			p.Seeds),
		"Worlds and halves were drawn before the first training, every property on its own. The interval " +
			"of a correlation is over resamples of the held-out worlds; the noise of the losses is in it.",
		"q is the share of training rows with an id; sums are over all ids of all columns. The predicted " +
			"loss is the monotone function of the scalar that fits the first half best.",
	}
	var meanings []string
	for _, s := range c.Scalars {
		meanings = append(meanings, s.Name+" is "+s.Words)
	}
	notes = append(notes, "Scalars: "+strings.Join(meanings, "; ")+".")
	notes = append(notes, absent...)
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
