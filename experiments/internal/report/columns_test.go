package report

import (
	"math"
	"strings"
	"testing"
)

// columns returns two panels, of whose columns one is missing.
func columns(log bool) Figure {
	return Figure{Name: "columns", Title: "Throughput", Columns: &Columns{
		Y: "samples/s", Log: log, Series: []string{"ours", "another"},
		Marks: [2]string{"paper, digitised", "recalled"},
		Panels: []ColumnPanel{
			{Title: "Criteo", X: "GPUs", Groups: []ColumnGroup{{"1", []Column{{Value: 20, Low: 10, High: 45,
				Paper: 30, PaperLow: 29, PaperHigh: 31}}}}},
			{Title: "Avazu", X: "GPUs", Groups: []ColumnGroup{{"8", []Column{{Series: 1, Paper: 300,
				Open: true}}}}},
		},
	}}
}

// A figure of columns names panels, groups, series and marks, and says where a value of ours is missing.
func TestColumnsNameWhatTheyShow(t *testing.T) {
	for _, log := range []bool{false, true} {
		got := labels(t, columns(log))
		for _, want := range []string{"Throughput", "Criteo", "Avazu", "samples/s", "8", "ours", "another",
			"band: our interval", "paper, digitised", "recalled", "not run"} {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("no label %q in %q", want, got)
			}
		}
		if strings.Count(got, "not run\n") != 1 {
			t.Errorf("of two columns, one is missing: %q", got)
		}
	}
}

// All panels have one scale, which holds every value, and begins at 0 unless it is logarithmic.
func TestColumnsShareAScale(t *testing.T) {
	k := columns(false).Columns
	if low, high, ticks := k.scale(); low != 0 || high < 300 || ticks[0] != 0 {
		t.Errorf("from %v to %v, ticks %v", low, high, ticks)
	}
	k.Log = true
	if low, high, ticks := k.scale(); low != 1 || high != 3 || len(ticks) != 3 || ticks[1] != 100 {
		t.Errorf("from 10^%v to 10^%v, ticks %v", low, high, ticks)
	}
	if got := k.place(1000); math.Abs(got-3) > 1e-12 {
		t.Errorf("1000 is at %v", got)
	}
}

// Beside a paper's values a prediction has a band from its low to its high ends; without predictions, the
// values stand alone.
func TestBeside(t *testing.T) {
	theirs := []Point{Exact(1, 10), Exact(8, 60)}
	if lines := Beside("hybrid", 2, theirs, nil); len(lines) != 1 || !lines[0].Paper {
		t.Errorf("%+v", lines)
	}
	lines := Beside("hybrid", 2, theirs, []Point{{1, 9, 7, 12}, {8, 50, 40, 70}})
	band := lines[0]
	if len(lines) != 3 || !band.Area || len(band.Points) != 4 || band.Points[1].Y != 40 ||
		band.Points[2].Y != 70 || lines[1].Points[1] != Exact(8, 50) {
		t.Errorf("%+v", lines)
	}
	f := Figure{Name: "lines", Title: "Lines", Lines: lines}
	got := labels(t, f)
	if !strings.Contains(got, "hybrid, paper\n") || !strings.Contains(got, "hybrid, predicted\n") {
		t.Errorf("legend %q", got)
	}
}
