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
	out.Figures = append(out.Figures, figure, g.figure())
	for _, d := range paper.ScalingFigure() {
		out.Figures = append(out.Figures, curves(&d, &r.Results))
	}
	return out
}

// curves returns the throughputs of a data set by GPUs: predictions with intervals, bars of the paper as
// points beside them.
func curves(d *paper.Scaling, r *paper.Results) report.Figure {
	f := report.Figure{
		Name: d.Model, Title: d.Name + ": predicted throughput, and bars of the paper",
		X: report.Axis{Label: "V100s", LogPlusOne: true, Ticks: []float64{1, 2, 4, 8}},
		Y: report.Axis{Label: "thousand samples/s", LogPlusOne: true,
			Ticks: []float64{2, 5, 10, 20, 50, 100, 200, 300}},
	}
	for i, s := range systems() {
		var points []paper.Point
		for _, n := range paper.ScalingGPUs() {
			points = append(points, paper.Point{
				X: float64(n), Paper: d.Bar(s.bars, n), Case: d.Case(s.name, n),
			})
		}
		f.Lines = append(f.Lines, r.Beside(s.name, i, paper.Kilo, points)...)
	}
	return f
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
