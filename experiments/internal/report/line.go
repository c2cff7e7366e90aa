package report

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"tandem/algo/metric"
)

// palette returns the colours of Okabe and Ito that are clear on white. Readers with colour-vision deficiency
// can distinguish them.
//
// Source: Okabe, Ito, Color Universal Design (2008).
func palette() []color.Color {
	return []color.Color{
		color.RGBA{0, 114, 178, 255},   // blue
		color.RGBA{213, 94, 0, 255},    // vermilion
		color.RGBA{0, 158, 115, 255},   // green
		color.RGBA{204, 121, 167, 255}, // purple
		color.RGBA{230, 159, 0, 255},   // orange
		color.RGBA{110, 110, 110, 255}, // grey
	}
}

// Grey is the Line.Color of lines that are not measurements, such as limits.
const Grey = 5

func gridColor() color.Color { return color.Gray{222} }

// add adds a line to a plot and to its legend.
func (l Line) add(p *plot.Plot) error {
	shade := shadeOf(l.Color)
	if l.Area {
		return l.addArea(p)
	}
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
	if l.Paper {
		marks.Shape, marks.Radius = diamond{}, vg.Points(4)
		line.Width, line.Dashes = vg.Points(0.8), []vg.Length{vg.Points(2), vg.Points(3)}
	}
	if l.uncertain() {
		bars, err := plotter.NewYErrorBars(errorBars(l.Points))
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

// addArea adds an area to a plot.
func (l Line) addArea(p *plot.Plot) error {
	area, err := plotter.NewPolygon(values(l.Points))
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = faded(l.Color, 0.22), 0
	p.Add(area)
	if l.Name != "" {
		p.Legend.Add(l.Name, area)
	}
	return nil
}

// diamond is the mark of a paper's value. It implements draw.GlyphDrawer.
type diamond struct{}

// DrawGlyph draws the mark.
func (diamond) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	drawDiamond(*c, at, style.Color, false)
}

// Band returns the area between the ends of the error bars of points.
func Band(color int, points []Point) Line {
	band := Line{Color: color, Area: true}
	for _, p := range points {
		band.Points = append(band.Points, Exact(p.X, p.Low))
	}
	for _, p := range slices.Backward(points) {
		band.Points = append(band.Points, Exact(p.X, p.High))
	}
	return band
}

// Beside returns the lines of a series of predictions and of a paper's values of the same series, in one
// colour: predictions as a line in a band for their intervals, values as diamonds with bars for the error of
// their reading.
func Beside(name string, color int, theirs, ours []Point) []Line {
	var lines []Line
	if len(ours) > 0 {
		curve := Line{Name: name + ", predicted", Color: color}
		for _, p := range ours {
			curve.Points = append(curve.Points, Exact(p.X, p.Y))
		}
		lines = append(lines, Band(color, ours), curve)
	}
	return append(lines, Line{Name: name + ", paper", Color: color, Paper: true, Points: theirs})
}

// uncertain reports whether a point has an error bar.
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

// errorBars implements the interfaces of plotter.NewYErrorBars.
type errorBars []Point

// Len returns the number of points.
func (b errorBars) Len() int { return len(b) }

// XY returns a point.
func (b errorBars) XY(i int) (x, y float64) { return b[i].X, b[i].Y }

// YError returns the lengths of the bar below and above a point.
func (b errorBars) YError(i int) (low, high float64) { return b[i].Y - b[i].Low, b[i].High - b[i].Y }

// MarginLines returns guides at ± the equivalence margin of AUC, from one end of the horizontal axis to the
// other.
func MarginLines(first, last float64) []Line {
	const margin = metric.EquivalenceMargin
	name := fmt.Sprintf("±%g: negligible", margin)
	return []Line{
		{Name: name, Color: Grey, Guide: true, Points: []Point{Exact(first, margin), Exact(last, margin)}},
		{Color: Grey, Guide: true, Points: []Point{Exact(first, -margin), Exact(last, -margin)}},
	}
}
