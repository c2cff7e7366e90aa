package staleness

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"tandem/algo/histogram"
	"tandem/algo/metric"
	"tandem/experiments/report"
)

// handMade returns results of two hybrid variants with given AUCs under three seeds.
func handMade(testRows int) *dataSetResult {
	r := &dataSetResult{DataSet: "made", TestRows: testRows}
	for i, a := range tinyPlan().variants() {
		auc := [][]float64{
			{0.70, 0.72, 0.74}, {0.71, 0.73, 0.75}, {0.711, 0.729, 0.75}, {0.70, 0.71, 0.72},
		}[i]
		variant := &variantResult{Variant: a, AUC: auc, LogLoss: []float64{0.5, 0.5, 0.5}}
		if a.Tau != nil {
			variant.Own.AddCount(0, 3)
			variant.Own.Add(*a.Tau)
		}
		r.Variants = append(r.Variants, variant)
	}
	r.Effects = r.effects()
	r.compare()
	return r
}

// Student's t(0.975) at 2 degrees of freedom is 4.302653.
func TestEffectsAreMeansOfPairedDifferences(t *testing.T) {
	const few = "no difference found; 1000 test rows are too few to claim equivalence"
	r := handMade(1000)
	for i, want := range []struct {
		name           string
		estimate, half float64
		verdict        string
	}{
		// 0.01 under every seed, although AUC varies by 0.04 between seeds.
		{mergingEffect, 0.01, 0, "different"},
		// Differences 0.001, −0.001, 0: deviation 0.001, half 4.302653·0.001/√3.
		{stalenessEffect, 0, 4.302653 * 0.001 / math.Sqrt(3), few},
		// Differences −0.01, −0.02, −0.03: deviation 0.01.
		{stalenessEffect, -0.02, 4.302653 * 0.01 / math.Sqrt(3), few},
	} {
		e := r.Effects[i]
		half := (e.AUC.High - e.AUC.Low) / 2
		near := math.Abs(e.AUC.Estimate-want.estimate) < 1e-12 && math.Abs(half-want.half) < 1e-8
		if e.Name != want.name || !near || e.Verdict != want.verdict {
			t.Errorf("effect %d: %s %v ± %v, %s; want %+v", i, e.Name, e.AUC.Estimate, half, e.Verdict, want)
		}
	}
}

// Findings and notes state the same rule, for a million test rows and for fewer.
func TestVerdictsDependOnTestRows(t *testing.T) {
	for rows, want := range map[int]string{
		1_000_000: "merging per rank instead of per step: +0.00050 ± 0.00000 (equivalent).",
		999_999: "merging per rank instead of per step: +0.00050 ± 0.00000 (different, by less than " +
			"0.001).",
	} {
		r := handMade(rows)
		r.Variants[syncRank].AUC = []float64{0.7005, 0.7205, 0.7405} // 0.0005 above merge: step
		r.compare()
		report := tinyPlan().report([]*dataSetResult{r})
		if got := texts(report.Findings); !strings.Contains(got, want) {
			t.Errorf("%d rows: findings %s, want %q", rows, got, want)
		}
		for _, rule := range []string{
			"With at least 1,000,000 test rows, an effect is equivalent if its interval is inside ±0.001",
			"excludes 0 is different, however small",
		} {
			if got := texts(report.Notes); !strings.Contains(got, rule) {
				t.Errorf("notes %s, want %q", got, rule)
			}
		}
	}
}

// The fake runner mispredicts 20 % of the rows at τ = 0 and 30 % at τ = 2. So the staleness effect at τ = 2
// is clear, and merging has no effect.
func TestReportOfFakeRuns(t *testing.T) {
	report, _, err := executeTiny(t, &fakeRunner{})
	if err != nil {
		t.Fatal(err)
	}
	r := report.Data.([]*dataSetResult)[0]
	if e := r.Effects[0]; e.AUC != (metric.Interval{}) || e.Bootstrap != (metric.Interval{}) {
		t.Errorf("merging effect %+v, want exactly 0", e)
	}
	// A ranking with two scores and a share w of wrong labels has AUC = 1 − w. The effect is 0.7 − 0.8,
	// within the luck of 500 rows.
	if e := r.Effects[2]; math.Abs(e.AUC.Estimate+0.1) > 0.04 || e.Bootstrap.High > -0.05 {
		t.Errorf("staleness effect at τ = 2: %+v", e)
	}
	if n := len(r.Oracle.AUC); n != 2 || r.Oracle.AUC[0] < 0.7 || r.Oracle.AUC[0] > 1 {
		t.Errorf("oracle %+v, want two values of AUC", r.Oracle)
	}
	if !strings.Contains(texts(report.Findings), "Own staleness reached τ in every hybrid variant") {
		t.Errorf("findings %s", texts(report.Findings))
	}
	if !strings.Contains(texts(report.Notes), "Only 2 seeds") {
		t.Errorf("notes %s", texts(report.Notes))
	}
	for _, table := range report.Tables {
		for _, row := range table.Rows {
			if len(row) != len(table.Header) {
				t.Errorf("%s: a row has %d cells, the header %d", table.Caption, len(row), len(table.Header))
			}
		}
	}
	if err := report.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// The same runs give the same report, bit for bit.
func TestReportIsDeterministic(t *testing.T) {
	var texts [2]bytes.Buffer
	for i := range texts {
		report, _, err := executeTiny(t, &fakeRunner{})
		if err != nil {
			t.Fatal(err)
		}
		if err := report.WriteText(&texts[i]); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&texts[i]).Encode(report.Data); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("two runs differ")
	}
}

// The report names each τ that no read reached.
func TestUnreachedStalenessIsReported(t *testing.T) {
	p, r := tinyPlan(), handMade(10)
	if s := p.reachedSentence([]*dataSetResult{r}); !strings.Contains(s, "reached τ in every") {
		t.Errorf("%q", s)
	}
	var short histogram.Histogram
	short.Add(1)
	r.Variants[3].Own = short
	if s := p.reachedSentence([]*dataSetResult{r}); !strings.Contains(s, "made at τ = 2 (at most 1)") {
		t.Errorf("%q", s)
	}
}

// The lines of the figure join the estimates, with the intervals as error bars.
func TestEffectFigure(t *testing.T) {
	r := handMade(10)
	f := tinyPlan().effectFigure([]*dataSetResult{r})
	want := make([]report.Point, 0, 2)
	for i, tau := range []float64{0, 2} {
		v := r.Effects[i+1].AUC
		want = append(want, report.Point{X: tau, Y: v.Estimate, Low: v.Low, High: v.High})
	}
	got := f.Lines[len(f.Lines)-1].Points
	if !reflect.DeepEqual(got, want) {
		t.Errorf("points %+v, want %+v", got, want)
	}
}
