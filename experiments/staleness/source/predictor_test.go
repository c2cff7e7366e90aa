package source

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
)

// The fit joins 3 and 1 to 2, between 0 and 4.
func TestFitMonotone(t *testing.T) {
	m := fitMonotone([]float64{4, 1, 2, 3}, []float64{4, 0, 3, 1})
	for x, want := range map[float64]float64{0: 0, 1: 0, 1.75: 1, 2.5: 2, 3.25: 3, 4: 4, 9: 4} {
		if got := m.at(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("at %v: %v, want %v", x, got, want)
		}
	}
	if m := fitMonotone([]float64{1, 1, 1}, []float64{3, 0, 6}); m.at(1) != 3 {
		t.Errorf("one place with mean 3 has %v", m.at(1))
	}
}

// Two columns of four samples: ids with shares ½, ½ (twice in one sample) and 1, ¼.
func TestScalarsByHand(t *testing.T) {
	f := facts{
		shares: [][]float64{
			report.Shares(batch.Jagged{IDs: []uint64{7, 7, 7, 8, 8}, Offsets: []int32{0, 2, 3, 4, 5}}, 4),
			report.Shares(batch.Jagged{IDs: []uint64{1, 1, 1, 1, 2}, Offsets: []int32{0, 1, 2, 3, 5}}, 4),
		},
		batch: 2, steps: 10, tau: 4, rate: 0.5,
	}
	const squares = 0.25 + 0.25 + 1 + 1./16
	// The probabilities of an id in a batch of two: ¾, ¾, 1 and 1 − (¾)² = 7/16.
	missed := 4 * (9./16 + 9./16 + 1 + 49./256) / (0.75 + 0.75 + 1 + 7./16)
	want := map[string]float64{
		"max q": 1, "hot columns": 2, "heads": 1.5, "Σq²": squares, "missed updates": missed,
		"τ·Σq²": 4 * squares, "τ·Σq²·rate": 2 * squares, "τ·Σq²÷steps": 0.4 * squares,
		"τ·Σq²·rate÷steps": 0.2 * squares, "τ·heads÷steps": 0.6, "√τ·heads÷steps": 0.3, "τ÷steps": 0.4,
		"τ": 4,
	}
	if len(scalars(f)) != len(want) {
		t.Errorf("%d scalars, want %d", len(scalars(f)), len(want))
	}
	for _, s := range scalars(f) {
		if math.Abs(s.value-want[s.name]) > 1e-12 {
			t.Errorf("%s is %v, want %v", s.name, s.value, want[s.name])
		}
	}
}

func TestWorldsDifferAndHalvesAreFixed(t *testing.T) {
	full := func() *predictorPlan {
		return newPredictorPlan(1, append(drawWorlds(26, 20_000, 120_000, 30_000), realWorlds()...))
	}
	p := full()
	if len(p.Worlds) < 20 {
		t.Errorf("%d worlds, want at least 20", len(p.Worlds))
	}
	held, texts := 0, map[string]bool{}
	for i := range p.Worlds {
		w := &p.Worlds[i]
		text := w.String()
		if w.Alpha == 0 {
			text = w.Name // real data may have the same batch, delay and rate
		}
		if texts[text] = true; w.HeldOut {
			held++
		}
		if s := w.Data.Data.Synthetic; s != nil {
			if err := s.Validate(); err != nil || len(s.AlphaColumns) != w.HotColumns {
				t.Errorf("%s: %d hot columns, %v", w, len(s.AlphaColumns), err)
			}
		}
	}
	if held != len(p.Worlds)/2 || len(texts) != len(p.Worlds) {
		t.Errorf("%d of %d worlds are held out, %d descriptions", held, len(p.Worlds), len(texts))
	}
	again := full()
	if !slices.EqualFunc(p.Worlds, again.Worlds, func(a, b world) bool {
		return a.String() == b.String() && a.HeldOut == b.HeldOut
	}) {
		t.Error("the worlds are not the same a second time")
	}
}

// made returns worlds whose loss is a monotone function of Σq² on the first half; on the held-out half only
// if it holds there, otherwise of max q.
func made(n int, holds bool) (worlds []worldLoss) {
	r := rng.New(1, "made")
	for i := range n {
		w := worldLoss{world: world{Name: "w", HeldOut: i%2 == 1}, Scalars: map[string]float64{},
			Late: &judge.Comparison{}}
		for _, s := range scalars(facts{}) {
			w.Scalars[s.name] = r.Float64()
		}
		x := w.Scalars["Σq²"]
		if w.HeldOut && !holds {
			x = w.Scalars["max q"]
		}
		w.Loss = metric.Interval{Estimate: 0.01 * x * x}
		worlds = append(worlds, w)
	}
	return worlds
}

