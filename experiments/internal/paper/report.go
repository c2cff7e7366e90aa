package paper

import (
	"fmt"
	"slices"
	"strings"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/sim/predict"
)

// Report returns the results as tables, a figure of all comparisons, sentences, notes, and the predictions of
// named claims as quantities. Experiments add their own.
func (p *Plan) Report(r *Results) *report.Report {
	out := &report.Report{
		Findings: findings(r), Notes: p.notes(r), Settings: p, Data: r,
		Tables:  []cli.Table{comparisonTable(r), verdictTable(r)},
		Figures: []report.Figure{comparisonFigure(r)},
	}
	for i := range r.Comparisons {
		if c := &r.Comparisons[i]; c.Name != "" {
			out.Quantities = append(out.Quantities, c.quantity())
		}
	}
	if t := effectTable(r); len(t.Rows) > 0 {
		out.Tables = append(out.Tables, t)
	}
	if len(r.Totals) > 0 {
		out.Tables = append(out.Tables, totalTable(r))
	}
	for i := range r.Causes {
		out.Tables = append(out.Tables, causeTable(&r.Causes[i]))
	}
	return out
}

// nameColumns is the width of names in the tables of claims, which fit 80 columns.
const nameColumns = 27

// comparisonTable has the numbers of every claim.
func comparisonTable(r *Results) cli.Table {
	t := cli.Table{
		Caption: "Figures of the paper and predictions: samples/s, or ratios (×)",
		Header:  []string{"what", "paper", "middle", "interval", "width", "null"}, Words: 1,
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		interval, width, null := "–", "–", "–"
		if c.Low > 0 {
			interval, width = c.Unit.text(short(c.Low)+"–"+short(c.High)), fmt.Sprintf("%.2f", c.width())
		}
		if c.Null > 0 {
			null = c.Unit.text(short(c.Null))
		}
		t.Rows = append(t.Rows, []string{cli.WrapAt(c.What, "  ", 0, nameColumns),
			c.Unit.text(short(c.Figure.Value)), c.Unit.text(short(c.Middle)), interval, width, null})
	}
	return t
}

// verdictTable has the verdict on every claim, and where its figure is from.
func verdictTable(r *Results) cli.Table {
	const provenanceColumns = 16
	t := cli.Table{
		Caption: "Verdicts on the predictions, and where the figures are from",
		Header:  []string{"what", "verdict", "figure"}, Words: 3,
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		t.Rows = append(t.Rows, []string{cli.WrapAt(c.What, "  ", 0, nameColumns), string(c.Verdict),
			cli.WrapAt(c.Figure.Provenance, "", 0, provenanceColumns)})
	}
	return t
}

// effectTable has the inputs that explain most of the interval of each claim.
func effectTable(r *Results) cli.Table {
	t := cli.Table{
		Caption: "Inputs that explain most of an interval",
		Header:  []string{"what", "input", "share"}, Words: 2,
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		for k, e := range c.Effects[:min(2, len(c.Effects))] {
			if e.Share < effectLeast {
				continue
			}
			name := ""
			if k == 0 {
				name = cli.WrapAt(c.What, "  ", 0, nameColumns)
			}
			t.Rows = append(t.Rows, []string{name, e.Name, fmt.Sprintf("%.0f %%", 100*e.Share)})
		}
	}
	return t
}

// effectLeast is the smallest share of an effect that is named.
const effectLeast = 0.05

// totalTable has the total effects of cases.
func totalTable(r *Results) cli.Table {
	t := cli.Table{
		Caption: "Total effects of inputs on throughputs, interactions included",
		Header:  []string{"case", "input", "share"}, Words: 2,
	}
	for _, total := range r.Totals {
		for _, e := range total.Effects {
			t.Rows = append(t.Rows, []string{total.Case, e.Name, fmt.Sprintf("%.0f %%", 100*e.Share)})
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
		t.Rows = append(t.Rows, []string{x.Name, yes[x.Reaches], x.Value, yes[x.Inside], x.Now,
			short(x.Factor), short(x.Ratio)})
	}
	return t
}

// comparisonFigure has a bar for every comparison: prediction ÷ figure.
func comparisonFigure(r *Results) report.Figure {
	f := report.Figure{Name: "comparison", Title: "Prediction ÷ figure of the paper",
		X: report.Axis{Label: "ratio (bar: middle of the inputs; thin line: interval over unknown inputs)"}}
	shade := map[Verdict]int{Inside: 2, Outside: 1, NotIdentifiable: 4, IsInput: 5, NoInterval: 5}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		low, high := c.Middle, c.Middle
		if c.Low > 0 {
			low, high = c.Low, c.High
		}
		f.Bars = append(f.Bars, report.Bar{
			Name: fmt.Sprintf("%s: %s", c.What, c.Verdict), Color: shade[c.Verdict],
			Value: c.Middle / c.Figure.Value, Low: low / c.Figure.Value, High: high / c.Figure.Value,
		})
	}
	return f
}

// findings counts the verdicts and names what is outside.
func findings(r *Results) []string {
	count := map[Verdict]int{}
	var missed []string
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		count[c.Verdict]++
		if c.Verdict == Outside {
			missed = append(missed, fmt.Sprintf("Outside: %s: the paper has %s %s, the prediction is %s, "+
				"from "+
				"%s to %s.", c.What, short(c.Figure.Value), c.Unit, short(c.Middle), short(c.Low),
				short(c.High)))
		}
	}
	var parts []string
	for _, v := range []Verdict{Inside, Outside, NotIdentifiable, IsInput, NoInterval} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	counts := fmt.Sprintf("Of %d figures of the paper: %s.", len(r.Comparisons), strings.Join(parts, "; "))
	return slices.Concat([]string{counts}, missed, widths(r))
}

// narrow is the width, high end ÷ low end, up to which the interval of a ratio counts as narrow.
const narrow = 2

// widths says how many ratios have narrow intervals, and which input explains most of those that do not.
func widths(r *Results) []string {
	var inputs []string
	ratios, wide, by := 0, 0, map[string]int{}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if c.Unit != Fold && c.Unit != Part || c.Low == 0 {
			continue
		}
		ratios++
		if c.width() <= narrow {
			continue
		}
		wide++
		if len(c.Effects) > 0 {
			name := c.Effects[0].Name
			if by[name]++; by[name] == 1 {
				inputs = append(inputs, name)
			}
		}
	}
	if ratios == 0 {
		return nil
	}
	sentence := fmt.Sprintf("Ratios with an interval narrower than a factor %d: %d of %d.", narrow,
		ratios-wide, ratios)
	if len(inputs) > 0 {
		slices.SortStableFunc(inputs, func(a, b string) int { return by[b] - by[a] })
		for i, name := range inputs {
			inputs[i] = fmt.Sprintf("%s (%d)", name, by[name])
		}
		sentence += " The input that explains most of the wider ones: " + strings.Join(inputs, ", ") + "."
	}
	return []string{sentence}
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
