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

// Persia's store stands beside lookups and updates of uniform ids on one core, of the sizes that were
// measured with it, as times of a row.
func TestPersia(t *testing.T) {
	p, err := newPlan(report.Options{Seeds: 5}, newChoice())
	if err != nil {
		t.Fatal(err)
	}
	var results []*result
	for _, c := range p.Cases {
		if c.Rows != nil { // 0.61 µs a row
			seconds := 0.61e-6 * float64(c.Batch*slots)
			results = append(results, &result{testCase: c, Tandem: []float64{seconds}})
		}
	}
	var rows [][]string
	for _, table := range p.tables(results) {
		if strings.Contains(table.Caption, "Persia's own store") {
			rows = append(rows, table.Rows...)
		}
	}
	if len(rows) != 2*len(persiaTimes()) {
		t.Fatalf("%d rows, want a lookup and an update of each size", len(rows))
	}
	want := "1 M 32 uniform 4096 1 0.610 1.220 2.00 ok (≥ 1)"
	if got := strings.Join(rows[1], " "); got != want {
		t.Errorf("row %s, want %s", got, want)
	}
	for i := range results {
		results[i].Tandem[0] *= 3
	}
	missed := strings.Join(p.findings(results), "\n")
	if !strings.Contains(missed, "Missed by 5 of 6: lookups, 1 × Persia's store. Lowest: lookup, 1 M × 16") {
		t.Errorf("findings\n%s", missed)
	}
}
