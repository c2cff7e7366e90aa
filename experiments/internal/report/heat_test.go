package report

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// sampleHeat returns two panels of two cells.
func sampleHeat() Figure {
	axis := HeatAxis{Label: "share", Ticks: []float64{0.1}, Low: 0.01, High: 1}
	cells := []HeatCell{
		{XLow: 0.01, XHigh: 0.1, YLow: 1, YHigh: 3, Value: 0.5, Text: "low"},
		{XLow: 0.1, XHigh: 1, YLow: 1, YHigh: 3, Value: 5, Text: "high", Marked: true},
	}
	return Figure{Name: "heat", Title: "Heat", Heat: &Heat{
		Panels: []HeatPanel{
			{Title: "left", Cells: cells, Line: [][2]Point{{Exact(0.01, 2), Exact(0.1, 2)}}},
			{Title: "right", Cells: cells, Points: []HeatPoint{{Point: Exact(0.1, 2), Label: "here"}}},
		},
		Columns: 2, X: axis, Y: HeatAxis{Label: "delay", Ticks: []float64{1, 3}, Low: 1, High: 3},
		Levels: []float64{1, 2}, Label: "loss", Mark: "certain", Series: []string{"a column"},
		Line: "a limit",
	}}
}

func TestHeatNamesEverything(t *testing.T) {
	got := labels(t, sampleHeat())
	for _, want := range []string{
		"Heat", "left", "right", "share", "delay", "0.1", "3", "low", "high", "here", "loss", "below 1",
		"1 to 2",
		"2 and above", "certain", "a column", "a limit",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no label %q in the figure, which has %q", want, got)
		}
	}
}

// A reader without colours must see the order: every shade is darker than the one before, by at least a
// twentieth of the range, and text on it has contrast.
func TestShadesGetDarker(t *testing.T) {
	lightness := func(r, g, b uint8) float64 {
		return (0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)) / 255
	}
	list := shades()
	for i, s := range list {
		now := lightness(s.R, s.G, s.B)
		if i > 0 && now > lightness(list[i-1].R, list[i-1].G, list[i-1].B)-0.05 {
			t.Errorf("shade %d is not darker than the one before", i)
		}
		r, _, _, _ := ink(i).RGBA()
		if contrast := float64(r)/0xffff - now; contrast < 0.35 && contrast > -0.35 {
			t.Errorf("text on shade %d has a contrast of %.2f", i, contrast)
		}
	}
}

// A value at a level has the colour above it, and both cells of the sample have their own.
func TestCellsHaveTheColorOfTheirLevel(t *testing.T) {
	h := sampleHeat().Heat
	for v, want := range map[float64]int{-1: 0, 0.99: 0, 1: 1, 1.99: 1, 2: 2, 100: 2} {
		if got := h.shade(v); got != want {
			t.Errorf("%v has shade %d, want %d", v, got, want)
		}
	}
	var canvas recorder.Canvas
	width, height := sampleHeat().size()
	if err := sampleHeat().draw(draw.NewCanvas(&canvas, width, height)); err != nil {
		t.Fatal(err)
	}
	seen := map[any]int{}
	for _, action := range canvas.Actions {
		if c, ok := action.(*recorder.SetColor); ok {
			seen[c.Color]++
		}
	}
	for _, i := range []int{0, 2} {
		if seen[shades()[i]] < 3 { // two panels and the key
			t.Errorf("shade %d is set %d times, want 3", i, seen[shades()[i]])
		}
	}
}

// Labels of points at one place are above each other.
func TestLabelsDoNotOverlap(t *testing.T) {
	f := sampleHeat()
	f.Heat.Panels[0].Points = []HeatPoint{
		{Point: Exact(0.1, 2), Label: "one"}, {Point: Exact(0.1, 2), Label: "two"},
		{Point: Exact(0.1, 2), Label: "three"},
	}
	var canvas recorder.Canvas
	width, height := f.size()
	if err := f.draw(draw.NewCanvas(&canvas, width, height)); err != nil {
		t.Fatal(err)
	}
	var heights []vg.Length
	for _, action := range canvas.Actions {
		if a, ok := action.(*recorder.FillString); ok &&
			slices.Contains([]string{"one", "two", "three"}, a.String) {
			heights = append(heights, a.Point.Y)
		}
	}
	if len(heights) != 3 || heights[1]-heights[0] < vg.Points(10) || heights[2]-heights[1] < vg.Points(10) {
		t.Errorf("labels at heights %v", heights)
	}
}

func TestHeatIsWrittenAsPNGAndSVG(t *testing.T) {
	png, err := sampleHeat().PNG()
	if err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("a PNG of %d bytes, %v", len(png), err)
	}
	svg, err := sampleHeat().SVG()
	if err != nil || strings.Contains(string(svg), "<text") {
		t.Errorf("the drawing depends on fonts, or %v", err)
	}
}
