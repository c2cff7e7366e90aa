package theory

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/experiments/staleness/theory/stability"
	"tandem/internal/cli"
)

// report returns the measurements of a plan as tables, figures and sentences.
func (p *plan) report(e *evidence) *report.Report {
	return &report.Report{
		Findings: e.findings(), Notes: p.notes(),
		Tables:  []cli.Table{e.thresholdTable(), e.growthTable(), e.threadTable()},
		Figures: []report.Figure{e.boundaryFigure(), e.growthFigure()},
	}
}

// thresholdTable has the thresholds, those of drawn samples beside that of the mean square.
func (e *evidence) thresholdTable() cli.Table {
	t := cli.Table{
		Caption: "Threshold of η·q·h by share q and delay d: every batch with the same share, then drawn " +
			"samples and their boundary of the mean square",
		Header: []string{"d", "q", "predicted", "measured", "error", "drawn ± 95 %", "mean square"},
	}
	for _, c := range e.Thresholds {
		row := []string{fmt.Sprint(c.Delay), share(c.Ids), fmt.Sprintf("%.4f", c.Predicted),
			fmt.Sprintf("%.4f", c.Measured), report.Minus(fmt.Sprintf("%+.2f %%", 100*c.err())), "–", "–"}
		if c.Random != nil {
			row[5], row[6] = report.Amount(*c.Random), fmt.Sprintf("%.4f", *c.MeanSquare)
		}
		t.Add(row...)
	}
	return t
}

// err returns the relative error of the prediction.
func (c *thresholdCell) err() float64 { return c.Measured/c.Predicted - 1 }

func (e *evidence) growthTable() cli.Table {
	t := cli.Table{
		Caption: "Growth of the excess loss by a delay: x = τ·q·η·h; slope = growth ÷ x; bound = bound of " +
			"the theorem ÷ mean squared gradient",
		Header: []string{"varied", "τ", "q", "η", "x", "growth ± 95 %", "predicted", "slope", "bound"},
		Words:  1,
	}
	for _, c := range e.Growth {
		bound := "–"
		if c.Bound > 0 {
			bound = fmt.Sprintf("%.1f", c.Bound)
		}
		t.Add(c.Varied, fmt.Sprint(c.Delay), share(c.Ids), report.Digits(c.rate(), 3), report.Digits(c.X, 2),
			plusMinus(c.Growth), fmt.Sprintf("%.3f", c.Predicted), fmt.Sprintf("%.2f", c.Growth.Estimate/c.X),
			bound)
	}
	return t
}

func (e *evidence) threadTable() cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Real threads, %d ranks: growth of the excess loss beside sync, and "+
			"predictions from x, which is that of the missed updates: linear in x, and for many small steps",
			threadRanks),
		Header: []string{"mode", "missed ± 95 %", "x", "growth ± 95 %", "linear", "many steps"},
		Words:  1,
	}
	for _, c := range e.Threads {
		row := []string{c.Mode, fmt.Sprintf("%.2f ± %.2f", c.Missed.Estimate, half(c.Missed)),
			fmt.Sprintf("%.3f", c.X), "–", "–", "–"}
		if c.Mode == job.Hybrid {
			row[0] = fmt.Sprintf("hybrid τ=%d", c.Tau)
			row[3], row[4] = plusMinus(c.Growth), fmt.Sprintf("%.3f", c.Linear)
			row[5] = fmt.Sprintf("%.3f", c.Curve)
		}
		t.Add(row...)
	}
	return t
}

// share returns q as a fraction.
func share(ids int) string {
	if ids == 1 {
		return "1"
	}
	return fmt.Sprintf("1/%d", ids)
}

func half(v metric.Interval) float64 { return (v.High - v.Low) / 2 }

func plusMinus(v metric.Interval) string { return fmt.Sprintf("%.3f ± %.3f", v.Estimate, half(v)) }

