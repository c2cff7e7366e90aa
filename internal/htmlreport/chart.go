package htmlreport

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Point is a point of a series. Low and High are the ends of its interval, or both 0 for none.
type Point struct {
	X, Y      float64
	Low, High float64
	Note      string // shown where the pointer rests on the point
}

// Series is one line of a chart.
type Series struct {
	Name   string
	Points []Point
}

// Chart is a figure with lines or bars over a common pair of axes. Points that are not finite are left out.
type Chart struct {
	Title  string
	X, Y   string // what the axes show, with units
	Series []Series
	// Bars draws the points of one series as bars of width 1 around whole numbers, or of BarWidth.
	Bars     bool
	BarWidth float64
	// Dots marks every point. Diagonal draws the line y = x, where both axes have the same unit.
	Dots, Diagonal bool
	// FromZero makes the y axis begin at 0.
	FromZero bool
	// Small charts stand three in a row where others stand two.
	Small bool
}

// The size of a chart, in units that are pixels where a page shows it at its own size.
const (
	wideWidth, wideHeight   = 460.0, 270.0
	smallWidth, smallHeight = 320.0, 220.0

	left   = 66.0
	right  = 14.0
	top    = 10.0
	bottom = 42.0
)

// size returns the width and the height of the chart.
func (c *Chart) size() (width, height float64) {
	if c.Small {
		return smallWidth, smallHeight
	}
	return wideWidth, wideHeight
}

// colours is the number of colours of series in the style sheet. Further series repeat them, dashed.
const colours = 8

// noValues stands where a figure would have no marks.
const noValues template.HTML = `<p class="quiet">There are no values to show.</p>`

// SVG returns the chart as an SVG element that takes its colours from the page.
func (c *Chart) SVG() template.HTML {
	x, y, ok := c.scales()
	if !ok {
		return noValues
	}
	width, height := c.size()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height,
		template.HTMLEscapeString(c.Title))
	c.axes(&b, x, y)
	if c.Diagonal {
		low, high := max(x.low, y.low), min(x.high, y.high)
		fmt.Fprintf(&b, `<line class="diagonal" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x.at(low),
			y.at(low), x.at(high), y.at(high))
	}
	for i, s := range c.Series {
		if c.Bars {
			c.bars(&b, s, x, y)
		} else {
			c.line(&b, s, i, x, y)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// finite reports whether a point can be drawn.
func (p Point) finite() bool {
	return !math.IsNaN(p.X+p.Y) && !math.IsInf(p.X, 0) && !math.IsInf(p.Y, 0)
}

// scales returns the axes that hold all points; ok is false if there is none.
func (c *Chart) scales() (x, y scale, ok bool) {
	xLow, xHigh, yLow, yHigh := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, p := range s.Points {
			if !p.finite() {
				continue
			}
			xLow, xHigh = min(xLow, p.X-c.halfBar()), max(xHigh, p.X+c.halfBar())
			yLow, yHigh = min(yLow, p.Y), max(yHigh, p.Y)
			if p.Low != p.High {
				yLow, yHigh = min(yLow, p.Low), max(yHigh, p.High)
			}
		}
	}
	if xHigh < xLow {
		return x, y, false
	}
	if c.Bars || c.FromZero {
		yLow = min(yLow, 0)
	}
	if c.Diagonal {
		xLow, yLow = 0, 0
		xHigh = max(xHigh, yHigh)
		yHigh = xHigh
	}
	width, height := c.size()
	ticks := int(width / 60)
	x = newScale(xLow, xHigh, ticks, left, width-right)
	if xHigh > xLow { // data fill the width, so the ends are no ticks
		x.low, x.high = xLow, xHigh
	}
	return x, newScale(yLow, yHigh, 5, height-bottom, top), true
}

// halfBar is half the width of a bar; 0 without bars.
func (c *Chart) halfBar() float64 {
	switch {
	case !c.Bars:
		return 0
	case c.BarWidth > 0:
		return c.BarWidth / 2
	}
	return 0.5
}

func (c *Chart) axes(b *strings.Builder, x, y scale) {
	width, height := c.size()
	for _, tick := range y.ticks {
		at := y.at(tick)
		fmt.Fprintf(b, `<line class="grid" x1="%g" y1="%.1f" x2="%g" y2="%.1f"/>`, left, at, width-right, at)
		fmt.Fprintf(b, `<text class="tick" x="%g" y="%.1f" text-anchor="end">%s</text>`, left-6, at+4,
			short(tick))
	}
	for _, tick := range x.ticks {
		if at := x.at(tick); at >= left-0.5 && at <= width-right+0.5 {
			fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%g" text-anchor="middle">%s</text>`, at,
				height-bottom+16, short(tick))
		}
	}
	fmt.Fprintf(b, `<line class="axis" x1="%g" y1="%g" x2="%g" y2="%[2]g"/>`, left, height-bottom,
		width-right)
	fmt.Fprintf(b, `<text class="label" x="%g" y="%g" text-anchor="middle">%s</text>`,
		(left+width-right)/2, height-6, template.HTMLEscapeString(c.X))
	middle := (top + height - bottom) / 2
	fmt.Fprintf(b,
		`<text class="label" transform="translate(11 %g) rotate(-90)" text-anchor="middle">%s</text>`, middle,
		template.HTMLEscapeString(c.Y))
}

// line draws a series as a line, with its intervals and dots.
func (c *Chart) line(b *strings.Builder, s Series, index int, x, y scale) {
	class := seriesClass(index)
	fmt.Fprintf(b, `<g class="%s"><polyline points="`, class)
	for _, p := range s.Points {
		if p.finite() {
			fmt.Fprintf(b, "%.1f,%.1f ", x.at(p.X), y.at(p.Y))
		}
	}
	fmt.Fprintf(b, `"><title>%s</title></polyline>`, template.HTMLEscapeString(s.Name))
	for _, p := range s.Points {
		if !p.finite() || !c.Dots {
			continue
		}
		if p.Low != p.High {
			fmt.Fprintf(b, `<line class="interval" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x.at(p.X),
				y.at(p.Low), x.at(p.X), y.at(p.High))
		}
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5">%s</circle>`, x.at(p.X), y.at(p.Y),
			note(p, c.X, c.Y))
	}
	b.WriteString("</g>")
}

// bars draws a series as bars.
func (c *Chart) bars(b *strings.Builder, s Series, x, y scale) {
	b.WriteString(`<g class="bars">`)
	gap := 1.0
	if x.at(2*c.halfBar())-x.at(0) < 4 {
		gap = 0
	}
	for _, p := range s.Points {
		if !p.finite() {
			continue
		}
		from, to := x.at(p.X-c.halfBar()), x.at(p.X+c.halfBar())
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f">%s</rect>`, from+gap, y.at(p.Y),
			max(to-from-2*gap, 1), max(y.at(0)-y.at(p.Y), 0), note(p, c.X, c.Y))
	}
	b.WriteString("</g>")
}

// note returns the tooltip of a point.
func note(p Point, x, y string) string {
	text := p.Note
	if text == "" {
		text = fmt.Sprintf("%s %s; %s %s", x, number(p.X), y, number(p.Y))
	}
	return "<title>" + template.HTMLEscapeString(text) + "</title>"
}

// seriesClass returns the classes of the style sheet for a series.
func seriesClass(index int) string {
	class := fmt.Sprintf("series s%d", index%colours)
	if index >= colours {
		class += " dashed"
	}
	return class
}
