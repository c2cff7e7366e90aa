package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/sim/predict"
)

// Report returns the results as tables, a figure of all comparisons, sentences, notes, and the predictions of
// named claims as quantities. Experiments add their own.
func (p *Plan) Report(r *Results) *report.Report {
	numbers, verdicts := claimTables(r.Comparisons)
	out := &report.Report{
		Findings: findings(r.Comparisons), Notes: p.notes(r),
		Tables:  []cli.Table{numbers, verdicts},
		Figures: []report.Figure{comparisonFigure(r.Comparisons)},
	}
	var largest []TotalEffects
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		largest = append(largest, TotalEffects{c.What, c.Effects[:min(2, len(c.Effects))]})
		if c.Name == "" {
			continue
		}
		low, high, over := c.ends()
		q := report.Quantity{Name: c.Name, What: fmt.Sprintf("%s, %s", c.What, c.Unit), Over: over,
			Interval: metric.Interval{Estimate: c.Middle, Low: low, High: high}}
		out.Quantities = append(out.Quantities, q)
	}
	for _, t := range []cli.Table{
		effectTable("Inputs that explain most of an interval", "what", largest),
		effectTable("Total effects of inputs on throughputs, interactions included", "case", r.Totals),
	} {
		if len(t.Rows) > 0 {
			out.Tables = append(out.Tables, t)
		}
	}
	for i := range r.Causes {
		out.Tables = append(out.Tables, causeTable(&r.Causes[i]))
	}
	return out
}

// Quantity returns a number of a report with its interval over the unknown inputs.
func Quantity(name, what string, i metric.Interval) report.Quantity {
	return report.Quantity{Name: name, What: what, Interval: i, Over: report.OverUnknowns}
}

// ends returns the ends of the interval and what it spans; without one, the ends are the middle.
func (c *Comparison) ends() (low, high float64, over report.Basis) {
	if c.Low > 0 {
		return c.Low, c.High, report.OverUnknowns
	}
	return c.Middle, c.Middle, report.OverNothing
}

// claimTables have the numbers of every claim, and the verdict on it with where its figure is from. Both fit
// 80 columns.
func claimTables(comparisons []Comparison) (numbers, verdicts cli.Table) {
	const provenanceColumns = 16
	numbers = cli.Table{
		Caption: "Figures of the paper and predictions: samples/s, or ratios (×)",
		Header:  []string{"what", "paper", "middle", "interval", "width", "null"}, Words: 1,
	}
	verdicts = cli.Table{
		Caption: "Verdicts on the predictions, and where the figures are from",
		Header:  []string{"what", "verdict", "figure"}, Words: 3,
	}
	for i := range comparisons {
		c := &comparisons[i]
		interval, width, null := "–", "–", "–"
		if c.Low > 0 {
			interval, width = c.Unit.text(short(c.Low)+"–"+short(c.High)), fmt.Sprintf("%.2f", c.Width())
		}
		if c.Null > 0 {
			null = c.Unit.text(short(c.Null))
		}
		numbers.Add(wrapped(c.What), c.Unit.text(short(c.Figure.Value)), c.Unit.text(short(c.Middle)),
			interval, width, null)
		verdicts.Add(wrapped(c.What), string(c.Verdict),
			cli.WrapAt(c.Figure.Provenance, "", 0, provenanceColumns))
	}
	return numbers, verdicts
}

// wrapped returns a name for the tables of claims.
func wrapped(name string) string { return cli.WrapAt(name, "  ", 0, 27) }

// effectTable has the inputs with the largest effects on some numbers.
func effectTable(caption, what string, list []TotalEffects) cli.Table {
	const least = 0.05
	t := cli.Table{Caption: caption, Header: []string{what, "input", "share"}, Words: 2}
	for _, one := range list {
		name := wrapped(one.Case)
		for _, e := range one.Effects {
			if e.Share >= least {
				t.Add(name, e.Name, fmt.Sprintf("%.0f %%", 100*e.Share))
				name = ""
			}
		}
	}
	return t
}

// causeTable has the parameters that alone bring a ratio to, or nearest to, a target.
func causeTable(c *CauseResult) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("What alone would make %s %g (middle: %s)", c.What, c.Target, short(c.Now)),
		Header:  []string{"input", "reaches it", "value", "in range", "middle", "factor", "ratio"},
		Words:   4,
	}
	yes := map[bool]string{true: "yes", false: "no"}
	for _, x := range c.Causes {
		t.Add(x.Name, yes[x.Reaches], x.Value, yes[x.Inside], x.Now, short(x.Factor), short(x.Ratio))
	}
	return t
}

