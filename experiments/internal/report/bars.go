package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is a ratio in a Figure. A bar begins at 1 and extends to the right for ratios above 1, to the left for
// ratios below, on a scale where ×2 and ×½ have equal lengths.
type Bar struct {
	Name      string // beside the bar
	Color     int    // index of the colour, from 0; related bars share it
	Value     float64
	Low, High float64 // ends of the error bar
	Target    float64 // a mark across the bar; 0: no mark
}

// barRow is the height of a figure per bar.
const barRow = 0.21 * vg.Inch

// barPlotter draws bars from top to bottom, at heights n−1, …, 0. Their axis holds logarithms of ratios,
// because plot.LogScale misplaces the label of an axis.
type barPlotter []Bar

// addBars adds bars to a plot. Their names are at the vertical axis, so the plot needs no legend.
func addBars(p *plot.Plot, bars []Bar) {
	p.Add(barPlotter(bars))
	names := make(plot.ConstantTicks, len(bars))
	for i, b := range bars {
		names[i] = plot.Tick{Value: float64(len(bars) - 1 - i), Label: b.Name}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.Tick.Label.Font.Size = names, 0, vg.Points(9)
	p.Y.Min, p.Y.Max = -0.7, float64(len(bars))-0.3
	var ticks plot.ConstantTicks
	for _, v := range []float64{0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000} {
		if at := math.Log(v); p.X.Min <= at && at <= p.X.Max {
			ticks = append(ticks, plot.Tick{Value: at, Label: "×" + tickText(v)})
		}
	}
	p.X.Tick.Marker = ticks
}

// DataRange implements plot.DataRanger.
func (b barPlotter) DataRange() (xLow, xHigh, yLow, yHigh float64) {
	xLow, xHigh = 0.5, 2
	for _, bar := range b {
		xLow, xHigh = min(xLow, bar.Low), max(xHigh, bar.High)
		if bar.Target > 0 {
			xLow, xHigh = min(xLow, bar.Target), max(xHigh, bar.Target)
		}
	}
	return math.Log(xLow / 1.1), math.Log(xHigh * 1.1), 0, float64(len(b) - 1)
}

// Plot implements plot.Plotter.
func (b barPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	toX, y := p.Transforms(&c)
	x := func(ratio float64) vg.Length { return toX(math.Log(ratio)) }
	thick := barRow / 3
	black := draw.LineStyle{Color: color.Black, Width: vg.Points(0.8)}
	for i, bar := range b {
		at := y(float64(len(b) - 1 - i))
		c.FillPolygon(palette()[bar.Color%len(palette())], []vg.Point{
			{X: x(1), Y: at - thick}, {X: x(1), Y: at + thick},
			{X: x(bar.Value), Y: at + thick}, {X: x(bar.Value), Y: at - thick},
		})
		if bar.Low < bar.High {
			c.StrokeLine2(black, x(bar.Low), at, x(bar.High), at)
		}
		if bar.Target > 0 {
			mark := draw.LineStyle{Color: color.Black, Width: vg.Points(2)}
			c.StrokeLine2(mark, x(bar.Target), at-1.3*thick, x(bar.Target), at+1.3*thick)
		}
	}
	c.StrokeLine2(black, x(1), y(p.Y.Min), x(1), y(p.Y.Max))
}

// barHeight returns the height of a figure with a number of bars.
func barHeight(bars int) vg.Length { return max(figureHeight, vg.Length(bars)*barRow+1.4*vg.Inch) }
