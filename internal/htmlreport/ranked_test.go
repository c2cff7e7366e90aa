package htmlreport

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// For all values, the figure is well-formed XML, every mark lies within its frame, and there is a dot for
// every value that is finite.
func TestRankedMarksLieWithinTheFrame(t *testing.T) {
	value := rapid.OneOf(rapid.Float64Range(-1e12, 1e12), rapid.Float64Range(-1, 1),
		rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), 1e-30}))
	rapid.Check(t, func(t *rapid.T) {
		r := Ranked{Title: `<"&'>`, X: "<x>"}
		finite := 0
		for i := range rapid.IntRange(0, 12).Draw(t, "values") {
			v := RankedValue{Name: fmt.Sprint("<", strings.Repeat("ä", i*4)), Value: value.Draw(t, "value")}
			if (Point{X: v.Value}).finite() {
				finite++
				v.Low, v.High = v.Value-rapid.Float64Range(0, 2).Draw(t, "half"), v.Value+1
			}
			r.Values = append(r.Values, v)
		}
		if rapid.Bool().Draw(t, "reference") {
			x := rapid.Float64Range(-1, 1).Draw(t, "at")
			r.Reference = &x
		}
		dots := 0
		decoder := xml.NewDecoder(strings.NewReader(string(r.SVG())))
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			e, ok := token.(xml.StartElement)
			if !ok || e.Name.Local != "circle" && e.Name.Local != "line" {
				continue
			}
			names := [][2]string{{"x1", "y1"}, {"x2", "y2"}}
			if e.Name.Local == "circle" {
				dots++
				names = [][2]string{{"cx", "cy"}}
			}
			for _, n := range names {
				x, y := attribute(t, e, n[0]), attribute(t, e, n[1])
				if x < nameWidth-0.1 || x > wideWidth-right+0.1 || y < top ||
					y > top+lineHeight*float64(len(r.Values)) {
					t.Fatalf("%s at %v, %v", e.Name.Local, x, y)
				}
			}
		}
		if dots != finite {
			t.Fatalf("%d dots of %d values", dots, finite)
		}
	})
}

// A dot lies where its value is between the ticks, in the middle of its interval; grid and reference stand
// from the top to the foot.
func TestRankedByHand(t *testing.T) {
	reference := 0.5
	text := string((&Ranked{Values: []RankedValue{
		{Name: "a long name of more than 22 characters", Value: 0.25, Low: 0, High: 0.5},
		{Name: "b", Value: 1, Note: "noted"},
	}, Reference: &reference}).SVG())
	// The axis runs from 0 to 1, between 150 and 446.
	for _, wanted := range []string{
		`<line class="interval" x1="150.0" y1="20.0" x2="298.0" y2="20.0"/>`, `<circle cx="224.0" cy="20.0"`,
		`<circle cx="446.0" cy="40.0" r="3.5"><title>noted</title>`,
		`<line class="diagonal" x1="298.0" y1="10" x2="298.0" y2="50"/>`,
		`<line class="grid" x1="150.0" y1="10" x2="150.0" y2="50"/>`,
		`>a long name of more t…<title>a long name of more than 22 characters</title>`,
		`<title>a long name of more than 22 characters: 0.25</title>`,
	} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the figure lacks %s:\n%s", wanted, text)
		}
	}
	if got := (&Ranked{}).SVG(); got != noValues {
		t.Errorf("%s without values", got)
	}
}
