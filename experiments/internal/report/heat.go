package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is heat maps side by side: cells of a grid, coloured by a value, with marks and points over them. The
// horizontal axes are logarithmic, the vertical ones logarithmic in 1 + v.
type Heat struct {
	Panels  []HeatPanel
	Columns int // panels side by side
	X, Y    HeatAxis
	// Levels are the values at which colours change, ascending, at most six. Label is what the colours mean,
	// with the unit.
	Levels []float64
	Label  string
	Mark   string // what HeatCell.Marked means; empty: no cell is marked
	// Series are the names of the points, by HeatPoint.Series.
	Series []string
	Line   string // the name of HeatPanel.Line; empty: no panel has one
}

// HeatAxis is an axis of all panels.
type HeatAxis struct {
	Label     string
	Ticks     []float64
	Low, High float64
}

// HeatPanel is one heat map.
type HeatPanel struct {
	Title  string
	Cells  []HeatCell
	Line   [][2]Point // pieces of a line over the cells
	Points []HeatPoint
}

// HeatCell is a rectangle in data coordinates.
type HeatCell struct {
	XLow, XHigh, YLow, YHigh float64
	Value                    float64
	Text                     string // in the cell; empty: none
	Marked                   bool   // with a dot
}

// HeatPoint is a point over the cells with a vertical bar.
type HeatPoint struct {
	Point
	Series int
	Label  string // beside the point; empty: none
}

// The layout of heat maps.
const (
	keyWidth    = 2.6 * vg.Inch
	titleHeight = 0.5 * vg.Inch
	panelGap    = 0.12 * vg.Inch
)

// panelSize returns the size of a panel, which is larger if it is the only one.
func (h *Heat) panelSize() (width, height vg.Length) {
	if len(h.Panels) == 1 {
		return 6.4 * vg.Inch, 4.6 * vg.Inch
	}
	return 3.3 * vg.Inch, 2.8 * vg.Inch
}

// size returns the size of a figure of heat maps.
func (h *Heat) size() (width, height vg.Length) {
	rows := (len(h.Panels) + h.Columns - 1) / h.Columns
	panelWidth, panelHeight := h.panelSize()
	return figureMargin + vg.Length(h.Columns)*panelWidth + keyWidth, vg.Length(rows)*panelHeight +
		titleHeight
}

// shades are sequential: each is darker than the one before, so that they differ in grey and for readers with
// colour-vision deficiency.
//
// Source: ColorBrewer 2.0, YlGnBu with seven classes.
func shades() []color.RGBA {
	return []color.RGBA{
		{255, 255, 204, 255}, {199, 233, 180, 255}, {127, 205, 187, 255}, {65, 182, 196, 255},
		{29, 145, 192, 255}, {34, 94, 168, 255}, {12, 44, 132, 255},
	}
}

// shade returns the index of the colour of a value.
func (h *Heat) shade(v float64) int {
	at, found := slices.BinarySearch(h.Levels, v)
	if found {
		at++ // a value at a level has the colour above it
	}
	return at
}

// ink returns the colour of text over a shade.
func ink(shade int) color.Color {
	if shade >= 4 {
		return color.White
	}
	return color.Black
}

// sans returns a style of text that is centred on its place.
func sans(points float64, shade color.Color) text.Style {
	style := text.Style{
		Color: shade, Font: font.From(plot.DefaultFont, vg.Points(points)), XAlign: draw.XCenter,
		YAlign: draw.YCenter, Handler: plot.DefaultTextHandler,
	}
	style.Font.Variant = "Sans"
	return style
}

// stroke returns a style of lines.
func stroke(points float64, shade color.Color) draw.LineStyle {
	return draw.LineStyle{Color: shade, Width: vg.Points(points)}
}

// corners returns the corners of a rectangle.
func corners(left, low, right, high vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}}
}

// fillBox draws a rectangle with a white edge.
func fillBox(c draw.Canvas, shade color.Color, box []vg.Point, edge float64) {
	c.FillPolygon(shade, box)
	c.StrokeLines(stroke(edge, color.White), append(box, box[0]))
}

