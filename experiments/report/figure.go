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
)

// The size of a figure, of which the legend takes a strip at the right.
const (
	figureWidth  = 9 * vg.Inch
	figureHeight = 5 * vg.Inch
	legendWidth  = 2.4 * vg.Inch
	figureMargin = 0.15 * vg.Inch
	legendDrop   = 0.55 * vg.Inch // below the title
	figureDPI    = 192            // sharp on screens of two pixels to a point
)

// Figure is a diagram of lines over a common pair of axes, later ones drawn over
// earlier ones, or of bars.
type Figure struct {
	Name  string // of its files, without extension
	Title string
	X, Y  Axis // of bars only the labels
	Lines []Line
	Bars  []Bar // instead of lines
}

// height is that of the usual figure, or more for many bars.
func (f Figure) height() vg.Length { return barHeight(len(f.Bars)) }

// Axis is an axis of a Figure.
type Axis struct {
	Label string    // with the unit
	Ticks []float64 // that carry a label; nil leaves the choice to the range
	// LogPlusOne spaces the values as log(1+v), for counts that begin at 0.
	LogPlusOne bool
	// Names stand at the ticks instead of their values, if not nil.
	Names []string
}

// Line is a series of a Figure.
type Line struct {
	Name    string // in the legend; empty for a line that it leaves out
	Color   int    // lines that belong together share it; 0 is the first colour
	Guide   bool   // no measurement but a limit: thin, dashed, without marks
	Scatter bool   // points are of different things: nothing joins them
	Points  []Point
}

// Point is a value with the ends of its error bar; there is no bar if both ends
// are the value.
type Point struct{ X, Y, Low, High float64 }

// Exact returns a point without an error bar.
func Exact(x, y float64) Point { return Point{x, y, y, y} }

// PNG returns the figure as a PNG picture.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(figureWidth, f.height()), vgimg.UseDPI(figureDPI))}
	if err := f.draw(draw.New(canvas)); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	return out.Bytes(), err
}

// SVG returns the figure as an SVG drawing, which looks the same on every machine: its
// text is drawn as outlines.
func (f Figure) SVG() ([]byte, error) {
	canvas := outlineCanvas{vgsvg.New(figureWidth, f.height())}
	if err := f.draw(draw.New(canvas)); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	return out.Bytes(), err
}

// draw sets the diagram left and the legend right of it, where it can hide no
// point.
func (f Figure) draw(canvas draw.Canvas) error {
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
