package report

import (
	"bytes"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"tandem/algo/metric"
)

// The layout of a figure. The legend is a strip at the right.
const (
	figureWidth  = 9 * vg.Inch
	figureHeight = 5 * vg.Inch
	legendWidth  = 2.4 * vg.Inch
	figureMargin = 0.15 * vg.Inch
	legendDrop   = 0.55 * vg.Inch // below the title
	figureDPI    = 192            // sharp on screens with two pixels per point
)

// Figure is a diagram of lines with a common pair of axes, or of bars. Later lines are drawn over earlier
// ones.
type Figure struct {
	Name  string // the name of its files, without extension
	Title string
	X, Y  Axis // bars use only the labels
	Lines []Line
	Bars  []Bar  // instead of lines
	Heat  *Heat  // instead of lines and bars; it has its own axes
	Spans *Spans // instead of lines, bars and heat maps; it has its own axes
	// Columns is instead of all others; it has its own axes.
	Columns *Columns
}

// size returns the size: figureWidth × figureHeight, more for many bars, and that of heat maps and schedules.
func (f Figure) size() (width, height vg.Length) {
	if f.Heat != nil {
		return f.Heat.size()
	}
	if f.Spans != nil {
		return f.Spans.size()
	}
	if f.Columns != nil {
		return figureWidth, columnsHeight
	}
	return figureWidth, barHeight(len(f.Bars))
}

// Axis is an axis of a Figure.
type Axis struct {
	Label string    // with the unit
	Ticks []float64 // the labelled values; nil: round values in the range
	// LogPlusOne makes the axis logarithmic in 1 + v, for counts that begin at 0.
	LogPlusOne bool
	// Names are the labels of the ticks, instead of their values, if not nil.
	Names []string
}

// Line is a series in a Figure.
type Line struct {
	Name    string // in the legend; empty: not in the legend
	Color   int    // index of the colour, from 0: lines that share it look alike, and after Grey they repeat
	Guide   bool   // a limit instead of a measurement: thin, dashed, without markers
	Scatter bool   // no line joins the points
	Area    bool   // the points are the corners of an area, which is filled lightly and has no marks
	Paper   bool   // a paper's values: diamonds on a thin dashed line
	Points  []Point
}

// Point is a value with the ends of its error bar. There is no bar if both ends are the value.
type Point struct{ X, Y, Low, High float64 }

// Exact returns a point without an error bar.
func Exact(x, y float64) Point { return Point{x, y, y, y} }

// IntervalPoint returns a point with the error bar of an interval.
func IntervalPoint(x float64, v metric.Interval) Point { return Point{x, v.Estimate, v.Low, v.High} }

// SeedPoint returns the mean of values, one per seed, with its 95 % interval.
func SeedPoint(x float64, values []float64) Point {
	return IntervalPoint(x, metric.MeanInterval(values))
}

// PNG returns the figure as a PNG picture.
func (f Figure) PNG() ([]byte, error) {
	width, height := f.size()
	canvas := vgimg.PngCanvas{
		Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(figureDPI)),
	}
	if err := f.draw(draw.New(canvas)); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	return out.Bytes(), err
}

// SVG returns the figure as an SVG drawing. Text is drawn as outlines, so that the figure looks the same on
// every machine, with any fonts.
func (f Figure) SVG() ([]byte, error) {
	canvas := outlineCanvas{vgsvg.New(f.size())}
	if err := f.draw(draw.New(canvas)); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	return out.Bytes(), err
}

// draw draws the diagram, with the legend to its right, where it hides no point.
func (f Figure) draw(canvas draw.Canvas) error {
	if f.Heat != nil {
		f.Heat.draw(canvas, f.Title)
		return nil
	}
	if f.Spans != nil {
		f.Spans.draw(canvas, f.Title)
		return nil
	}
	if f.Columns != nil {
		f.Columns.draw(canvas, f.Title)
		return nil
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X.Label, f.Y.Label
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = vg.Points(10), vg.Points(6), vg.Points(6)
	p.Title.TextStyle.Font.Size = vg.Points(13)
	p.Legend.Padding = vg.Points(5)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.ThumbnailWidth = vg.Points(28)
	for _, font := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font,
	} {
		font.Variant = "Sans"
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColor(), gridColor()
	p.Add(grid)
	for _, line := range f.Lines {
		if err := line.add(p); err != nil {
			return fmt.Errorf("line %q: %w", line.Name, err)
		}
	}
	if f.Bars != nil {
		addBars(p, f.Bars)
	} else {
		f.X.apply(&p.X)
		f.Y.apply(&p.Y)
	}

	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	if f.Bars != nil {
		p.Draw(draw.Crop(canvas, figureMargin, -figureMargin, figureMargin, -figureMargin))
		return nil
	}
	legend := p.Legend
	p.Legend = plot.NewLegend()
	p.Draw(draw.Crop(canvas, figureMargin, -legendWidth, figureMargin, -figureMargin))
	legend.Draw(draw.Crop(canvas, figureWidth-legendWidth+figureMargin, 0, 0, -legendDrop))
	return nil
}
