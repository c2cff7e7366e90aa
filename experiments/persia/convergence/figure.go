package convergence

import (
	"fmt"

	"tandem/experiments/internal/report"
)

// mainRuns returns the long runs at the first kind of rates, in the order of mainArms.
func (p *plan) mainRuns(r *results) (runs []*run) {
	for _, a := range p.mainArms() {
		runs = append(runs, r.run(a, p.samples()))
	}
	return runs
}

// curveFigure shows AUC by samples.
func (p *plan) curveFigure(r *results) report.Figure {
	f := report.Figure{
		Name: "curves", Title: fmt.Sprintf("AUC by samples on %d ranks", p.Job.Roles.Ranks),
		Y: report.Axis{Label: "AUC on the test rows (bars: 95 %)"},
	}
	p.addCurves(&f, r, 0, func(_, k int, one *run) ([]float64, bool) { return one.at(k) })
	return f
}

// differenceFigure shows AUC less that of sync merge:step by samples, after the first third of the run: what
// differs before would hide what is left at the end.
func (p *plan) differenceFigure(r *results) report.Figure {
	f := report.Figure{
		Name: "differences", Title: "AUC less that of sync merge:step after as many samples",
		Y: report.Axis{Label: "AUC difference (bars: 95 %)"},
	}
	sync := p.mainRuns(r)[0]
	length := p.addCurves(&f, r, 0.006, func(i, k int, one *run) ([]float64, bool) {
		auc, ok := one.at(k)
		reference, both := sync.at(k)
		if i == 0 || !ok || !both || 3*one.CurveSamples[k] < one.Samples {
			return nil, false
		}
		return report.Differences(auc, reference), true
	})
	f.Lines = append(report.MarginLines(length/3, length), f.Lines...)
	return f
}

// addCurves adds a line for each of the long runs: what is at its points, unless that is missing. The lines
// are a share of the length of the axis apart. It returns that length.
func (p *plan) addCurves(f *report.Figure, r *results, apart float64,
	at func(i, point int, one *run) ([]float64, bool),
) float64 {
	unit := 1e3
	f.X.Label = "samples (thousands)"
	if p.samples() >= 2_000_000 {
		f.X.Label, unit = "samples (millions)", 1e6
	}
	length := float64(p.samples()) / unit
	for i, one := range p.mainRuns(r) {
		line := report.Line{Name: one.Arm.String(), Color: i}
		for k, samples := range one.CurveSamples {
			if values, ok := at(i, k, one); ok {
				x := float64(samples)/unit + apart*length*float64(i-2)
				line.Points = append(line.Points, report.SeedPoint(x, values))
			}
		}
		if line.Points != nil {
			f.Lines = append(f.Lines, line)
		}
	}
	return length
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
		hybrid, sync := p.scalingOf(r, weak, ranks)
		strongHybrid, _ := p.scalingOf(r, strong, ranks)
		for i, e := range []*effect{hybrid, sync, strongHybrid} {
			x := float64(ranks) + 0.006*(last-first)*float64(i-1) // beside each other
			lines[i].Points = append(lines[i].Points, report.IntervalPoint(x, e.AUC))
		}
	}
	f.Lines = append(f.Lines, lines...)
	return f
}
