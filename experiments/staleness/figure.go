package staleness

import (
	"slices"

	"tandem/algo/histogram"
	"tandem/algo/protocol/pace"
	"tandem/experiments/report"
)

// bounds returns the bounds on staleness of a hybrid variant.
func (p plan) bounds(a variant) pace.Bounds {
	return pace.Hybrid{Staleness: *a.Tau, Overlap: pace.HybridDS}.Bounds(p.Job.Roles.Ranks)
}

// effectFigure shows the staleness effect by τ, a line per data set.
func (p plan) effectFigure(results []*dataSetResult) report.Figure {
	f := report.Figure{
		Name:  "auc-difference",
		Title: "Staleness effect: AUC of hybrid(τ) − AUC of sync, both merging per rank",
		X:     p.tauAxis(),
		Y:     report.Axis{Label: "AUC difference (bars: 95 % over seeds)"},
	}
	first, last := float64(p.Taus[0]), float64(p.Taus[len(p.Taus)-1])
	f.Lines = report.MarginLines(first, last)
	for i, r := range results {
		line := report.Line{Name: r.DataSet, Color: i}
		for _, e := range r.Effects {
			if e.Name == stalenessEffect {
				line.Points = append(line.Points, report.Point{
					X: dodge(*e.Tau, i, len(results)), Y: e.AUC.Estimate, Low: e.AUC.Low, High: e.AUC.High,
				})
			}
		}
		f.Lines = append(f.Lines, line)
	}
	return f
}

// dodge moves the points of line i of n sideways on the logarithmic axis, so that error bars do not overlap.
func dodge(tau, i, n int) float64 {
	const share = 0.06 // of 1 + τ, between neighboring lines
	return float64(tau) + share*(float64(i)-float64(n-1)/2)*float64(1+tau)
}

// stalenessFigure shows the measured staleness by τ over all data sets, with the bounds.
func (p plan) stalenessFigure(results []*dataSetResult) report.Figure {
	f := report.Figure{
		Name:  "staleness",
		Title: "Staleness of reads in hybrid mode, all data sets and seeds",
		X:     p.tauAxis(),
		Y:     report.Axis{Label: "staleness (steps)", LogPlusOne: true},
	}
	lines := []report.Line{
		{Name: "own, mean", Color: 0}, {Name: "own, max", Color: 2},
		{Name: "own, bound τ", Color: 0, Guide: true},
		{Name: "cross, mean", Color: 1}, {Name: "cross, max", Color: 3},
		{Name: "cross, bound 2τ+1", Color: 1, Guide: true},
	}
	for i, a := range p.variants()[firstHybrid:] {
		var own, cross histogram.Histogram
		for _, r := range results {
			own.Merge(&r.Variants[firstHybrid+i].Own)
			cross.Merge(&r.Variants[firstHybrid+i].Cross)
		}
		bound := p.bounds(a)
		for j, y := range []float64{
			own.Mean(), float64(own.Max()), float64(bound.Own),
			cross.Mean(), float64(cross.Max()), float64(bound.Cross),
		} {
			lines[j].Points = append(lines[j].Points, report.Exact(float64(*a.Tau), y))
		}
		f.Y.Ticks = append(f.Y.Ticks, float64(bound.Own), float64(bound.Cross))
	}
	f.Lines = lines
	slices.Sort(f.Y.Ticks)
	f.Y.Ticks = slices.Compact(f.Y.Ticks)
	return f
}

// tauAxis returns an axis of τ, logarithmic in 1 + τ: Persia's embedding_staleness is 1 + τ.
func (p plan) tauAxis() report.Axis {
	a := report.Axis{Label: "τ, bound on own staleness (steps)", LogPlusOne: true}
	for _, tau := range p.Taus {
		a.Ticks = append(a.Ticks, float64(tau))
	}
	return a
}
