package htmlreport

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"

	"tandem/internal/cli"
)

// Ranked are named values, one below the other, as dots with intervals on a common axis.
type Ranked struct {
	Title  string
	X      string // what the axis shows, with its unit
	Values []RankedValue
	// Reference, if not nil, is where a dashed line stands. The axis contains it.
	Reference *float64
}

// RankedValue is a line of a Ranked. Low and High are the ends of its interval, or both 0 for none.
type RankedValue struct {
	Name      string
	Value     float64
	Low, High float64
	Note      string // shown where the pointer rests on the dot
}

// The size of a Ranked, in the units of charts. A name has nameWidth, in which nameRunes characters fit.
const (
	nameWidth, nameRunes = 150.0, 22
	lineHeight           = 20.0
)

// SVG returns the values as an SVG element that takes its colours from the page.
func (r *Ranked) SVG() template.HTML {
	// A chart with the same marks has the axis.
	around := Chart{Series: []Series{{}}}
	points := &around.Series[0].Points
	for _, v := range r.Values {
		*points = append(*points, Point{X: v.Value})
		if v.Low != v.High {
			*points = append(*points, Point{X: v.Low}, Point{X: v.High})
		}
	}
	if r.Reference != nil {
		*points = append(*points, Point{X: *r.Reference})
	}
	x, _, ok := around.scales()
	if !ok {
		return noValues
	}
	x = newScale(x.low, x.high, 5, nameWidth, wideWidth-right)
	foot := top + lineHeight*float64(len(r.Values))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, wideWidth, foot+bottom,
		template.HTMLEscapeString(r.Title))
	x.below(&b, foot, r.X)
	if r.Reference != nil {
		fmt.Fprintf(&b, `<line class="diagonal" x1="%.1f" y1="%g" x2="%.1[1]f" y2="%[3]g"/>`,
			x.at(*r.Reference), top, foot)
	}
	b.WriteString(`<g class="` + seriesClass(0) + `">`)
	for i, v := range r.Values {
		r.line(&b, v, x, top+lineHeight*(float64(i)+0.5))
	}
	b.WriteString("</g></svg>")
	return template.HTML(b.String())
}

// line draws a value at a height. A long name ends in an ellipsis, and stands in the note.
func (r *Ranked) line(b *strings.Builder, v RankedValue, x scale, y float64) {
	fmt.Fprintf(b, `<text class="name" x="%g" y="%.1f" text-anchor="end">%s<title>%s</title></text>`,
		nameWidth-10, y+4, template.HTMLEscapeString(cli.Cut(v.Name, nameRunes)),
		template.HTMLEscapeString(v.Name))
	if !(Point{X: v.Value}).finite() {
		return
	}
	if v.Low != v.High {
		fmt.Fprintf(b, `<line class="interval" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1[2]f"/>`, x.at(v.Low), y,
			x.at(v.High))
	}
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5">%s</circle>`, x.at(v.Value), y,
		"<title>"+template.HTMLEscapeString(cmp.Or(v.Note, v.Name+": "+number(v.Value)))+"</title>")
}