// short returns a number with three digits, and no more than two after the point.
func short(v float64) string {
	digits := 2
	switch {
	case v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// comparisonFigure has a bar for every comparison: prediction ÷ figure.
func comparisonFigure(comparisons []Comparison) report.Figure {
	f := report.Figure{Name: "comparison", Title: "Prediction ÷ figure of the paper",
		X: report.Axis{Label: "ratio (bar: middle of the inputs; thin line: interval over unknown inputs)"}}
	shade := map[Verdict]int{Inside: 2, Outside: 1, NotIdentifiable: 4, IsInput: 5, NoInterval: 5}
	for i := range comparisons {
		c := &comparisons[i]
		low, high, _ := c.ends()
		f.Bars = append(f.Bars, report.Bar{
			Name: fmt.Sprintf("%s: %s", c.What, c.Verdict), Color: shade[c.Verdict],
			Value: c.Middle / c.Figure.Value, Low: low / c.Figure.Value, High: high / c.Figure.Value,
		})
	}
	return f
}

// Point is a number of the paper in a figure of throughputs, with the case that predicts it.
type Point struct {
	X     float64
	Paper Figure
	Case  string
}

// Beside returns the lines of the predicted throughputs of a series with their intervals, as far as the plan
// had them, and of the paper's, in a unit.
func (r *Results) Beside(name string, color int, unit Unit, points []Point) []report.Line {
	var theirs, ours []report.Point
	for _, p := range points {
		theirs = append(theirs, report.Point{X: p.X, Y: p.Paper.Value, Low: p.Paper.Low, High: p.Paper.High})
		if c := r.Case(p.Case); c != nil {
			ours = append(ours, report.IntervalPoint(p.X, c.In(unit)))
		}
	}
	return report.Beside(name, color, theirs, ours)
}

// In returns the throughput in a unit; without an interval, the ends are the middle.
func (c *CaseResult) In(unit Unit) metric.Interval {
	low, high := c.Middle, c.Middle
	if c.Low > 0 {
		low, high = c.Low, c.High
	}
	size := unit.size()
	return metric.Interval{Estimate: c.Middle / size, Low: low / size, High: high / size}
}

// Column returns a column of a figure of throughputs in a unit: that of a case, if the plan had it, below a
// figure of the paper.
func (r *Results) Column(series int, name string, unit Unit, theirs Figure) report.Column {
	column := report.Column{Series: series, Paper: theirs.Value, PaperLow: theirs.Low, PaperHigh: theirs.High}
	if c := r.Case(name); c != nil {
		i := c.In(unit)
		column.Value, column.Low, column.High = i.Estimate, i.Low, i.High
	}
	return column
}

// findings counts the verdicts and names what is outside.
func findings(comparisons []Comparison) []string {
	count := map[Verdict]int{}
	var missed []string
	for i := range comparisons {
		c := &comparisons[i]
		count[c.Verdict]++
		if c.Verdict == Outside {
			missed = append(missed, fmt.Sprintf("Outside: %s: the paper has %s %s, the prediction is %s, "+
				"from %s to %s.", c.What, short(c.Figure.Value), c.Unit, short(c.Middle), short(c.Low),
				short(c.High)))
		}
	}
	var parts []string
	for _, v := range []Verdict{Inside, Outside, NotIdentifiable, IsInput, NoInterval} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	counts := fmt.Sprintf("Of %d figures of the paper: %s.", len(comparisons), strings.Join(parts, "; "))
	return slices.Concat([]string{counts}, missed, widths(comparisons))
}

// narrow is the width, high end ÷ low end, up to which the interval of a ratio counts as narrow.
const narrow = 2

// widths says how many ratios have narrow intervals, and which input explains most of those that do not.
func widths(comparisons []Comparison) []string {
	var inputs []string
	ratios, wide := 0, 0
	for i := range comparisons {
		c := &comparisons[i]
		if c.Unit != Fold && c.Unit != Part || c.Low == 0 {
			continue
		}
		ratios++
		if c.Width() <= narrow {
			continue
		}
		wide++
		if len(c.Effects) > 0 {
			inputs = append(inputs, c.Effects[0].Name)
		}
	}
	if ratios == 0 {
		return nil
	}
	sentence := fmt.Sprintf("Ratios with an interval narrower than a factor %d: %d of %d.", narrow,
		ratios-wide, ratios)
	if len(inputs) > 0 {
		sentence += " The input that explains most of the wider ones: " + Counted(inputs) + "."
	}
	return []string{sentence}
}

// Counted returns names with how often each occurs, the most frequent first.
func Counted(names []string) string {
	var once []string
	count := map[string]int{}
	for _, name := range names {
		if count[name]++; count[name] == 1 {
			once = append(once, name)
		}
	}
	slices.SortStableFunc(once, func(a, b string) int { return count[b] - count[a] })
	for i, name := range once {
		once[i] = fmt.Sprintf("%s (%d)", name, count[name])
	}
	return strings.Join(once, ", ")
}

// notes returns what a reader needs to judge the findings.
func (p *Plan) notes(r *Results) []string {
	guessed := 0
	for _, in := range r.Inputs.List {
		if in.Low != in.High {
			guessed++
		}
	}
	widest := 0.0
	for _, c := range r.Cases {
		if c.SeedsHigh > 0 {
			widest = max(widest, (c.SeedsHigh-c.SeedsLow)/(c.SeedsHigh+c.SeedsLow))
		}
	}
	notes := []string{
		fmt.Sprintf("%d inputs, %d of them ranges, are listed with their sources in the data of the report. "+
			"SHA-256 of the inputs: %s.", len(r.Inputs.List), guessed, r.Inputs.Hash),
		fmt.Sprintf("An interval is from the 1st to the 99th percentile over %d points of the box of "+
			"unknown inputs. Ratios are taken point by point.", p.Samples),
		fmt.Sprintf("Verdicts: outside if the interval misses what the printed or digitised form of the "+
			"figure allows; otherwise not identifiable if the interval spans more than a factor %g; "+
			"otherwise inside.", WidthMost),
		"The inputs that explain most: shares of the variance of ranks over the points, by regression on " +
			"one input after the other.",
		"No input is taken from a figure that it is compared with; figures that are inputs are marked.",
		fmt.Sprintf("Over %d seeds at the middle of all inputs, the half width of a 95 %% interval is at "+
			"most %.1f %% of a throughput; it is not part of the intervals.", p.Seeds, 100*widest),
	}
	if p.Samples < predict.SamplesDefault {
		notes = append(notes, fmt.Sprintf("Only %d points: intervals are narrower than those of %d points.",
			p.Samples, predict.SamplesDefault))
	}
	return notes
}
