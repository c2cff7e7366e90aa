package scalability

import (
	"fmt"
	"slices"
	"strings"

	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// figure returns the throughputs of a data set by GPUs: predictions with intervals, bars of the paper as
// points beside them.
func (d *dataSet) figure(r *paper.Results) report.Figure {
	f := report.Figure{
		Name: d.Model, Title: d.Name + ": predicted throughput, and bars of the paper",
		X: report.Axis{Label: "V100s", LogPlusOne: true, Ticks: []float64{1, 2, 4, 8}},
		Y: report.Axis{Label: "thousand samples/s", LogPlusOne: true,
			Ticks: []float64{2, 5, 10, 20, 50, 100, 200, 300}},
	}
	for i, s := range systems() {
		var theirs, ours []report.Point
		for k, n := range paper.ScalingGPUs() {
			theirs = append(theirs, report.Exact(float64(n), d.bars[i][k]))
			if p := r.Prediction(d.caseName(&s, n)); p != nil {
				ours = append(ours, report.Point{X: float64(n), Y: p.Mid.Throughput / 1e3,
					Low: p.Interval.Low / 1e3, High: p.Interval.High / 1e3})
			}
		}
		f.Lines = append(f.Lines, report.Beside(s.what, i, theirs, ours)...)
	}
	return f
}

// shares returns the predictions of how much of the bar without dense communication 8 GPUs reach each.
func (d *dataSet) shares(r *paper.Results) (list []*paper.Comparison) {
	for _, s := range persias() {
		named := func(c paper.Comparison) bool { return c.Name == d.shareName(&s) }
		if i := slices.IndexFunc(r.Comparisons, named); i >= 0 {
			list = append(list, &r.Comparisons[i])
		}
	}
	return list
}

// shareFigure has a bar for each share, with a mark where the paper is.
func shareFigure(r *paper.Results) report.Figure {
	f := report.Figure{Name: "share", Title: "Each of 8 GPUs ÷ 1 GPU without dense communication",
		X: report.Axis{Label: "ratio (bar: middle of the inputs; thin line: interval; mark: paper)"}}
	for _, d := range dataSets() {
		for i, c := range d.shares(r) {
			f.Bars = append(f.Bars, report.Bar{
				Name:  fmt.Sprintf("%s, products in %s: %s", d.Name, precision(i), c.Verdict),
				Color: i, Value: c.Middle, Low: c.Low, High: c.High, Target: c.Figure.Value,
			})
		}
	}
	return f
}

// wireFindings says how wide the share is if the wire between GPUs were known.
func wireFindings(r *paper.Results) (sentences []string) {
	for _, d := range dataSets() {
		var parts []string
		for _, wire := range wires() {
			named := func(c paper.Comparison) bool { return c.Name == d.wireName(wire) }
			if i := slices.IndexFunc(r.Comparisons, named); i >= 0 {
				c := &r.Comparisons[i]
				parts = append(parts, fmt.Sprintf("%s: %.0f %% (%.0f to %.0f, a factor %.1f), %s", wire,
					100*c.Middle, 100*c.Low, 100*c.High, c.High/c.Low, c.Verdict))
			}
		}
		if parts != nil {
			sentences = append(sentences, fmt.Sprintf("%s, the same share in fp32 if the wire between GPUs "+
				"were known: %s.", d.Name, strings.Join(parts, "; ")))
		}
	}
	return sentences
}

// precision names that of matrix products in Persia's i-th case.
func precision(i int) string { return []string{"fp32", "half"}[i] }

// shareFindings compares the shares with those of the paper.
func shareFindings(r *paper.Results) (sentences []string) {
	for _, d := range dataSets() {
		var parts []string
		theirs := 0.0
		for i, c := range d.shares(r) {
			theirs = c.Figure.Value
			parts = append(parts, fmt.Sprintf("%.0f %% (%.0f to %.0f) with products in %s: %s", 100*c.Middle,
				100*c.Low, 100*c.High, precision(i), c.Verdict))
		}
		if parts != nil {
			sentences = append(sentences, fmt.Sprintf("%s: each of 8 GPUs has %.0f %% of the throughput of "+
				"1 GPU without dense communication in the paper. Predicted: %s.", d.Name, 100*theirs,
				strings.Join(parts, "; ")))
		}
	}
	return sentences
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
