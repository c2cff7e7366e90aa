package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Columns is groups of columns in panels side by side, as papers draw throughputs. A column is ours, with a
// band for its interval; a diamond over it is the paper's.
type Columns struct {
	Panels []ColumnPanel
	Series []string // names of the colours, by Column.Series
	Y      string   // the label of the axis, with the unit
	// Log makes the axis logarithmic, where columns differ by more than two powers of ten.
	Log bool
	// Marks are what a full and an open diamond are in the legend, with where the values are from. An empty
	// one is not in the legend.
	Marks [2]string
}

// ColumnPanel is groups of columns with a common title.
type ColumnPanel struct {
	Title, X string
	Groups   []ColumnGroup
}

// ColumnGroup is columns side by side above a name.
type ColumnGroup struct {
	Name    string
	Columns []Column
}

// Column is a value of ours and one of a paper. Either may be 0: there is none. One of ours that is missing
// is marked so.
type Column struct {
	Series    int
	Value     float64
	Low, High float64 // ends of the band, which is not drawn if they are equal
	Paper     float64
	PaperLow  float64 // ends of what the form of the paper's value allows
	PaperHigh float64
	Open      bool // the paper's value is a recollection: it decides nothing
}

// The layout of columns.
const (
	columnsHeight = 3.95 * vg.Inch
	columnsHead   = 0.4 * vg.Inch
	columnsFoot   = 0.6 * vg.Inch // the legend
)

// draw draws the panels side by side on a common scale, above the legend.
func (k *Columns) draw(canvas draw.Canvas, title string) {
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	middle := (canvas.Min.X + canvas.Max.X) / 2
	canvas.FillText(sans(13, color.Black), vg.Point{X: middle, Y: canvas.Max.Y - columnsHead/2}, title)
	groups := 0
	for i := range k.Panels {
		groups += len(k.Panels[i].Groups)
	}
	// The axis of the first panel has a label, which takes room.
	const label = 0.2 * vg.Inch
	left := canvas.Min.X + figureMargin
	each := (canvas.Max.X - figureMargin - left - label) / vg.Length(groups)
	for i := range k.Panels {
		width := each * vg.Length(len(k.Panels[i].Groups))
		if i == 0 {
			width += label
		}
		k.plot(i).Draw(draw.Canvas{Canvas: canvas.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: canvas.Min.Y + columnsFoot},
			Max: vg.Point{X: left + width - panelGap, Y: canvas.Max.Y - columnsHead},
		}})
		left += width
	}
	k.drawLegend(canvas)
}

// plot returns the plot of a panel. A group takes a unit of the horizontal axis.
func (k *Columns) plot(at int) *plot.Plot {
	panel := &k.Panels[at]
	p := newPanel(panel.Title, panel.X, 10.5)
	if at == 0 {
		p.Y.Label.Text, p.Y.Label.TextStyle.Font = k.Y, p.X.Label.TextStyle.Font
	}
	names := make(plot.ConstantTicks, len(panel.Groups))
	for i, g := range panel.Groups {
		names[i] = plot.Tick{Value: float64(i) + 0.5, Label: g.Name}
	}
	p.X.Tick.Marker, p.X.Tick.Length = names, 0
	p.X.Min, p.X.Max = 0, float64(len(panel.Groups))
	var ticks []float64
	p.Y.Min, p.Y.Max, ticks = k.scale()
	p.Y.Tick.Marker = marks(ticks, k.place)
	p.Add(&columnPlotter{k, panel, ticks})
	return p
}

// place returns the place of a value on the vertical axis. A plot with a logarithmic scale would misplace the
// label of its axis, so the axis holds logarithms.
func (k *Columns) place(v float64) float64 {
	if k.Log {
		return math.Log10(v)
	}
	return v
}

// scale returns the ends of the vertical axis, as places, and the values of its ticks.
func (k *Columns) scale() (low, high float64, ticks []float64) {
	least, most := math.Inf(1), 0.0
	for i := range k.Panels {
		for _, g := range k.Panels[i].Groups {
			for _, c := range g.Columns {
				for _, v := range []float64{c.Value, c.Low, c.High, c.Paper, c.PaperLow, c.PaperHigh} {
					if v > 0 {
						least, most = min(least, v), max(most, v)
					}
				}
			}
		}
	}
	if !k.Log {
		return 0, 1.04 * most, roundTicks(0, 1.04*most)
	}
	low, high = math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	for power := low; power <= high; power++ {
		ticks = append(ticks, math.Pow(10, power))
	}
	return low, high, ticks
}

