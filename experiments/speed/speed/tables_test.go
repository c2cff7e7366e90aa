package speed

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tandem/experiments/internal/report"
	"tandem/runtime/train"
)

// All tables of the full version fit in 80 columns, and every case is in one of them.
func TestTablesFit(t *testing.T) {
	p, err := newPlan(report.Options{Seeds: 5}, newChoice())
	if err != nil {
		t.Fatal(err)
	}
	var results []*result
	for _, c := range p.Cases {
		seconds := []float64{float64(c.Batch) / 4e5}
		r := &result{testCase: c, Tandem: seconds, RowOverhead: 123.4, Alone: true}
		for i, peer := range comparisons() {
			if peer.has(&c) {
				*peer.seconds(r) = []float64{seconds[0] / []float64{1, 10}[i]}
			}
		}
		if c.Kind == kindTrain {
			r.Share = &train.Share{SamplesPerSecond: 300_000, Bound: 900_000}
		} else {
			r.Limit = seconds
		}
		results = append(results, r)
	}
	rows := 0
	for _, table := range p.tables(results) {
		rows += len(table.Rows)
		var text strings.Builder
		if err := table.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(text.String(), "\n")
		if width := utf8.RuneCountInString(line); width > 80 {
			t.Errorf("%s: %d columns\n%s", table.Caption, width, text.String())
		}
	}
	if rows < len(results) {
		t.Errorf("%d rows of tables for %d cases", rows, len(results))
	}
}

// Many cases that miss a target take one sentence, with the worst of them.
func TestFindings(t *testing.T) {
	var results []*result
	for _, seconds := range []float64{1, 2, 4, 0.1} {
		c := testCase{Kind: kindSparse, Batch: int(8 * seconds), Threads: 1, Target: targetSparse,
			Rows: newRows(million, 16, uniform)}
		results = append(results, &result{testCase: c, Tandem: []float64{seconds}, FBGEMM: []float64{2}})
	}
	want := []string{"2 of 4 targets are reached.",
		"Missed by 2 of 4: sparse steps with Adagrad, 2 × FBGEMM. Lowest: sparse step, 1 M × 16, uniform, " +
			"batch 32, 1 core: 0.50 (0.50–0.50) ×."}
	if got := (&plan{}).findings(results); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("findings\n%s", strings.Join(got, "\n"))
	}
}
