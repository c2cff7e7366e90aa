package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"tandem/internal/cli"
)

func sample() *Report {
	return &Report{
		Name: "sample", Question: "Is 1 < 2?", Command: "go run ./experiments sample",
		Findings: []string{"1 < 2 & so on"}, Notes: []string{"nothing else"},
		Tables: []cli.Table{{
			Caption: "Rates", Header: []string{"case", "rate (samples/s)"}, Words: 1,
			Rows: [][]string{{"a", "10"}, {"a longer name that must not be wrapped at any width", "9"}},
		}},
		Figures: []Figure{{
			Name: "rates", Title: "Rates", Y: Axis{Label: "samples/s"},
			X: Axis{Label: "τ (steps)", Ticks: []float64{0, 3}, LogPlusOne: true},
			Lines: []Line{
				{Name: "measured", Points: []Point{{0, 1, 0.5, 1.5}, Exact(3, 2)}},
				{Name: "limit", Guide: true, Points: []Point{Exact(0, 3), Exact(3, 3)}},
			},
		}},
		Settings: map[string]int{"rows": 7}, Data: map[string]float64{"rate": 10},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Wall: 61 * time.Second,
	}
}

// Headers are not reformatted, words are left-aligned, numbers right-aligned.
func TestTableText(t *testing.T) {
	var out bytes.Buffer
	if err := sample().Tables[0].WriteText(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
┌─────────────────────────────────────────────────────┬──────────────────┐
│ case                                                │ rate (samples/s) │
├─────────────────────────────────────────────────────┼──────────────────┤
│ a                                                   │               10 │
│ a longer name that must not be wrapped at any width │                9 │
└─────────────────────────────────────────────────────┴──────────────────┘
`, "\n")
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// Sentences are wrapped at 80 columns where there is no terminal.
func TestTextIsWrapped(t *testing.T) {
	r := sample()
	long := strings.TrimSpace(strings.Repeat("word ", 40))
	r.Question, r.Findings, r.Notes, r.Tables[0].Caption = long, []string{long}, []string{long}, long
	var out strings.Builder
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len([]rune(line)) > 81 { // with its newline
			t.Errorf("%d columns: %s", len([]rune(line))-1, line)
		}
	}
	if text := out.String(); !strings.Contains(text, "\nFindings\n  - word") ||
		strings.Count(text, "\n    word") < 4 {
		t.Errorf("text %s", text)
	}
}

func TestFolderOfReport(t *testing.T) {
	folder := t.TempDir()
	if err := sample().WriteFolder(folder); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	const want = "rates.png rates.svg report.html sample.json settings.yaml table-1.csv"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("files %s", got)
	}
	var document struct {
		Data        map[string]float64
		Environment cli.Environment
		WallS       float64 `json:"wall_s"`
	}
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if err := json.Unmarshal(read("sample.json"), &document); err != nil {
		t.Fatal(err)
	}
	environment := document.Environment
	if document.Data["rate"] != 10 || document.WallS != 61 || environment.CPUs < 1 ||
		environment.Commit == "" {
		t.Errorf("document %+v", document)
	}
	if got := string(read("settings.yaml")); got != "rows: 7\n" {
		t.Errorf("settings %q", got)
	}
	picture, err := png.DecodeConfig(bytes.NewReader(read("rates.png")))
	if err != nil || picture.Width != 9*figureDPI || picture.Height != 5*figureDPI {
		t.Errorf("picture %+v, error %v", picture, err)
	}
}

// The page refers to no other file, and text is escaped.
func TestPageIsSelfContained(t *testing.T) {
	r := sample()
	page, err := r.page([]byte("rows: <7>\n"), [][]byte{[]byte("picture")})
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	links := regexp.MustCompile(`(src|href)="[^"]*"`).FindAllString(text, -1)
	if len(links) != 1 || !strings.Contains(links[0], "data:image/png;base64,cGljdHVyZQ==") {
		t.Errorf("links %q, want one inlined picture", links)
	}
	for _, want := range []string{
		"1 &lt; 2 &amp; so on", "rows: &lt;7&gt;", "go run ./experiments sample", "2026-01-02 03:04:05 UTC",
		"1m1s", `<td class="word">a</td><td>10</td>`, "nothing else",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the page", want)
		}
	}
}

// labels returns the strings that a figure draws, each followed by a newline.
func labels(t *testing.T, f Figure) string {
	t.Helper()
	var canvas recorder.Canvas
	width, height := f.size()
	if err := f.draw(draw.NewCanvas(&canvas, width, height)); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, action := range canvas.Actions {
		if label, ok := action.(*recorder.FillString); ok {
			text.WriteString(label.String + "\n")
		}
	}
	return text.String()
}

func TestFigureNamesAxesAndLines(t *testing.T) {
	got := labels(t, sample().Figures[0])
	for _, want := range []string{"Rates", "τ (steps)", "samples/s", "measured", "limit", "3"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no label %q in the figure, which has %q", want, got)
		}
	}
}

// Drawings have no text elements, which depend on the fonts of the machine that shows them. The test checks
// new drawings and those in the README.
func TestSVGNeedsNoFonts(t *testing.T) {
	drawings := map[string][]byte{}
	for _, path := range []string{
		"../../speed/speed/quick.svg", "../../staleness/staleness/full.svg",
		"../../fidelity/peers/full.svg",
	} {
		drawing, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		drawings[path] = drawing
	}
	lines := sample().Figures[0]
	bars := Figure{Name: "bars", Title: "Bars", Bars: []Bar{{Name: "a", Value: 2}}}
	for _, f := range []Figure{lines, bars} {
		drawing, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		drawings[f.Name] = drawing
	}
	for name, drawing := range drawings {
		for _, banned := range []string{"<text", "<tspan", "font", "@import", "<style"} {
			if bytes.Contains(drawing, []byte(banned)) {
				t.Errorf("%s: the drawing contains %q", name, banned)
			}
		}
	}
}

// The outline of a text is as wide as the layout expects, and the hole of a glyph is a closed curve.
func TestOutline(t *testing.T) {
	for _, text := range []string{"o", "AVAV", "τ ± 2·10⁻³ ÷ ×½ −α Δ"} {
		face := font.DefaultCache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Points(100))
		right, closed := vg.Length(0), 0
		for _, part := range outline(face, vg.Point{X: 7, Y: 3}, text) {
			if part.Type == vg.CloseComp {
				closed++
			}
			right = max(right, part.Pos.X)
		}
		if width := face.Width(text); right < 7+0.9*width || right > 7+1.05*width {
			t.Errorf("%q ends at %v, want about %v", text, right, 7+width)
		}
		if text == "o" && closed != 2 {
			t.Errorf("%q has %d closed curves, want 2", text, closed)
		}
	}
}

// Bars have their names at the axis, and the height of a figure grows with their number.
func TestBars(t *testing.T) {
	f := Figure{Name: "ratios", Title: "Ratios", X: Axis{Label: "rate ÷ rate"}}
	for i := range 40 {
		name := fmt.Sprintf("case %d", i)
		f.Bars = append(f.Bars,
			Bar{Name: name, Color: i / 20, Value: 0.2 + float64(i)/4, Low: 0.1, High: 12, Target: 5})
	}
	got := labels(t, f)
	for _, want := range []string{"case 0", "case 39", "×1", "×10", "rate ÷ rate"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no label %q in the figure, which has %q", want, got)
		}
	}
	picture, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	if shape, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || shape.Height <= 5*figureDPI {
		t.Errorf("picture %+v, error %v, want more than the usual height", shape, err)
	}
}
