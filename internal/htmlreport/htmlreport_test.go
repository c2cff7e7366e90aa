package htmlreport

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/internal/cli"
)

// attribute returns an attribute as a number.
func attribute(t *rapid.T, e xml.StartElement, name string) float64 {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			x, err := strconv.ParseFloat(a.Value, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("%s of %s is %q", name, e.Name.Local, a.Value)
			}
			return x
		}
	}
	t.Fatalf("%s has no %s", e.Name.Local, name)
	return 0
}

// For all values, a chart is well-formed XML, every mark lies within its frame, and there is a dot for every
// point that is finite.
func TestMarksLieWithinTheFrame(t *testing.T) {
	value := rapid.OneOf(rapid.Float64Range(-1e12, 1e12), rapid.Float64Range(-1, 1),
		rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 1e-30}))
	rapid.Check(t, func(t *rapid.T) {
		c := Chart{Title: `<"&'>`, X: "<x>", Y: "&", Dots: true, FromZero: rapid.Bool().Draw(t, "from zero"),
			Small: rapid.Bool().Draw(t, "small")}
		finite := 0
		for s := range rapid.IntRange(0, 10).Draw(t, "series") {
			series := Series{Name: fmt.Sprint("<", s)}
			for range rapid.IntRange(0, 5).Draw(t, "points") {
				p := Point{X: value.Draw(t, "x"), Y: value.Draw(t, "y")}
				if p.finite() {
					finite++
				}
				series.Points = append(series.Points, p)
			}
			c.Series = append(c.Series, series)
		}
		width, height := c.size()
		dots := 0
		decoder := xml.NewDecoder(strings.NewReader(string(c.SVG())))
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			e, ok := token.(xml.StartElement)
			if !ok || e.Name.Local != "circle" {
				continue
			}
			dots++
			x, y := attribute(t, e, "cx"), attribute(t, e, "cy")
			if x < left-0.1 || x > width-right+0.1 || y < top-0.1 || y > height-bottom+0.1 {
				t.Fatalf("dot at %v, %v outside the frame", x, y)
			}
		}
		if dots != finite {
			t.Fatalf("%d dots of %d finite points", dots, finite)
		}
	})
}

// Bars have heights in proportion to their values, from a common base line.
func TestBars(t *testing.T) {
	c := Chart{Bars: true, Series: []Series{{Points: []Point{{X: 0, Y: 3}, {X: 1, Y: 6}, {X: 2, Y: 0}}}}}
	var heights, ends []float64
	for _, part := range strings.Split(string(c.SVG()), "<rect")[1:] {
		var x, y, width, height float64
		_, err := fmt.Sscanf(part, ` x="%f" y="%f" width="%f" height="%f"`, &x, &y, &width, &height)
		if err != nil {
			t.Fatal(err)
		}
		heights, ends = append(heights, height), append(ends, y+height)
	}
	if len(heights) != 3 || math.Abs(heights[1]-2*heights[0]) > 0.2 || heights[2] != 0 ||
		math.Abs(ends[0]-ends[1]) > 0.2 || math.Abs(ends[0]-ends[2]) > 0.2 {
		t.Errorf("heights %v, ends %v", heights, ends)
	}
}

// An interval is a line from its low to its high end through its point, which lies within the frame.
func TestIntervals(t *testing.T) {
	c := Chart{Dots: true, Series: []Series{{Points: []Point{{X: 0, Y: 2, Low: 1, High: 4}, {X: 1, Y: 3}}}}}
	text := string(c.SVG())
	if strings.Count(text, `class="interval"`) != 1 {
		t.Fatalf("not one interval: %s", text)
	}
	_, interval, _ := strings.Cut(text, `class="interval"`)
	var x1, y1, x2, y2, cx, cy float64
	if _, err := fmt.Sscanf(interval, ` x1="%f" y1="%f" x2="%f" y2="%f"/>`, &x1, &y1, &x2, &y2); err != nil {
		t.Fatal(err)
	}
	_, circle, _ := strings.Cut(interval, "<circle")
	if _, err := fmt.Sscanf(circle, ` cx="%f" cy="%f"`, &cx, &cy); err != nil {
		t.Fatal(err)
	}
	if x1 != cx || x2 != cx || math.Abs((y1-cy)-(cy-y2)/2) > 0.2 || y2 < top {
		t.Errorf("interval from %v, %v to %v, %v around %v, %v", x1, y1, x2, y2, cx, cy)
	}
}

// A page loads nothing, runs nothing, escapes what it shows, and leaves out empty sections and columns
// without values.
func TestPage(t *testing.T) {
	var text strings.Builder
	p := Page{Title: "a <b>", Lead: "lead", Sections: []Section{
		{Title: "Empty"},
		{Title: "Full", Text: []string{"1 < 2"}, Legend: []string{"sync"}, Charts: []Chart{{Title: "c",
			Series: []Series{{Name: "s", Points: []Point{{X: 1, Y: 2}, {X: 2, Y: 3}}}}}}, Code: "<script>",
			Tables: []cli.Table{{Header: []string{"mode", "kept", "dropped"}, Words: 1,
				Rows: [][]string{{"sync", "1", "–"}}}}},
	}}
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{"<script", "http:", "https:", "src=", "url(", "@import", "Empty",
		"dropped", "<b>", "ZgotmplZ"} {
		if strings.Contains(text.String(), refused) {
			t.Errorf("the page contains %q", refused)
		}
	}
	for _, wanted := range []string{"a &lt;b&gt;", "1 &lt; 2", "&lt;script&gt;", "<polyline", "kept",
		"prefers-color-scheme: dark"} {
		if !strings.Contains(text.String(), wanted) {
			t.Errorf("the page lacks %q", wanted)
		}
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.25: "0.25", 1234: "1,234", -1234567.5: "−1,234,567.5",
		2.5e-7: "2.5e−07", 0.1 + 0.2: "0.3"} {
		if got := number(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{9000: "9,000", 10000: "10k", 2500000: "2.5M", 0.5: "0.5"} {
		if got := short(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}

// Ticks are equally spaced multiples of 1, 2 or 5 times a power of ten, and cover the values.
func TestTicks(t *testing.T) {
	s := newScale(0.13, 0.87, 5, 0, 100)
	var ticks []string
	for _, tick := range s.ticks {
		ticks = append(ticks, number(tick))
	}
	if fmt.Sprint(ticks) != "[0 0.2 0.4 0.6 0.8 1]" || s.at(0.5) != 50 {
		t.Errorf("ticks %v", ticks)
	}
}