// newPanel returns an empty plot in small text.
func newPanel(title, x string, titlePoints float64) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, x
	p.Title.TextStyle.Font.Size, p.X.Label.TextStyle.Font.Size = vg.Points(titlePoints), vg.Points(9)
	p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = vg.Points(8.5), vg.Points(8.5)
	for _, f := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font,
	} {
		f.Variant = "Sans"
	}
	p.X.Padding, p.Y.Padding = 0, 0
	return p
}

// draw draws all panels, with the key to the right.
func (h *Heat) draw(canvas draw.Canvas, title string) {
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	head := sans(13, color.Black)
	head.XAlign = draw.XLeft
	canvas.FillText(head, vg.Point{X: canvas.Min.X + figureMargin, Y: canvas.Max.Y - titleHeight/2}, title)
	panelWidth, panelHeight := h.panelSize()
	for i := range h.Panels {
		left := figureMargin + vg.Length(i%h.Columns)*panelWidth
		low := canvas.Max.Y - titleHeight - vg.Length(i/h.Columns+1)*panelHeight
		h.plot(&h.Panels[i]).Draw(draw.Canvas{Canvas: canvas.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: canvas.Min.X + left, Y: low},
			Max: vg.Point{X: canvas.Min.X + left + panelWidth - panelGap, Y: low + panelHeight - panelGap},
		}})
	}
	h.drawKey(draw.Crop(canvas, canvas.Size().X-keyWidth+vg.Points(14), 0, 0, -titleHeight))
}

// plot returns the plot of a panel.
func (h *Heat) plot(panel *HeatPanel) *plot.Plot {
	p := newPanel(panel.Title, h.X.Label, 11)
	p.Y.Label.Text, p.Y.Label.TextStyle.Font = h.Y.Label, p.X.Label.TextStyle.Font
	p.Title.Padding = vg.Points(4)
	p.X.Min, p.X.Max = math.Log(h.X.Low), math.Log(h.X.High)
	p.Y.Min, p.Y.Max = math.Log1p(h.Y.Low), math.Log1p(h.Y.High)
	p.X.Tick.Marker, p.Y.Tick.Marker = marks(h.X.Ticks, math.Log), marks(h.Y.Ticks, math.Log1p)
	p.Add(&heatPlotter{h, panel})
	return p
}

// marks returns ticks with their values as labels, at their places on an axis.
func marks(values []float64, place func(v float64) float64) plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(values))
	for i, v := range values {
		ticks[i] = plot.Tick{Value: place(v), Label: tickText(v)}
	}
	return ticks
}

// heatPlotter draws the inside of a panel. The axes of its plot hold logarithms, because plot misplaces the
// label of an axis with a scale.
type heatPlotter struct {
	*Heat
	panel *HeatPanel
}

// Plot implements plot.Plotter.
func (h *heatPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	x := func(v float64) vg.Length { return toX(math.Log(v)) }
	y := func(v float64) vg.Length { return toY(math.Log1p(v)) }
	for _, cell := range h.panel.Cells {
		left, right, low, high := x(cell.XLow), x(cell.XHigh), y(cell.YLow), y(cell.YHigh)
		shade := h.shade(cell.Value)
		fillBox(c, shades()[shade], corners(left, low, right, high), 0.7)
		middle := vg.Point{X: (left + right) / 2, Y: (low + high) / 2}
		if cell.Text != "" {
			c.FillText(sans(7, ink(shade)), middle, cell.Text)
			middle.Y -= vg.Points(8)
		}
		if cell.Marked {
			drawMark(c, middle, ink(shade))
		}
	}
	for _, piece := range h.panel.Line {
		c.StrokeLine2(heatLine(), x(piece[0].X), y(piece[0].Y), x(piece[1].X), y(piece[1].Y))
	}
	for _, point := range h.panel.Points {
		at := vg.Point{X: x(point.X), Y: y(point.Y)}
		if point.Low < point.High {
			c.StrokeLine2(stroke(0.8, color.Black), at.X, y(point.Low), at.X, y(point.High))
		}
		drawSeries(c, at, point.Series)
	}
	h.drawLabels(c, x, y)
}

