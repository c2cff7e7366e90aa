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

	"tandem/internal/cli"
)

func sample() *Report {
	return &Report{
		Name: "sample", Question: "Is 1 < 2?", Command: "go run ./experiments sample",
		Findings: []string{"1 < 2 & so on"}, Notes: []string{"nothing else"},
		Tables: []cli.Table{{
			Caption: "Rates", Header: []string{"arm", "rate (samples/s)"}, Words: 1,
			Rows: [][]string{{"a", "10"}, {"a longer name that must not be wrapped at any width", "9"}},
		}},
		Figures: []Figure{{
			Name: "rates", Title: "Rates", X: Axis{Label: "τ (steps)", Ticks: []float64{0, 3}, LogPlusOne: true}, Y: Axis{Label: "samples/s"},
			Lines: []Line{
				{Name: "measured", Points: []Point{{0, 1, 0.5, 1.5}, Exact(3, 2)}},
				{Name: "limit", Guide: true, Points: []Point{Exact(0, 3), Exact(3, 3)}},
			},
		}},
		Settings: map[string]int{"rows": 7}, Data: map[string]float64{"rate": 10},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Wall: 61 * time.Second,
	}
}

// Headers stay as written, words stand left, numbers right.
func TestTableText(t *testing.T) {
	var out bytes.Buffer
	if err := sample().Tables[0].WriteText(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
┌─────────────────────────────────────────────────────┬──────────────────┐
│ arm                                                 │ rate (samples/s) │
├─────────────────────────────────────────────────────┼──────────────────┤
│ a                                                   │               10 │
│ a longer name that must not be wrapped at any width │                9 │
└─────────────────────────────────────────────────────┴──────────────────┘
`, "\n")
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
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
	if got := strings.Join(names, " "); got != "rates.png rates.svg report.html sample.json settings.yaml" {
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
	if document.Data["rate"] != 10 || document.WallS != 61 || document.Environment.CPUs < 1 || document.Environment.Commit == "" {
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

// The page needs nothing but itself, and text cannot break out of it.
func TestPageIsSelfContained(t *testing.T) {
	r := sample()
	page, err := r.page([]byte("rows: <7>\n"), [][]byte{[]byte("picture")})
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if found := regexp.MustCompile(`(src|href)="[^"]*"`).FindAllString(text, -1); len(found) != 1 || !strings.Contains(found[0], "data:image/png;base64,cGljdHVyZQ==") {
		t.Errorf("links %q, want the one inlined picture", found)
	}
	for _, want := range []string{"1 &lt; 2 &amp; so on", "rows: &lt;7&gt;", "go run ./experiments sample", "2026-01-02 03:04:05 UTC", "1m1s",
		`<td class="word">a</td><td>10</td>`, "nothing else"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the page", want)
		}
	}
}

// A figure names its axes and lines, and no font that a machine may lack
// without another in its place.
func TestSVG(t *testing.T) {
	drawing, err := sample().Figures[0].SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">Rates<", ">τ (steps)<", ">samples/s<", ">measured<", ">limit<", ">3<"} {
		if !bytes.Contains(drawing, []byte(want)) {
			t.Errorf("no %q in the drawing", want)
		}
	}
	if bytes.Contains(drawing, []byte("Liberation Sans;")) {
		t.Error("a font without fallback")
	}
}

// Bars are named at the axis, and make a figure as high as they need.
func TestBars(t *testing.T) {
	f := Figure{Name: "ratios", Title: "Ratios", X: Axis{Label: "rate ÷ rate"}}
	for i := range 40 {
		f.Bars = append(f.Bars, Bar{Name: fmt.Sprintf("case %d", i), Color: i / 20, Value: 0.2 + float64(i)/4, Low: 0.1, High: 12, Wanted: 5})
	}
	drawing, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">case 0<", ">case 39<", ">×1<", ">×10<", ">rate ÷ rate<"} {
		if !bytes.Contains(drawing, []byte(want)) {
			t.Errorf("no %q in the drawing", want)
		}
	}
	picture, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	if shape, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || shape.Height <= 5*figureDPI {
		t.Errorf("picture %+v, error %v, want it higher than the usual", shape, err)
	}
}
