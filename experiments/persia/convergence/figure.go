package convergence

import (
	"fmt"

	"tandem/experiments/internal/report"
)

// sampleUnit is the unit of the axis of samples.
func (p *plan) sampleUnit() (label string, unit float64) {
	if p.samples() >= 2_000_000 {
		return "samples (millions)", 1e6
	}
	return "samples (thousands)", 1e3
}

// mainRuns returns the long runs at the first kind of rates, in the order of mainArms.
func (p *plan) mainRuns(r *results) (runs []*run) {
	for _, a := range p.mainArms() {
		runs = append(runs, r.run(a, p.samples()))
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
				line.Points = append(line.Points, report.SeedPoint(float64(samples)/unit, auc))
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
		Lines: report.MarginLines(float64(p.samples())/unit/3, float64(p.samples())/unit),
	}
	runs := p.mainRuns(r)
	width := float64(p.samples()) / unit
	for i, one := range runs[1:] {
		line := report.Line{Name: one.Arm.String(), Color: i + 1}
		for k, samples := range one.CurveSamples {
			auc, ok := one.at(k)
			reference, both := runs[0].at(k)
			if ok && both && 3*samples >= one.Samples {
				x := float64(samples)/unit + 0.006*width*float64(i-1) // beside each other
				line.Points = append(line.Points, report.SeedPoint(x, report.Differences(auc, reference)))
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
		weakHybrid, weakSync := p.scaled(weak, ranks)
		strongHybrid, _ := p.scaled(strong, ranks)
		for i, e := range []*effect{p.scalingOf(r, weak, weakHybrid), p.scalingOf(r, weak, weakSync),
			p.scalingOf(r, strong, strongHybrid)} {
			x := float64(ranks) + 0.006*(last-first)*float64(i-1) // beside each other
			lines[i].Points = append(lines[i].Points, report.IntervalPoint(x, e.AUC))
		}
	}
	f.Lines = append(f.Lines, lines...)
	return f
}
