package auctable

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/tune"
)

// smallReal returns a plan of two data sets and one candidate.
func smallReal() *plan {
	p := realPlan(true)
	p.Sets = []set{{report.AdultIncome(), 128, true}, {report.Generated(0.1, 200, 200), 8, true}}
	p.Rates = tune.Plan{Rows: []float64{0.1}, Dense: []float64{0.003}, Seeds: tune.SeedsMin}
	p.Seed, p.Seeds = 1, 5
	return p
}

// The arm of hot rows is hybrid at its own rates with the rows that the job chooses, and nothing else.
func TestHotRowsAreHybridWithHotRows(t *testing.T) {
	p := smallReal()
	plain, hot := p.job(p.Sets[0], job.Hybrid, 3), p.job(p.Sets[0], hotRows, 3)
	if !hot.Rows.Hot.Auto || plain.Rows.Hot.Auto {
		t.Errorf("hot rows %+v, of hybrid %+v", hot.Rows.Hot, plain.Rows.Hot)
	}
	if hot.Rows.Hot = plain.Rows.Hot; hot.Training.Mode != job.Hybrid || hot.Training.Seed != 3 {
		t.Errorf("mode %s, seed %d", hot.Training.Mode, hot.Training.Seed)
	}
	if !simulated(hotRows) {
		t.Error("hot rows are trained in sequence")
	}
}

// With as many rows as are needed, half the interval by their luck is the margin of equivalence.
func TestRowsNeededLeaveTheMargin(t *testing.T) {
	for _, deviation := range []float64{0.0001, 0.0005, 0.003} {
		rows := rowsNeeded(deviation, 2000)
		half := 1.96 * deviation * math.Sqrt(2000/float64(rows))
		if math.Abs(half-0.001) > 1e-5 {
			t.Errorf("%d rows leave ±%v for a deviation of %v with 2000", rows, half, deviation)
		}
	}
}

// The report has a line for every data set and says where its rows are too few. The lab gives hybrid and hot
// rows 0.004 less than sync, and a deviation by the rows alone.
func TestReportSaysHowManyRowsAreNeeded(t *testing.T) {
	p := smallReal()
	results, err := p.measure(t.Context(), &fake{})
	if err != nil {
		t.Fatal(err)
	}
	results[1].Effects[0].Own.RowDeviation = 0.002
	results[0].Effects[0].Own.RowDeviation = 0.0001
	made := p.reportReal(results)
	table := made.Tables[0]
	if got := table.Rows[1][5]; len(table.Rows) != 2 || got != "15,366" { // 1,000 × (1.96 × 2)²
		t.Errorf("%q needed of %d lines", got, len(table.Rows))
	}
	const want = "Test rows are enough for ±0.001 on adult-income; too few on α = 0.1 15,366 for 1,000."
	if last := made.Findings[len(made.Findings)-1]; last != want {
		t.Errorf("finding %q, want %q", last, want)
	}
	if !strings.Contains(made.Findings[1], "hot-rows − sync") {
		t.Errorf("finding %q", made.Findings[1])
	}
	reporttest.CheckWidth(t, made)
}
