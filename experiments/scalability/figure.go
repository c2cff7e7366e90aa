package scalability

import (
	"fmt"

	"tandem/experiments/paper"
	"tandem/experiments/report"
)

// figure returns the throughputs of a data set by GPUs: predictions with intervals, bars of the paper as
// points beside them.
func (d *dataSet) figure(r *paper.Results) report.Figure {
	f := report.Figure{
		Name: d.model, Title: d.name + ": predicted throughput, and bars of the paper",
		X: report.Axis{Label: "V100s", LogPlusOne: true, Ticks: []float64{1, 2, 4, 8}},
		Y: report.Axis{Label: "thousand samples/s", LogPlusOne: true,
			Ticks: []float64{2, 5, 10, 20, 50, 100, 200, 300}},
	}
	for i, s := range systems() {
		var theirs, ours []report.Point
		for k, n := range gpus() {
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

// notes returns what a reader needs to judge this experiment.
func notes() []string {
	return []string{
		"The price lists of XDL and PaddlePaddle are inferred from their bars at one GPU on Criteo. Their " +
			"other " +
			"bars are predictions.",
		fmt.Sprintf("The bars are read from a figure of an earlier draft, ±%g thousand samples/s; the "+
			"curves of "+
			"the paper agree. The paper prints 7.12 and 8.4 for Persia ÷ XDL and 1.71 for Persia ÷ "+
			"PaddlePaddle "+
			"on Taobao; its text seems to swap the modes of XDL.", readingError),
		"A simulated job on one GPU has no dense communication, so one prediction stands beside two bars. " +
			"The " +
			"paper does not say what its job on one GPU does for the time between the two bars.",
		"The null model of a bar is linear scaling of the bar at one GPU; that of a ratio is no difference.",
	}
}