// boundaryFigure shows the thresholds of equal batches on the predicted curve.
func (e *evidence) boundaryFigure() report.Figure {
	f := report.Figure{
		Name: "boundary", Title: "Where delayed SGD diverges: η·q·h by delay",
		X: report.Axis{Label: "delay d (steps)", LogPlusOne: true},
		Y: report.Axis{Label: "threshold of η·q·h (logarithmic)"},
	}
	for _, v := range []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2} {
		f.Y.Ticks, f.Y.Names = append(f.Y.Ticks, math.Log10(v)), append(f.Y.Names, fmt.Sprint(v))
	}
	var shares []int
	curve := report.Line{Name: "2·sin(π/(2(2d+1)))", Color: report.Grey, Guide: true}
	for _, c := range e.Thresholds {
		if !slices.Contains(f.X.Ticks, float64(c.Delay)) {
			f.X.Ticks = append(f.X.Ticks, float64(c.Delay))
		}
		if !slices.Contains(shares, c.Ids) {
			shares = append(shares, c.Ids)
		}
		for d := len(curve.Points); d <= c.Delay; d++ {
			curve.Points = append(curve.Points, report.Exact(float64(d), math.Log10(stability.Boundary(d))))
		}
	}
	f.Lines = append(f.Lines, curve)
	for i, ids := range shares {
		l := report.Line{Name: "measured, q = " + share(ids), Color: i, Scatter: true}
		for _, c := range e.Thresholds {
			if c.Ids == ids {
				x := float64(c.Delay) + 0.035*(float64(i)-1.5)*float64(1+c.Delay) // beside each other
				l.Points = append(l.Points, report.Exact(x, math.Log10(c.Measured)))
			}
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// growthFigure shows the growth of the excess loss by x.
func (e *evidence) growthFigure() report.Figure {
	f := report.Figure{
		Name: "growth", Title: "What a delay adds to the excess loss",
		X: report.Axis{Label: "x = τ·q·η·h"},
		Y: report.Axis{Label: "growth of the excess loss (bars: 95 % over seeds)"},
	}
	first := report.Line{Name: "first order: x", Color: report.Grey, Guide: true}
	exact := report.Line{Name: "many small steps", Color: 3, Guide: true}
	for i := range 41 {
		x := float64(i) / 40 * 0.85
		first.Points = append(first.Points, report.Exact(x, x))
		exact.Points = append(exact.Points, report.Exact(x, manySteps(x)))
	}
	f.Lines = append(f.Lines, first, exact)
	for i, varied := range []string{"τ", "q", "η"} {
		l := report.Line{Name: "measured, varied " + varied, Color: i, Scatter: true}
		for _, c := range e.Growth {
			if c.Varied == varied {
				l.Points = append(l.Points, report.IntervalPoint(c.X+0.008*float64(i-1), c.Growth))
			}
		}
		f.Lines = append(f.Lines, l)
	}
	threads := report.Line{Name: "real threads", Color: 4, Scatter: true}
	for _, c := range e.Threads[1:] {
		threads.Points = append(threads.Points, report.IntervalPoint(c.X, c.Growth))
	}
	f.Lines = append(f.Lines, threads)
	return f
}

// findings returns what the measurements say about each prediction.
func (e *evidence) findings() []string {
	within, below, random := 0, 0, 0
	largest, lowest, highest := 0.0, math.Inf(1), 0.0
	for _, c := range e.Thresholds {
		largest = max(largest, math.Abs(c.err()))
		if math.Abs(c.err()) <= goal {
			within++
		}
		if c.Random == nil {
			continue
		}
		random++
		lowest = min(lowest, c.Random.Estimate/c.Predicted)
		highest = max(highest, c.Random.Estimate/c.Predicted)
		if c.Random.High < *c.MeanSquare {
			below++
		}
	}
	contained, bounds := 0, 0
	farthest, least := 0.0, math.Inf(1)
	var doublings []string // from the first to the second point of each series
	for i, c := range e.Growth {
		farthest = max(farthest, math.Abs(c.Growth.Estimate/c.Predicted-1))
		if c.Growth.Low <= c.Predicted && c.Predicted <= c.Growth.High {
			contained++
		}
		if c.Bound > 0 {
			bounds++
			least = min(least, c.Bound)
		}
		if (i == 0 || e.Growth[i-1].Varied != c.Varied) && i+1 < len(e.Growth) {
			second := e.Growth[i+1]
			doublings = append(doublings, fmt.Sprintf("%.2f (%s; predicted %.2f)",
				second.Growth.Estimate/c.Growth.Estimate, c.Varied, second.Predicted/c.Predicted))
		}
	}
	held := "holds"
	if least < 1 {
		held = "is violated"
	}
	return []string{
		fmt.Sprintf("The threshold is within %.0f %% of 2·sin(π/(2(2d+1))) in %d of %d cells; the largest "+
			"error is %.2f %%.", 100*goal, within, len(e.Thresholds), 100*largest),
		fmt.Sprintf("With drawn samples, the threshold of a run is %.2f to %.2f of that of equal batches. "+
			"It is below the boundary of the mean square, with its interval, in %d of %d cells.", lowest,
			highest, below, random),
		fmt.Sprintf("The growth of the excess loss is within %.1f %% of the prediction at all %d points; "+
			"its 95 %% interval contains the prediction at %d.", 100*farthest, len(e.Growth), contained),
		fmt.Sprintf("Doubling τ, q or η from the least x multiplies the growth by %s.",
			strings.Join(doublings, ", ")),
		fmt.Sprintf("The bound of the theorem %s at all %d points within its conditions: it is at least "+
			"%.1f times the measured mean squared gradient.", held, bounds, least),
	}
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes() []string {
	notes := []string{
		"The model is logistic regression on one id per sample, whose label is a fair coin: the best " +
			"weight is 0, where the curvature h of the loss is ¼. Weights stay small, so that the loss is " +
			"quadratic to 1 %. Plain SGD, gradients averaged over the batch.",
		fmt.Sprintf("A threshold is found by bisection to %g, from whether the mean square of the weights "+
			"shrinks over %d·(d+1) steps; the bisection knows no prediction. Labels alternate, so "+
			"gradients have no noise. Every batch of %d samples has the same number of samples of every "+
			"id; with drawn samples, pairs of both labels are drawn.", p.Precision, stepsPerDelay,
			thresholdBatch),
		"No threshold is predicted for drawn samples. Below the boundary of the mean square, weights " +
			"converge with probability 1; above it, the mean square grows, but a run may converge.",
		fmt.Sprintf("Growth is measured on drawn labels over %s steps, with %d samples of every id in a "+
			"batch. Both trainings of a pair have the same batches. The prediction is of a quadratic "+
			"loss, which the logistic loss is to about 1 %%.", report.Thousands(p.Steps), samplesPerID),
		"The bound of the theorem is an upper bound: it gives the order in τ, q and η, not the slope. The " +
			"slope is of least squares.",
		fmt.Sprintf("On real threads, delays vary and depend on the machine; x is the rate × h × the "+
			"samples of an id in a part × the mean of the measured missed updates ÷ B. Sync, too, misses "+
			"updates: those of the other ranks in its step. Each excess is of %d weights at the end of a "+
			"run.", threadIds),
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
