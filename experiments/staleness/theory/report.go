package theory

import (
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the measurements of a plan as tables, figures and sentences.
func (p *plan) report(m map[probe]outcome) *report.Report {
	e := p.evidence(m)
	return &report.Report{
		Findings: e.findings(), Notes: p.notes(), Settings: p, Data: e,
		Tables:  []cli.Table{e.thresholdTable(), e.drawnTable(), e.growthTable(), e.threadTable()},
		Figures: []report.Figure{e.boundaryFigure(), e.randomFigure(), e.growthFigure()},
	}
}

func (e *evidence) thresholdTable() cli.Table {
	t := cli.Table{
		Caption: "Threshold of η·q·h by share q and delay d, every batch with the same share",
		Header:  []string{"d", "q", "predicted", "measured", "error"},
	}
	for i := range e.Thresholds {
		c := &e.Thresholds[i]
		t.Rows = append(t.Rows, []string{fmt.Sprint(c.Delay), share(c.Ids), fmt.Sprintf("%.4f", c.Predicted),
			fmt.Sprintf("%.4f", c.Measured), percent(c.err())})
	}
	return t
}

func (e *evidence) drawnTable() cli.Table {
	t := cli.Table{
		Caption: "Threshold of η·q·h with drawn samples, beside that of equal batches and that of the mean " +
			"square",
		Header: []string{"d", "q", "measured ± 95 %", "÷ equal batches", "mean square"},
	}
	for i := range e.Thresholds {
		if c := &e.Thresholds[i]; c.Random != nil {
			t.Rows = append(t.Rows, []string{fmt.Sprint(c.Delay), share(c.Ids), report.Amount(*c.Random),
				fmt.Sprintf("%.3f", c.Random.Estimate/c.Predicted), fmt.Sprintf("%.4f", *c.MeanSquare)})
		}
	}
	return t
}

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
		t.Rows = append(t.Rows, []string{c.Varied, fmt.Sprint(c.Delay), share(c.Ids),
			report.Digits(c.rate(), 3), report.Digits(c.X, 2), plusMinus(c.Growth),
			fmt.Sprintf("%.3f", c.Predicted), fmt.Sprintf("%.2f", c.Growth.Estimate/c.X), bound})
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
		row := []string{c.name(), fmt.Sprintf("%.2f ± %.2f", c.Missed.Estimate, half(c.Missed)),
			fmt.Sprintf("%.3f", c.X), plusMinus(c.Growth), fmt.Sprintf("%.3f", c.Linear),
			fmt.Sprintf("%.3f", c.Curve)}
		if c.Mode == job.Sync {
			row[3], row[4], row[5] = "–", "–", "–"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// name returns the mode with its τ.
func (c *threadCell) name() string {
	if c.Mode == job.Hybrid {
		return fmt.Sprintf("hybrid τ=%d", c.Tau)
	}
	return c.Mode
}

func share(ids int) string {
	if ids == 1 {
		return "1"
	}
	return fmt.Sprintf("1/%d", ids)
}

func half(v metric.Interval) float64 { return (v.High - v.Low) / 2 }

func plusMinus(v metric.Interval) string { return fmt.Sprintf("%.3f ± %.3f", v.Estimate, half(v)) }

// percent returns a relative error with its sign.
func percent(v float64) string { return report.Minus(fmt.Sprintf("%+.2f %%", 100*v)) }

// findings returns what the measurements say about each prediction.
func (e *evidence) findings() []string {
	within, largest := 0, 0.0
	below, random := 0, 0
	var lowest, highest float64
	for i := range e.Thresholds {
		c := &e.Thresholds[i]
		largest = max(largest, math.Abs(c.err()))
		if math.Abs(c.err()) <= goal {
			within++
		}
		if c.Random == nil {
			continue
		}
		ratio := c.Random.Estimate / c.Predicted
		if random == 0 {
			lowest, highest = ratio, ratio
		}
		lowest, highest = min(lowest, ratio), max(highest, ratio)
		random++
		if c.Random.High < *c.MeanSquare {
			below++
		}
	}
	sentences := []string{
		fmt.Sprintf("The threshold is within %.0f %% of 2·sin(π/(2(2d+1))) in %d of %d cells; the largest "+
			"error is %.2f %%.", 100*goal, within, len(e.Thresholds), 100*largest),
		fmt.Sprintf("With drawn samples, the threshold of a run is %.2f to %.2f of that of equal batches. "+
			"It is below the boundary of the mean square, with its interval, in %d of %d "+
			"cells.", lowest, highest,
			below,
			random),
	}
	contained, bounds := 0, 0
	farthest, least := 0.0, math.Inf(1)
	for _, c := range e.Growth {
		farthest = max(farthest, math.Abs(c.Growth.Estimate/c.Predicted-1))
		if c.Growth.Low <= c.Predicted && c.Predicted <= c.Growth.High {
			contained++
		}
		if c.Bound > 0 {
			bounds++
			least = min(least, c.Bound)
		}
	}
	sentences = append(sentences,
		fmt.Sprintf("The growth of the excess loss is within %.1f %% of the prediction at all %d points; "+
			"its 95 %% interval contains the prediction at %d.", 100*farthest, len(e.Growth), contained),
		fmt.Sprintf("Doubling τ, q or η from the least x multiplies the growth by %s.", e.doublings()))
	held := "holds"
	if least < 1 {
		held = "is violated"
	}
	return append(sentences, fmt.Sprintf("The bound of the theorem %s at all %d points within its "+
		"conditions: it is at least %.1f times the measured mean squared gradient.", held, bounds, least))
}

// doublings returns the ratios of growth at the second and the first point of each series.
func (e *evidence) doublings() string {
	text := ""
	for i := 0; i+1 < len(e.Growth); i++ {
		if first, second := e.Growth[i], e.Growth[i+1]; i == 0 || e.Growth[i-1].Varied != first.Varied {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%.2f (%s; predicted %.2f)", second.Growth.Estimate/first.Growth.Estimate,
				first.Varied, second.Predicted/first.Predicted)
		}
	}
	return text
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
			"id; with drawn samples, pairs of both labels are "+
			"drawn.", p.Precision, stepsPerDelay, thresholdBatch),
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