// columnPlotter draws the inside of a panel.
type columnPlotter struct {
	*Columns
	panel *ColumnPanel
	ticks []float64
}

// Plot implements plot.Plotter.
func (k *columnPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	x, toY := p.Transforms(&c)
	y := func(v float64) vg.Length { return toY(k.place(v)) }
	for _, v := range k.ticks {
		c.StrokeLine2(stroke(0.6, gridColor()), c.Min.X, y(v), c.Max.X, y(v))
	}
	const room = 0.84 // of a group, for its columns
	for i, g := range k.panel.Groups {
		each := room / float64(len(g.Columns))
		for j, column := range g.Columns {
			left := float64(i) + (1-room)/2 + float64(j)*each
			k.drawColumn(c, column, x(left), x(left+each*0.94), toY(p.Y.Min), y)
		}
	}
}

// drawColumn draws a column from the bottom, its band, and the diamond of the paper.
func (k *Columns) drawColumn(c draw.Canvas, v Column, left, right, bottom vg.Length,
	y func(v float64) vg.Length,
) {
	middle := (left + right) / 2
	if v.Value == 0 {
		c.FillText(sans(7, color.Gray{110}), vg.Point{X: middle, Y: bottom + vg.Points(6)}, "not run")
	} else {
		c.FillPolygon(faded(v.Series, 0.55), corners(left, bottom, right, y(v.Value)))
		c.StrokeLine2(stroke(1.4, shadeOf(v.Series)), left, y(v.Value), right, y(v.Value))
	}
	if v.Low < v.High {
		inset := (right - left) / 5
		c.FillPolygon(faded(v.Series, 0.4), corners(left+inset, y(v.Low), right-inset, y(v.High)))
	}
	if v.Paper > 0 {
		if v.PaperLow < v.PaperHigh {
			c.StrokeLine2(stroke(0.8, color.Black), middle, y(v.PaperLow), middle, y(v.PaperHigh))
		}
		drawDiamond(c, vg.Point{X: middle, Y: y(v.Paper)}, color.Black, v.Open)
	}
}

// drawLegend draws what colours, bands and diamonds mean, in rows below the panels.
func (k *Columns) drawLegend(canvas draw.Canvas) {
	style := sans(9, color.Black)
	style.XAlign = draw.XLeft
	const gap, sign = 12, 16
	at := vg.Point{X: canvas.Min.X + 2*figureMargin, Y: canvas.Min.Y + columnsFoot - vg.Points(12)}
	entry := func(name string, drawSign func(middle vg.Point)) {
		width := vg.Points(sign+4+gap) + style.Width(name)
		if at.X+width > canvas.Max.X {
			at.X, at.Y = canvas.Min.X+2*figureMargin, at.Y-vg.Points(15)
		}
		drawSign(vg.Point{X: at.X + vg.Points(sign/2), Y: at.Y})
		canvas.FillText(style, vg.Point{X: at.X + vg.Points(sign+4), Y: at.Y}, name)
		at.X += width
	}
	box := func(middle vg.Point, width, height float64) []vg.Point {
		return corners(middle.X-vg.Points(width), middle.Y-vg.Points(height), middle.X+vg.Points(width),
			middle.Y+vg.Points(height))
	}
	for i, name := range k.Series {
		entry(name, func(middle vg.Point) { canvas.FillPolygon(faded(i, 0.55), box(middle, 7, 4)) })
	}
	entry("band: our interval", func(middle vg.Point) {
		canvas.FillPolygon(faded(Grey, 0.4), box(middle, 4, 6))
	})
	for i, name := range k.Marks {
		if name != "" {
			entry(name, func(middle vg.Point) { drawDiamond(canvas, middle, color.Black, i == 1) })
		}
	}
}

// shadeOf returns a colour of the palette.
func shadeOf(index int) color.Color { return palette()[index%len(palette())] }

// faded returns a colour of the palette that lets through what it covers; solid is 1 for none of that.
func faded(index int, solid float64) color.Color {
	r, g, b, _ := shadeOf(index).RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(255 * solid)}
}

// drawDiamond draws the mark of a paper's value on a white edge; open, only its outline.
func drawDiamond(c draw.Canvas, at vg.Point, shade color.Color, open bool) {
	around := func(radius float64) []vg.Point {
		r := vg.Points(radius)
		return []vg.Point{{X: at.X, Y: at.Y + r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y - r},
			{X: at.X - r, Y: at.Y}}
	}
	c.FillPolygon(color.White, around(4.2))
	if !open {
		c.FillPolygon(shade, around(3.2))
		return
	}
	c.StrokeLines(stroke(0.9, shade), append(around(3.2), around(3.2)[0]))
}
