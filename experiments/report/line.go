package report

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colors are those of Okabe and Ito that stand out on white; readers who do not
// see all colours can tell them apart.
//
// Source: Okabe, Ito, Color Universal Design (2008).
func colors() []color.Color {
	return []color.Color{
		color.RGBA{0, 114, 178, 255},   // blue
		color.RGBA{213, 94, 0, 255},    // vermilion
		color.RGBA{0, 158, 115, 255},   // green
		color.RGBA{204, 121, 167, 255}, // purple
		color.RGBA{230, 159, 0, 255},   // orange
		color.RGBA{110, 110, 110, 255}, // grey
	}
}

// Grey is the Line.Color of what is neither measured nor of any one line.
const Grey = 5

func gridColor() color.Color { return color.Gray{222} }

// add draws a line into a plot and its legend.
func (l Line) add(p *plot.Plot) error {
	shade := colors()[l.Color%len(colors())]
	line, marks, err := plotter.NewLinePoints(values(l.Points))
	if err != nil {
		return err
	}
	line.Color, line.Width = shade, vg.Points(1.6)
	if l.Guide {
		line.Width, line.Dashes = vg.Points(1.1), []vg.Length{vg.Points(5), vg.Points(4)}
		p.Add(line)
		l.addToLegend(p, line)
		return nil
	}
	marks.Color, marks.Shape, marks.Radius = shade, draw.CircleGlyph{}, vg.Points(3)
	if l.uncertain() {
		bars, err := plotter.NewYErrorBars(bars(l.Points))
		if err != nil {
			return err
		}
		bars.Color, bars.Width, bars.CapWidth = shade, vg.Points(1.1), vg.Points(7)
		p.Add(bars)
	}
	p.Add(marks)
	if l.Scatter {
		l.addToLegend(p, marks)
		return nil
	}
	p.Add(line)
	l.addToLegend(p, line, marks)
	return nil
}

// uncertain tells whether a point has an error bar.
func (l Line) uncertain() bool {
	return slices.ContainsFunc(l.Points, func(p Point) bool { return p.Low != p.High })
}

// addToLegend adds the line to the legend.
func (l Line) addToLegend(p *plot.Plot, thumbs ...plot.Thumbnailer) {
	if l.Name != "" {
		p.Legend.Add(l.Name, thumbs...)
	}
}

func values(points []Point) plotter.XYs {
	xy := make(plotter.XYs, len(points))
	for i, p := range points {
		xy[i] = plotter.XY{X: p.X, Y: p.Y}
	}
	return xy
}

// bars are points in the form that plotter.NewYErrorBars takes.
type bars []Point

// Len returns the number of points.
func (b bars) Len() int { return len(b) }

// XY returns a point.
func (b bars) XY(i int) (x, y float64) { return b[i].X, b[i].Y }

// YError returns how far the bar reaches below and above a point.
func (b bars) YError(i int) (low, high float64) { return b[i].Y - b[i].Low, b[i].High - b[i].Y }
