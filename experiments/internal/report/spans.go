package report

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Spans is schedules one above the other, on a common axis of time with given ticks. A panel has a lane for
// each kind of work.
type Spans struct {
	Panels []SpanPanel
	Lanes  []string // from top to bottom
	X      Axis
	Length float64 // of the axis, which begins at 0
}

// SpanPanel is one schedule.
type SpanPanel struct {
	Title string
	Spans []Span
}

// Span is work in a lane. Spans of a lane that overlap are drawn below each other.
type Span struct {
	Lane     int
	From, To float64
	Color    int    // index of the colour, from 0; related spans share it
	Text     string // in the span, where it has room
}

// The layout of schedules.
const (
	spanPanelHeight = 1.75 * vg.Inch
	spanHead        = 0.4 * vg.Inch
)

// size returns the size of a figure of schedules.
func (s *Spans) size() (width, height vg.Length) {
	return figureWidth, vg.Length(len(s.Panels))*spanPanelHeight + spanHead
}

// draw draws all panels below the title.
func (s *Spans) draw(canvas draw.Canvas, title string) {
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	middle := (canvas.Min.X + canvas.Max.X) / 2
	canvas.FillText(sans(13, color.Black), vg.Point{X: middle, Y: canvas.Max.Y - spanHead/2}, title)
	for i := range s.Panels {
		high := canvas.Max.Y - spanHead - vg.Length(i)*spanPanelHeight
		s.plot(&s.Panels[i]).Draw(draw.Canvas{Canvas: canvas.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: canvas.Min.X + figureMargin, Y: high - spanPanelHeight},
			Max: vg.Point{X: canvas.Max.X - 2*figureMargin, Y: high},
		}})
	}
}

// plot returns the plot of a panel, with the lanes at heights n−1, …, 0.
func (s *Spans) plot(panel *SpanPanel) *plot.Plot {
	p := newPanel(panel.Title, s.X.Label, 10)
	lanes := make(plot.ConstantTicks, len(s.Lanes))
	for i, name := range s.Lanes {
		lanes[i] = plot.Tick{Value: float64(len(s.Lanes)-1-i) + 0.5, Label: name}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length = lanes, 0
	p.X.Tick.Marker = marks(s.X.Ticks, func(v float64) float64 { return v })
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, s.Length, 0, float64(len(s.Lanes))
	p.Add(&spanPlotter{s, panel})
	return p
}

// spanPlotter draws the inside of a panel.
type spanPlotter struct {
	*Spans
	panel *SpanPanel
}

// Plot implements plot.Plotter.
func (s *spanPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := sans(7, color.White)
	for lane := range s.Lanes {
		bottom := float64(len(s.Lanes) - 1 - lane)
		c.StrokeLine2(stroke(0.6, gridColor()), c.Min.X, y(bottom), c.Max.X, y(bottom))
		rows := stack(s.panel.Spans, lane)
		for row, spans := range rows {
			high := y(bottom + 0.94 - 0.88*float64(row)/float64(len(rows)))
			low := y(bottom + 0.94 - 0.88*float64(row+1)/float64(len(rows)))
			for _, span := range spans {
				left, right := max(x(span.From), c.Min.X), min(x(span.To), c.Max.X)
				if left >= right {
					continue
				}
				fillBox(c, palette()[span.Color%len(palette())], corners(left, low, right, high), 0.6)
				if style.Width(span.Text) < right-left && style.Height(span.Text) < high-low {
					c.FillText(style, vg.Point{X: (left + right) / 2, Y: (low + high) / 2}, span.Text)
				}
			}
		}
	}
}

// stack returns the spans of a lane in as few rows as possible in which none overlap, by their begin.
func stack(spans []Span, lane int) (rows [][]Span) {
	own := slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Lane != lane })
	slices.SortFunc(own, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
next:
	for _, span := range own {
		for i, row := range rows {
			if row[len(row)-1].To <= span.From {
				rows[i] = append(row, span)
				continue next
			}
		}
		rows = append(rows, []Span{span})
	}
	return rows
}
