package htmlreport

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"unicode/utf8"
)

// Gantt is a figure of what stations did over time: a row for each, with a bar for every piece of work.
type Gantt struct {
	Title string
	X     string // what the axis shows, with its unit
	Rows  []GanttRow
	// Low and High are the ends of the axis. Bars are cut off there.
	Low, High float64
}

// GanttRow is one row of a Gantt chart.
type GanttRow struct {
	Name string
	Bars []GanttBar
}

// GanttBar is one piece of work. Colour is the place of its colour among those of series, or −1 for grey.
type GanttBar struct {
	From, To float64
	Name     string // written on the bar where it has room
	Colour   int
	Note     string // shown where the pointer rests on the bar
}

// The size of a Gantt chart.
const (
	ganttWidth = 980.0
	ganttLeft  = 236.0
	ganttRow   = 22.0
	ganttBar   = 16.0
	letter     = 5.6 // about the width of one on a bar
)

// SVG returns the chart as an SVG element that takes its colours from the page.
func (g *Gantt) SVG() template.HTML {
	if len(g.Rows) == 0 || !(g.High > g.Low) {
		return `<p class="quiet">There is nothing to show.</p>`
	}
	foot := top + ganttRow*float64(len(g.Rows))
	x := newScale(g.Low, g.High, 10, ganttLeft, ganttWidth-right)
	x.low, x.high = g.Low, g.High // bars fill the width, so the ends are no ticks
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, ganttWidth, foot+bottom,
		template.HTMLEscapeString(g.Title))
	x.below(&b, foot, g.X)
	for i, row := range g.Rows {
		y := top + ganttRow*float64(i)
		fmt.Fprintf(&b, `<text class="tick" x="%g" y="%g" text-anchor="end">%s</text>`, ganttLeft-8,
			y+ganttRow/2+4, template.HTMLEscapeString(row.Name))
		for _, bar := range row.Bars {
			bar.write(&b, x, y+(ganttRow-ganttBar)/2)
		}
	}
	fmt.Fprintf(&b, `<line class="axis" x1="%g" y1="%g" x2="%g" y2="%[2]g"/></svg>`, ganttLeft, foot,
		ganttWidth-right)
	return template.HTML(b.String())
}

// write draws a bar with its upper edge at y.
func (bar *GanttBar) write(b *strings.Builder, x scale, y float64) {
	from, to := max(bar.From, x.low), min(bar.To, x.high)
	if !(to > from) || math.IsInf(to-from, 0) {
		return
	}
	class := "other"
	if bar.Colour >= 0 {
		class = seriesClass(bar.Colour)
	}
	start, width := x.at(from), x.at(to)-x.at(from)
	fmt.Fprintf(b, `<g class="gantt %s"><rect x="%.2f" y="%.1f" width="%.2f" height="%g">`, class, start, y,
		max(width, 0.3), ganttBar)
	fmt.Fprintf(b, "<title>%s</title></rect>", template.HTMLEscapeString(bar.Note))
	if float64(utf8.RuneCountInString(bar.Name))*letter < width-4 {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, start+width/2,
			y+ganttBar-4.5, template.HTMLEscapeString(bar.Name))
	}
	b.WriteString("</g>")
}
