package htmlreport

import (
	"encoding/xml"
	"errors"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rects returns the x and the width of every bar of an SVG text, which must be well-formed.
func rects(t *testing.T, text string) (bars [][2]float64) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return bars
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "rect" {
			continue
		}
		var bar [2]float64
		for _, a := range e.Attr {
			for i, name := range []string{"x", "width"} {
				if a.Name.Local == name {
					if bar[i], err = strconv.ParseFloat(a.Value, 64); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		bars = append(bars, bar)
	}
}

// Bars are where their times say, cut off at the ends of the axis, and those outside are left out. A bar has
// its name only where there is room.
func TestGantt(t *testing.T) {
	g := Gantt{Title: `<"&'>`, X: "ms", Low: 10, High: 20, Rows: []GanttRow{{Name: "<a>", Bars: []GanttBar{
		{From: 0, To: 15, Name: "first", Note: "<&>"}, {From: 15, To: 15.1, Name: "no room", Colour: -1},
		{From: 18, To: 40, Colour: 3}, {From: 20, To: 30}, {From: 3, To: 4}}}}}
	text := string(g.SVG())
	bars := rects(t, text)
	unit := (ganttWidth - right - ganttLeft) / 10
	want := [][2]float64{{ganttLeft, 5 * unit}, {ganttLeft + 5*unit, unit / 10},
		{ganttLeft + 8*unit, 2 * unit}}
	if len(bars) != len(want) {
		t.Fatalf("%d bars: %v", len(bars), bars)
	}
	for i, bar := range bars {
		if d := bar[0] - want[i][0] + bar[1] - want[i][1]; d > 0.02 || d < -0.02 {
			t.Errorf("bar %d is %v, want %v", i, bar, want[i])
		}
	}
	if !strings.Contains(text, ">first<") || strings.Contains(text, ">no room<") {
		t.Error(text)
	}
	if empty := (&Gantt{}).SVG(); !strings.Contains(string(empty), "nothing to show") {
		t.Error(empty)
	}
}

// A figure in a file of its own is well-formed, has its colours written out and names its series.
func TestWriteFigure(t *testing.T) {
	c := Chart{Title: "c", Dots: true, Series: []Series{{Name: "<s>",
		Points: []Point{{X: 1, Y: 2}, {X: 2, Y: 3}}}}}
	g := Gantt{Title: "g", High: 1, Rows: []GanttRow{{Bars: []GanttBar{{To: 1, Name: "work"}}}}}
	name := filepath.Join(t.TempDir(), "figure.svg")
	for _, svg := range []template.HTML{c.SVG(), g.SVG()} {
		if err := WriteFigure(name, "title & more", svg, []string{"<s>"}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rects(t, string(text))
		rest := strings.Replace(string(text), "http://www.w3.org/2000/svg", "", 1)
		for _, refused := range []string{"var(", "http:", "NaN"} {
			if strings.Contains(rest, refused) {
				t.Errorf("%s: the file contains %q", svg[:20], refused)
			}
		}
		if !strings.Contains(rest, "&lt;s&gt;") || !strings.Contains(rest, "title &amp; more") {
			t.Errorf("%s", text)
		}
	}
	if WriteFigure(name, "none", (&Chart{}).SVG(), nil) == nil {
		t.Error("a figure of nothing was written")
	}
}
