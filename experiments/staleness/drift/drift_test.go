package drift

import (
	"testing"

	"tandem/experiments/internal/report"
)

// On the rows that follow its training, the static model is the daily one of that day; before, it is not
// there yet. With ids that all change every day, old models know no id, and the online one is better.
func TestModelsDifferInAgeAlone(t *testing.T) {
	p := &plan{Seed: 1, Seeds: 2, Drifts: []float64{1}, Days: 4, StaticDays: 2, RowsPerDay: 1600, Blocks: 10,
		Steps: 5}
	courses, err := p.measure(t.Context(), report.Options{Folder: t.TempDir(),
		Progress: func(int, int, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range courses {
		if c.Days[2][1] != c.Days[2][2] || c.Days[3][1] == c.Days[3][2] || c.Days[1][1] != c.Days[1][2] {
			t.Errorf("days %v", c.Days)
		}
	}
	online, static := p.quality(courses, 0), p.quality(courses, 2)
	for i := range online.AUC {
		if online.AUC[i] <= static.AUC[i] || online.LogLoss[i] >= static.LogLoss[i] {
			t.Errorf("seed %d: %v online, %v static", i, online, static)
		}
	}
	if r := p.draw(courses); len(r.Comparisons) != 2 || len(r.Figures[0].Lines) != 3 {
		t.Errorf("%d comparisons", len(r.Comparisons))
	}
}
