package theory

import (
	"fmt"
	"math"

	"tandem/experiments/internal/report"
	"tandem/experiments/staleness/theory/stability"
)

// sideStep separates points of the same delay, as a part of 1 + d.
const sideStep = 0.035

// boundaryFigure shows the thresholds of equal batches on the predicted curve.
func (e *evidence) boundaryFigure() report.Figure {
	f := report.Figure{
		Name: "boundary", Title: "Where delayed SGD diverges: η·q·h by delay",
		X: e.delayAxis(), Y: report.Axis{Label: "threshold of η·q·h (logarithmic)"},
	}
	for _, v := range []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2} {
		f.Y.Ticks, f.Y.Names = append(f.Y.Ticks, math.Log10(v)), append(f.Y.Names, fmt.Sprint(v))
	}
	curve := report.Line{Name: "2·sin(π/(2(2d+1)))", Color: report.Grey, Guide: true}
	for d := 0; d <= e.longest(); d++ {
		curve.Points = append(curve.Points, report.Exact(float64(d), math.Log10(stability.Boundary(d))))
	}
	f.Lines = append(f.Lines, curve)
	for i, ids := range e.ids() {
		l := report.Line{Name: "measured, q = " + share(ids), Color: i, Scatter: true}
		for _, c := range e.Thresholds {
			if c.Ids == ids {
				l.Points = append(l.Points, report.Exact(beside(c.Delay, i), math.Log10(c.Measured)))
			}
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// randomFigure shows the thresholds of drawn samples as a share of the predicted boundary of equal batches.
func (e *evidence) randomFigure() report.Figure {
	f := report.Figure{
		Name: "random", Title: "Drawn samples: threshold ÷ the boundary of equal batches",
		X: e.delayAxis(), Y: report.Axis{Label: "threshold ÷ 2·sin(π/(2(2d+1))) (bars: 95 % over seeds)"},
	}
	f.Lines = append(f.Lines, report.Line{Name: "equal batches", Color: report.Grey, Guide: true,
		Points: []report.Point{report.Exact(0, 1), report.Exact(float64(e.longest()), 1)}})
	for i, ids := range e.ids() {
		measured := report.Line{Name: "measured, q = " + share(ids), Color: i, Scatter: true}
		bound := report.Line{Name: "mean square, q = " + share(ids), Color: i, Guide: true}
		for _, c := range e.Thresholds {
			if c.Ids == ids && c.Random != nil {
				measured.Points = append(measured.Points, report.Point{X: beside(c.Delay, i),
					Y: c.Random.Estimate / c.Predicted, Low: c.Random.Low / c.Predicted,
					High: c.Random.High / c.Predicted})
				bound.Points = append(bound.Points,
					report.Exact(float64(c.Delay), *c.MeanSquare/c.Predicted))
			}
		}
		if measured.Points != nil {
			f.Lines = append(f.Lines, bound, measured)
		}
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
	for i, varied := range []string{variedTau, variedShare, variedRate} {
		l := report.Line{Name: "measured, varied " + varied, Color: i, Scatter: true}
		for _, c := range e.Growth {
			if c.Varied == varied {
				l.Points = append(l.Points, report.Point{X: c.X + 0.008*float64(i-1), Y: c.Growth.Estimate,
					Low: c.Growth.Low, High: c.Growth.High})
			}
		}
		f.Lines = append(f.Lines, l)
	}
	threads := report.Line{Name: "real threads", Color: 4, Scatter: true}
	for _, c := range e.Threads[1:] {
		threads.Points = append(threads.Points, report.Point{X: c.X, Y: c.Growth.Estimate, Low: c.Growth.Low,
			High: c.Growth.High})
	}
	f.Lines = append(f.Lines, threads)
	return f
}

// beside returns the place of a delay for the points of one of four series.
func beside(delay, series int) float64 {
	return float64(delay) + sideStep*(float64(series)-1.5)*float64(1+delay)
}

// delayAxis returns the axis of delays.
func (e *evidence) delayAxis() report.Axis {
	a := report.Axis{Label: "delay d (steps)", LogPlusOne: true}
	for _, c := range e.Thresholds {
		if n := len(a.Ticks); n == 0 || a.Ticks[n-1] != float64(c.Delay) {
			a.Ticks = append(a.Ticks, float64(c.Delay))
		}
	}
	return a
}

// longest returns the longest delay.
func (e *evidence) longest() int { return e.Thresholds[len(e.Thresholds)-1].Delay }

// ids returns the numbers of ids, in their order.
func (e *evidence) ids() []int {
	var all []int
	for _, c := range e.Thresholds {
		if c.Delay == e.Thresholds[0].Delay {
			all = append(all, c.Ids)
		}
	}
	return all
}