// The first half alone chooses. Whether the choice holds, the other half says.
func TestChoiceIsJudgedOnTheOtherHalf(t *testing.T) {
	p := &predictorPlan{Seed: 1, Resamples: 500, Seeds: 5}
	good := p.choose(made(40, true))
	if s := good.Scalars[0]; s.Name != "Σq²" || s.First < 0.999 || s.HeldOut.Low < 0.999 {
		t.Errorf("chose %+v", s)
	}
	if good.Error > 0.001 || good.NullError < 0.002 {
		t.Errorf("errors %v, of the mean %v", good.Error, good.NullError)
	}
	if good.ByChance < 0.3 || good.ByChance > 0.6 { // 20 worlds: about 1.96/√19
		t.Errorf("by chance %v", good.ByChance)
	}
	bad := p.choose(made(40, false))
	if s := bad.Scalars[0]; s.Name != "Σq²" || s.HeldOut.Estimate > 0.6 ||
		s.HeldOut.Low > s.HeldOut.Estimate ||
		s.HeldOut.High < s.HeldOut.Estimate {
		t.Errorf("chose %+v", s)
	}
	if text := strings.Join(bad.findings(), " "); !strings.Contains(text, "below the 0.9") {
		t.Errorf("findings %s", text)
	}
	if text := strings.Join(good.findings(), " "); !strings.Contains(text, "at least the 0.9") {
		t.Errorf("findings %s", text)
	}
}

// lossy loses an AUC of α·τ/10000 under every seed.
type lossy struct{ specs []trial.Spec }

func (f *lossy) Run(_ context.Context, specs []trial.Spec) ([]trial.Result, error) {
	f.specs = specs
	results := make([]trial.Result, len(specs))
	for i, s := range specs {
		j := &s.Job
		results[i].AUC = 0.7 + 0.01*float64(j.Training.Seed) -
			j.Data.Synthetic.Alpha*float64(j.Training.Delay.Steps)/10_000
	}
	return results, nil
}

func (f *lossy) RowDeviation([]trial.Spec, []trial.Spec) (float64, error) { return 0, nil }

func TestLossIsPairedBySeed(t *testing.T) {
	p := newPredictorPlan(1000, drawWorlds(4, 1500, 2000, 1000))
	p.Seed, p.Seeds = 3, 4
	f := &lossy{}
	losses, err := p.measure(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range losses {
		l := &losses[i]
		want := p.Worlds[i].Alpha * float64(p.Worlds[i].Tau) / 10_000
		if math.Abs(l.Loss.Estimate-want) > 1e-12 || l.Loss.High-l.Loss.Low > 1e-9 || len(l.BySeed) != 4 {
			t.Errorf("%s: loss %+v, want %v", l.Text, l.Loss, want)
		}
		if got := l.Scalars["max q"]; got < l.Alpha-0.03 { // or that of a Zipf column
			t.Errorf("%s: the most frequent id is in %v", l.Text, got)
		}
	}
	if len(f.specs) != 2*4*len(p.Worlds) {
		t.Errorf("%d trainings", len(f.specs))
	}
	for i, c := range lateLessFresh(losses) {
		if c.Data != "generated worlds" || !strings.HasPrefix(c.Treated, losses[i].Name+", ") ||
			c.Verdict != metric.Equivalent && c.Verdict != metric.Different || c.Seeds[0] != 3 {
			t.Errorf("comparison %+v", c)
		}
	}
}

// A real run of tiny worlds writes tables and a figure. Worlds whose data are absent are noted.
func TestTinyRun(t *testing.T) {
	p := newPredictorPlan(50, append(drawWorlds(4, 1500, 2000, 1000),
		world{Name: "avazu", Data: report.Avazu()}))
	p.Seed, p.Seeds = 1, 2
	losses, err := trial.Measure(report.Options{Folder: t.TempDir()}, "", 0,
		func(lab *trial.Lab) ([]worldLoss, error) { return p.measure(t.Context(), lab) })
	if err != nil {
		t.Fatal(err)
	}
	r := p.report(p.choose(losses))
	if len(r.Tables) != 2 || len(r.Tables[1].Rows) != 4 || len(r.Figures) != 1 ||
		len(r.Findings) != 4 || len(r.Comparisons) != 4 ||
		!strings.Contains(strings.Join(r.Notes, " "), "Not measured: avazu") {
		t.Errorf("report %+v", r)
	}
	reporttest.CheckWidth(t, r)
	if _, err := r.Figures[0].SVG(); err != nil {
		t.Error(err)
	}
}
