package source

import (
	"fmt"
	"math"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
)

// delayFigure shows the losses by delay on generated data.
func (p *plan) delayFigure(results []*result, kind string) report.Figure {
	f := report.Figure{
		Name: "delay-" + kind, Title: "What a late part costs in AUC, " + rateText(kind),
		X: report.Axis{Label: "delay (steps)", LogPlusOne: true},
		Y: lossAxis(),
	}
	color := 0
	for _, r := range results {
		if r.Alpha == 0 {
			continue
		}
		f.X.Ticks = floats(r.set.Delays)
		lines := []report.Line{
			{Name: "rows late, " + r.DataSet, Color: color},
			{Name: "network late, " + r.DataSet, Color: color + 1},
			{Name: "steps fewer, " + r.DataSet, Color: color, Guide: true},
		}
		for _, c := range r.Comparisons {
			if c.Length != 1 || c.Rates != kind {
				continue
			}
			for i, v := range []metric.Interval{c.RowLoss, c.NetworkLoss, c.LagLoss} {
				lines[i].Points = append(lines[i].Points, at(dodge(float64(c.Delay), color+i), v))
			}
		}
		f.Lines = append(f.Lines, lines...)
		color += 2
	}
	return f
}

// dodge moves the points of line i sideways on the logarithmic axis, so that error bars do not overlap.
func dodge(delay float64, i int) float64 { return delay + 0.05*(float64(i)-1.5)*(1+delay) }

// height returns the place of a loss on the axis: logarithmic in 1 + 1000 losses, which ends at 0.
func height(loss float64) float64 { return math.Log1p(1000 * max(loss, 0)) }

// lossAxis returns an axis of losses.
func lossAxis() report.Axis {
	a := report.Axis{Label: "loss of AUC, gains at 0 (bars: 95 %)"}
	for _, loss := range []float64{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3} {
		a.Ticks, a.Names = append(a.Ticks, height(loss)), append(a.Names, fmt.Sprint(loss))
	}
	return a
}

// at returns a point of a loss with its interval.
func at(x float64, v metric.Interval) report.Point {
	return report.Point{X: x, Y: height(v.Estimate), Low: height(v.Low), High: height(v.High)}
}

func floats(values []int) (f []float64) {
	for _, v := range values {
		f = append(f, float64(v))
	}
	return f
}

// setFigure shows the losses at the main delay on every data set.
func (p *plan) setFigure(results []*result, kind string) report.Figure {
	f := report.Figure{
		Name: "sets-" + kind, Title: "What a late part costs in AUC, " + rateText(kind),
		Y: lossAxis(),
	}
	lines := []report.Line{
		{Name: "rows late", Color: 0, Scatter: true}, {Name: "network late", Color: 1, Scatter: true},
		{Name: "steps fewer", Color: report.Grey, Scatter: true},
	}
	for i, r := range results {
		c := p.main(r, kind)
		f.X.Ticks = append(f.X.Ticks, float64(i))
		f.X.Names = append(f.X.Names, strings.ReplaceAll(r.DataSet, "-", "-\n"))
		for k, v := range []metric.Interval{c.RowLoss, c.NetworkLoss, c.LagLoss} {
			lines[k].Points = append(lines[k].Points, at(float64(i)+0.2*float64(k-1), v))
		}
	}
	f.Lines = lines
	return f
}
