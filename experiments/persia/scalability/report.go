package scalability

import (
	"fmt"
	"slices"
	"strings"

	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// results are the predictions, and those given the other data sets.
type results struct {
	paper.Results
	Given *given `json:"given"`
}

func newResults(r *paper.Predictions) *results { return &results{r.Results, newGiven(r)} }

// draw adds to the comparisons the shares of the bar without dense communication, what follows of the other
// data sets, and the curves.
func draw(p *paper.Plan, r *results) *report.Report {
	out, g := p.Report(&r.Results), r.Given
	out.Notes = append(append(out.Notes, notes()...), g.note())
	out.Tables = append(out.Tables, g.tables()...)
	out.Quantities = append(out.Quantities, g.quantities()...)
	figure, findings := shares(&r.Results)
	out.Findings = slices.Concat(findings, []string{wireFinding(&r.Results)}, g.findings(), out.Findings)
	out.Figures = append(out.Figures, figure, g.figure(), bars(&r.Results))
	return out
}

// bars draws the scaling figure of the paper: four systems on 1 to 8 GPUs, for each data set.
func bars(r *paper.Results) report.Figure {
	k := &report.Columns{Y: "thousand samples/s",
		Marks: [2]string{fmt.Sprintf("paper, digitised ±%g", paper.ReadingError), ""}}
	for _, s := range systems() {
		k.Series = append(k.Series, s.name)
	}
	for _, d := range paper.ScalingFigure() {
		panel := report.ColumnPanel{Title: d.Name, X: "V100s"}
		for _, n := range paper.ScalingGPUs() {
			group := report.ColumnGroup{Name: fmt.Sprint(n)}
			for i, s := range systems() {
				group.Columns = append(group.Columns, r.Column(i, d.Case(s.name, n), paper.Kilo,
					paper.Bar(d.Bar(s.bars, n))))
			}
			panel.Groups = append(panel.Groups, group)
		}
		k.Panels = append(k.Panels, panel)
	}
	return report.Figure{Name: "bars", Title: "Throughput of four systems on 1 to 8 GPUs", Columns: k}
}

// shares compare how much of the bar without dense communication 8 GPUs reach each with the paper: in a bar
// with a mark where the paper is, and in sentences.
func shares(r *paper.Results) (f report.Figure, sentences []string) {
	f = report.Figure{Name: "share", Title: "Each of 8 GPUs ÷ 1 GPU without dense communication",
		X: report.Axis{Label: "ratio (bar: middle of the inputs; thin line: interval; mark: paper)"}}
	for _, d := range paper.ScalingFigure() {
		var parts []string
		for i, s := range persias() {
			c, products := r.Comparison(shareName(&d, s.products)), []string{"fp32", "half"}[i]
			f.Bars = append(f.Bars, report.Bar{
				Name:  fmt.Sprintf("%s, products in %s: %s", d.Name, products, c.Verdict),
				Color: i, Value: c.Middle, Low: c.Low, High: c.High, Target: c.Figure.Value,
			})
			parts = append(parts, fmt.Sprintf("%.0f %% (%.0f to %.0f) with products in %s: %s",
				100*c.Middle, 100*c.Low, 100*c.High, products, c.Verdict))
		}
		sentences = append(sentences, fmt.Sprintf("%s: each of 8 GPUs has %.0f %% of the throughput of "+
			"1 GPU without dense communication in the paper. Predicted: %s.", d.Name, 100*d.Share(8).Value,
			strings.Join(parts, "; ")))
	}
	return f, sentences
}

// wireFinding says how wide the share is if the wire between GPUs were known.
func wireFinding(r *paper.Results) string {
	d := wired()
	var parts []string
	for _, wire := range wires() {
		c := r.Comparison(wireName(d, wire))
		parts = append(parts, fmt.Sprintf("%s: %.0f %% (%.0f to %.0f, a factor %.1f), %s", wire,
			100*c.Middle, 100*c.Low, 100*c.High, c.Width(), c.Verdict))
	}
	return fmt.Sprintf("%s, the same share in fp32 if the wire between GPUs were known: %s.", d.Name,
		strings.Join(parts, "; "))
}

// notes returns what a reader needs to judge this experiment.
func notes() []string {
	return []string{
		"The price lists of XDL and PaddlePaddle are inferred from their bars at one GPU on Criteo. Their " +
			"other bars are predictions; experiment rivals needs no price list of theirs.",
		fmt.Sprintf("The bars are read from a figure of an earlier draft, ±%g thousand samples/s; the "+
			"curves of the paper agree. The paper prints 7.12 and 8.4 for Persia ÷ XDL and 1.71 for "+
			"Persia ÷ PaddlePaddle on Taobao; its text seems to swap the modes of XDL.", paper.ReadingError),
		"A simulated job on one GPU has no dense communication, so one prediction stands beside two bars. " +
			"The paper does not say what its job on one GPU does for the time between the two bars.",
		"The paper does not say in which precision its matrix products are. Persia's code has half " +
			"precision on GPUs unless told otherwise; the model here has fp32. Both are predicted where " +
			"dense communication is compared.",
		"Null models: of a share, linear scaling; of a bar, linear scaling of the bar at one GPU; of " +
			"another ratio, no difference.",
	}
}
