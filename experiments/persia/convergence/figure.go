package convergence

import (
	"fmt"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
)

// sampleUnit is the unit of the axis of samples.
func (p *plan) sampleUnit() (label string, unit float64) {
	if p.Steps*p.batch() >= 2_000_000 {
		return "samples (millions)", 1e6
	}
	return "samples (thousands)", 1e3
}

// mainRuns returns the long runs at the first kind of rates, in the order of mainArms.
func (p *plan) mainRuns(r *results) []*run {
	runs := []*run{r.Effects[0].reference, r.Effects[0].treated}
	for _, tau := range p.Taus {
		runs = append(runs, find(r.Effects, total, p.kinds()[0], tau, p.Job.Roles.Ranks).treated)
	}
	return runs
}

// curveFigure shows AUC by samples.
func (p *plan) curveFigure(r *results) report.Figure {
	label, unit := p.sampleUnit()
	f := report.Figure{
		Name: "curves", Title: fmt.Sprintf("AUC by samples on %d ranks", p.Job.Roles.Ranks),
		X: report.Axis{Label: label}, Y: report.Axis{Label: "AUC on the test rows (bars: 95 %)"},
	}
	for i, one := range p.mainRuns(r) {
		line := report.Line{Name: one.Arm.String(), Color: i}
		for k, samples := range one.CurveSamples {
			if auc, ok := one.at(k); ok {
				line.Points = append(line.Points, at(float64(samples)/unit, metric.MeanInterval(auc)))
			}
		}
		if line.Points != nil {
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}

// differenceFigure shows AUC less that of sync merge:step by samples, after the first third of the run: what
// differs before would hide what is left at the end.
func (p *plan) differenceFigure(r *results) report.Figure {
	label, unit := p.sampleUnit()
	f := report.Figure{
		Name: "differences", Title: "AUC less that of sync merge:step after as many samples",
		X: report.Axis{Label: label}, Y: report.Axis{Label: "AUC difference (bars: 95 %)"},
		Lines: report.MarginLines(float64(p.Steps*p.batch())/unit/3, float64(p.Steps*p.batch())/unit),
	}
	runs := p.mainRuns(r)
	width := float64(p.Steps*p.batch()) / unit
	for i, one := range runs[1:] {
		line := report.Line{Name: one.Arm.String(), Color: i + 1}
		for k, samples := range one.CurveSamples {
			auc, ok := one.at(k)
			reference, both := runs[0].at(k)
			if ok && both && 3*samples >= one.Samples {
				x := float64(samples)/unit + 0.006*width*float64(i-1) // beside each other
				line.Points = append(line.Points, at(x, metric.MeanInterval(report.Differences(auc,
					reference))))
			}
		}
		if line.Points != nil {
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}

// scalingFigure shows AUC by ranks less that of the fewest.
func (p *plan) scalingFigure(r *results) report.Figure {
	first, last := float64(p.ScalingRanks[0]), float64(p.ScalingRanks[len(p.ScalingRanks)-1])
	f := report.Figure{
		Name: "scaling", Title: fmt.Sprintf("AUC after %s samples, less that on the fewest ranks",
			report.Thousands(p.ScalingSamples)),
		X: report.Axis{Label: "ranks"}, Y: report.Axis{Label: "AUC difference (bars: 95 %)"},
		Lines: report.MarginLines(first, last),
	}
	for _, ranks := range p.ScalingRanks {
		f.X.Ticks = append(f.X.Ticks, float64(ranks))
	}
	lines := []report.Line{
		{Name: "weak, hybrid", Color: 0}, {Name: "weak, sync", Color: 1}, {Name: "strong, hybrid", Color: 2},
	}
	for i := range lines {
		lines[i].Points = []report.Point{report.Exact(first, 0)}
	}
	for _, ranks := range p.ScalingRanks[1:] {
		for i, e := range []*effect{
			find(r.Scaling, string(weak), p.kinds()[0], p.Taus[0], ranks), p.syncScaling(r, ranks),
			find(r.Scaling, string(strong), p.kinds()[0], p.Taus[0], ranks),
		} {
			x := float64(ranks) + 0.006*(last-first)*float64(i-1)
			lines[i].Points = append(lines[i].Points, at(x, e.AUC))
		}
	}
	f.Lines = append(f.Lines, lines...)
	return f
}

// at returns a point with its interval.
func at(x float64, v metric.Interval) report.Point {
	return report.Point{X: x, Y: v.Estimate, Low: v.Low, High: v.High}
}
