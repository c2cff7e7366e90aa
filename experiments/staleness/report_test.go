package staleness

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"tandem/algo/histogram"
	"tandem/experiments/report"
)

// handMade returns results of two hybrid variants with given AUCs under three seeds.
func handMade() *dataSetResult {
	r := &dataSetResult{DataSet: "made"}
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
	p := tinyPlan()
	if err := r.compare(context.Background(), &p); err != nil {
		panic(err)
	}
	comparisons([]*dataSetResult{r})
	return r
}

// Student's t(0.975) at 2 degrees of freedom is 4.302653.
func TestEffectsAreMeansOfPairedDifferences(t *testing.T) {
	r := handMade()
	for i, want := range []struct {
		name           string
		estimate, half float64
		verdict        string
	}{
		// 0.01 under every seed, although AUC varies by 0.04 between seeds.
		{mergingEffect, 0.01, 0, "different"},
		// Differences 0.001, −0.001, 0: deviation 0.001, half 4.302653·0.001/√3.
		{stalenessEffect, 0, 4.302653 * 0.001 / math.Sqrt(3), "inconclusive"},
		// Differences −0.01, −0.02, −0.03: deviation 0.01.
		{stalenessEffect, -0.02, 4.302653 * 0.01 / math.Sqrt(3), "inconclusive"},
	} {
		e := r.Effects[i]
		half := (e.AUC.High - e.AUC.Low) / 2
		near := math.Abs(e.AUC.Estimate-want.estimate) < 1e-12 && math.Abs(half-want.half) < 1e-8
		if e.Name != want.name || !near || e.Text() != want.verdict {
			t.Errorf("effect %d: %s %v ± %v, %s; want %+v", i, e.Name, e.AUC.Estimate, half, e.Text(), want)
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
	if e := r.Effects[0]; !e.SameBits() {
		t.Errorf("merging effect %+v, want exactly 0", e)
	}
	// A ranking with two scores and a share w of wrong labels has AUC = 1 − w. The effect is 0.7 − 0.8,
	// within the luck of 500 rows.
	if e := r.Effects[2]; math.Abs(e.AUC.Estimate+0.1) > 0.04 {
		t.Errorf("staleness effect at τ = 2: %+v", e)
	}
	if n := len(r.Oracle.AUC); n != 2 || r.Oracle.AUC[0] < 0.7 || r.Oracle.AUC[0] > 1 {
		t.Errorf("oracle %+v, want two values of AUC", r.Oracle)
	}
	if !strings.Contains(texts(report.Findings), "Own staleness reached τ in every hybrid variant") {
		t.Errorf("findings %s", texts(report.Findings))
	}
	if len(report.Comparisons) != 3 || !strings.Contains(texts(report.Notes), "Only 2 seeds") {
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
	p, r := tinyPlan(), handMade()
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
	r := handMade()
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