// drawLabels draws the labels of points above them, on white, at the lowest free heights. Labels in the right
// half are left of their points.
func (h *heatPlotter) drawLabels(c draw.Canvas, x, y func(v float64) vg.Length) {
	const row = 11
	style := sans(7.5, color.Black)
	var taken []vg.Rectangle
	for _, point := range h.panel.Points {
		if point.Label == "" {
			continue
		}
		low := vg.Point{X: x(point.X), Y: y(point.Y) + vg.Points(4)}
		at := vg.Point{X: low.X + vg.Points(2), Y: low.Y + vg.Points(row)}
		if style.XAlign = draw.XLeft; low.X > (c.Min.X+c.Max.X)/2 {
			style.XAlign, at.X = draw.XRight, low.X-vg.Points(2)
		}
		box := style.Rectangle(point.Label)
		for slices.ContainsFunc(taken, func(t vg.Rectangle) bool { return overlap(t, box.Add(at)) }) {
			at.Y += vg.Points(row)
		}
		box = box.Add(at)
		taken = append(taken, box)
		c.StrokeLine2(stroke(0.5, color.Gray{90}), low.X, low.Y, low.X, at.Y)
		c.FillPolygon(color.White, corners(box.Min.X, box.Min.Y, box.Max.X, box.Max.Y))
		c.FillText(style, at, point.Label)
	}
}

// overlap reports whether two rectangles have a common point.
func overlap(a, b vg.Rectangle) bool {
	return a.Min.X <= b.Max.X && b.Min.X <= a.Max.X && a.Min.Y <= b.Max.Y && b.Min.Y <= a.Max.Y
}

// heatLine is the style of HeatPanel.Line.
func heatLine() draw.LineStyle { return stroke(2.2, palette()[1]) }

// drawMark draws the mark of a cell.
func drawMark(c draw.Canvas, at vg.Point, shade color.Color) {
	c.DrawGlyph(draw.GlyphStyle{Color: shade, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}, at)
}

// drawSeries draws a point: black with a white edge, in a shape of its series.
func drawSeries(c draw.Canvas, at vg.Point, series int) {
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CrossGlyph{}}
	shape := shapes[series%len(shapes)]
	if _, thin := shape.(draw.CrossGlyph); !thin {
		c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: vg.Points(3.4), Shape: shape}, at)
	}
	c.DrawGlyph(draw.GlyphStyle{Color: color.RGBA{180, 0, 60, 255}, Radius: vg.Points(2.4), Shape: shape}, at)
}

// drawKey draws what colours, marks, points and the line mean.
func (h *Heat) drawKey(c draw.Canvas) {
	style := sans(9, color.Black)
	style.XAlign = draw.XLeft
	row, box, left := vg.Points(15), vg.Points(11), c.Min.X
	text := left + 2*box + vg.Points(6)
	y := c.Max.Y - vg.Points(6)
	paragraph := func(x vg.Length, words string) {
		for _, line := range strings.Split(words, "\n") {
			c.FillText(style, vg.Point{X: x, Y: y}, line)
			y -= row - vg.Points(2)
		}
		y -= vg.Points(2)
	}
	paragraph(left, h.Label)
	for i := len(h.Levels); i >= 0; i-- {
		bottom := y - box/2
		c.FillPolygon(shades()[i], corners(left, bottom, left+2*box, bottom+box))
		paragraph(text, h.levelText(i))
	}
	y -= vg.Points(8)
	if h.Mark != "" {
		drawMark(c, vg.Point{X: left + box, Y: y}, color.Black)
		paragraph(text, h.Mark)
	}
	if h.Line != "" {
		c.StrokeLine2(heatLine(), left, y, left+2*box, y)
		paragraph(text, h.Line)
	}
	for i, name := range h.Series {
		drawSeries(c, vg.Point{X: left + box, Y: y}, i)
		paragraph(text, name)
	}
}

// levelText returns the range of values of a colour.
func (h *Heat) levelText(i int) string {
	switch {
	case i == 0:
		return "below " + tickText(h.Levels[0])
	case i == len(h.Levels):
		return tickText(h.Levels[i-1]) + " and above"
	}
	return fmt.Sprintf("%s to %s", tickText(h.Levels[i-1]), tickText(h.Levels[i]))
}
