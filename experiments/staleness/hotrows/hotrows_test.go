package hotrows

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// tinyPlan returns a plan of a few seconds.
func tinyPlan() *plan {
	p := newPlan(true, []int{2}, []float64{0.5})
	p.Seed, p.Seeds = 1, 2
	p.DataSets, p.Thresholds = p.DataSets[:1], []float64{0.1}
	p.DataSets[0].Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: 600, TestRows: 500, Alpha: 0.5, Numeric: 1,
		Columns:      []job.SyntheticColumn{{Name: "c", Cardinality: 50, Exponent: 1}},
		AlphaColumns: []string{"c"},
	}}
	p.Job.Training.GlobalBatch = 60
	p.Tuning.Dense = p.Tuning.Dense[:1]
	p.Speed.GPUs, p.Speed.Thresholds, p.Speed.Samples, p.Speed.Steps = []int{1}, p.Thresholds, 2, 4
	return p
}

// A second run in the folder of the first trains nothing and reports the same. With hot rows fewer updates
// are missed.
func TestRunsAreResumed(t *testing.T) {
	folder, trained := t.TempDir(), 0
	o := report.Options{Folder: folder}
	var texts [2]string
	for i := range texts {
		trained = 0
		grows := reporttest.Progress(t)
		o.Progress = func(done, total int, what string) {
			grows(done, total, what)
			if !strings.HasPrefix(what, "simulating") {
				trained++
			}
		}
		p := tinyPlan()
		measured, err := p.measure(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		r := p.report(measured)
		text, err := json.Marshal(measured)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
		if len(r.Findings) != 2 || len(r.Figures) != 1 || len(r.Tables) != 3 || len(r.Comparisons) != 4 {
			t.Errorf("findings %q, %d figures, %d tables", r.Findings, len(r.Figures), len(r.Tables))
		}
		if (trained > 0) != (i == 0) {
			t.Errorf("run %d trains %d times", i, trained)
		}
		reporttest.CheckWidth(t, r)
		d := measured.DataSets[0]
		late := d.late(2)
		if late[0].HotRows != 0 || late[1].HotRows == 0 || !(late[1].Missed < late[0].Missed) ||
			d.find(variant{Drop: 2}).Missed != 0 || d.Steps != 10 {
			t.Errorf("%s", text)
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("%s\nthen\n%s", texts[0], texts[1])
	}
}

// Variants of a seed differ in delay and threshold only; tuning has its own seeds.
func TestVariantsArePaired(t *testing.T) {
	taus, alphas := []int{15, 63}, []float64{0.01, 0.5}
	quick, full := newPlan(true, taus, alphas), newPlan(false, taus, alphas)
	if len(quick.DataSets) != 3 || len(full.DataSets) != 6 {
		t.Errorf("%d, %d data sets", len(quick.DataSets), len(full.DataSets))
	}
	for name, p := range map[string]*plan{"quick": quick, "full": full} {
		p.Seed, p.Seeds = 7, 2
		seen := map[string]bool{}
		for _, d := range p.DataSets {
			for _, v := range p.variants() {
				for i, s := range p.specs(d, v, tune.Rates{Rows: 0.2, Dense: 0.3}) {
					if err := s.Job.Validate(); err != nil {
						t.Errorf("%s, %s: %v", name, s.Name, err)
					}
					id, err := s.ID()
					if err != nil || seen[id] {
						t.Errorf("%s, %s: the same training twice, or %v", name, s.Name, err)
					}
					seen[id] = true
					plain := p.specs(d, fresh, tune.Rates{Rows: 0.2, Dense: 0.3})[i]
					s.Job.Training.ClearDelays()
					s.Drop, s.Name = 0, plain.Name
					if again, _ := s.ID(); again != mustID(t, plain.ID) {
						t.Errorf("%s, %v: differs from training without delay in more than the delay", name,
							v)
					}
					if plain.Job.Training.Seed != 7+uint64(i) {
						t.Errorf("%s: seed %d", plain.Name, plain.Job.Training.Seed)
					}
				}
			}
		}
	}
}

func mustID(t *testing.T, id func() (string, error)) string {
	t.Helper()
	text, err := id()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A million values on every rank cost time in the all-reduce, and without hot rows the speed is that of
// hybrid.
func TestSpeedFallsWithTheRowsOnTheRanks(t *testing.T) {
	p := speedPlan{Preset: "persia-paper", GPUs: []int{8}, Tau: 15, Thresholds: []float64{1, 0.1, 1e-5},
		Samples: 2, Steps: 8}
	speeds, err := p.measure(context.Background(), 1, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	sync, hybrid, none, some, many := speeds[0], speeds[1], speeds[2], speeds[3], speeds[4]
	if none.Throughput != hybrid.Throughput || !(hybrid.Throughput >= some.Throughput &&
		some.Throughput > many.Throughput && many.Throughput > sync.Throughput) {
		t.Errorf("sync %v, hybrid %v, hot-rows %v, %v, %v", sync.Throughput, hybrid.Throughput,
			none.Throughput, some.Throughput, many.Throughput)
	}
	if none.Replica.Rows != 0 || !(some.Replica.Rows > 10 && some.Replica.Share > 0.2 &&
		many.Replica.Rows > 50_000 && many.Replica.Share < 1) || hybrid.Replica != nil {
		t.Errorf("hot rows %+v, %+v, %+v", none.Replica, some.Replica, many.Replica)
	}
	if some.ToSync != some.Throughput/sync.Throughput || some.ToHybrid != some.Throughput/hybrid.Throughput {
		t.Errorf("ratios %v, %v", some.ToSync, some.ToHybrid)
	}
}

// handMade returns results with given AUCs: without delay, late, and late with 3 and 40 hot rows.
func handMade(plain, late, few, many []float64) *dataSetResult {
	first, second := 0.1, 0.01
	of := func(v variant, auc []float64, hotRows float64) *variantResult {
		q := judge.Quality{AUC: auc, LogLoss: make([]float64, len(auc))}
		return &variantResult{Variant: v, Quality: q, HotRows: hotRows}
	}
	d := &dataSetResult{DataSet: "made", Variants: []*variantResult{
		of(fresh, plain, 0), of(variant{Drop: 9}, plain, 0), of(variant{Tau: 9}, late, 0),
		of(variant{Tau: 9, Threshold: &first}, few, 3), of(variant{Tau: 9, Threshold: &second}, many, 40),
	}}
	pair(d)
	judge.Judge((&results{DataSets: []*dataSetResult{d}}).comparisons())
	d.conclude()
	return d
}

// pair sets the comparisons of results without test rows.
func pair(d *dataSetResult) {
	_ = d.pair(1, func([]trial.Spec, []trial.Spec) (float64, error) { return 0, nil })
}

func TestFindings(t *testing.T) {
	plain, late := []float64{0.8, 0.81}, []float64{0.7, 0.7101}
	for name, c := range map[string]struct {
		d    *dataSetResult
		want []string
		not  string
	}{
		"in two steps": {handMade(plain, late, []float64{0.76, 0.7701}, []float64{0.799, 0.809}),
			[]string{"late rows cost 0.1000 ± 0.0006 AUC (different)",
				"the 3 rows fresh that are in at least 10 %", "40 rows"}, "no "},
		"at once": {handMade(plain, late, []float64{0.799, 0.809}, plain),
			[]string{"3 rows fresh"}, "40 rows"},
		"not at all": {handMade(plain, late, late, late), []string{"no threshold down to 1 % gets half"},
			"fresh"},
		"no loss": {handMade(plain, []float64{0.81, 0.80}, plain, plain),
			[]string{"neither loss nor gain", "(inconclusive)"}, "cost"},
		"gain": {handMade(plain, []float64{0.82, 0.8301}, plain, plain),
			[]string{"late rows gain 0.0200 ± 0.0006 AUC (different)", "9 steps shorter 0.0000"}, "loss"},
	} {
		got := c.d.finding(9)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s; want %s", name, got, want)
			}
		}
		if strings.Contains(got, c.not) {
			t.Errorf("%s: %s", name, got)
		}
	}
	d := handMade(plain, late, plain, plain)
	d.Variants[2].Diverged = 1
	if got := d.finding(9); !strings.Contains(got, "diverged") {
		t.Error(got)
	}
}

// The table has what is left of a loss only where the loss is found.
func TestLossTable(t *testing.T) {
	plain, few := []float64{0.8, 0.81}, []float64{0.75, 0.7601}
	p := newPlan(true, []int{9}, nil)
	for _, c := range []struct {
		late []float64
		want string
	}{
		{[]float64{0.7, 0.7101}, "9 10 % 3 0 % 0.0500 ± 0.0006 50 %"},
		{[]float64{0.85, 0.6}, "9 10 % 3 0 % 0.0500 ± 0.0006 –"},
	} {
		d := handMade(plain, c.late, few, plain)
		rows := p.lossTable(&results{DataSets: []*dataSetResult{d}}).Rows
		if got := strings.Join(rows[2][1:], " "); len(rows) != 4 || got != c.want {
			t.Errorf("%d lines, the third is %q; want %q", len(rows), got, c.want)
		}
	}
}

// The loss is that of training without delay less the variant's, seed by seed.
func TestLossIsPaired(t *testing.T) {
	d := handMade([]float64{0.75, 1}, []float64{0.5, 0.25}, []float64{0.75, 0.75}, []float64{0.75, 1})
	late := d.late(9)
	near := func(got, want metric.Interval) bool {
		return math.Abs(got.Estimate-want.Estimate) < 1e-9 && math.Abs(got.Low-want.Low) < 1e-9 &&
			math.Abs(got.High-want.High) < 1e-9
	}
	if got := late[0].Loss; !near(got, metric.MeanInterval([]float64{0.25, 0.75})) {
		t.Errorf("loss %v", got)
	}
	if got := late[1].Gain; !near(got, metric.MeanInterval([]float64{0.25, 0.5})) {
		t.Errorf("gain %v", got)
	}
	if late[1].Remaining != 0.25 || late[2].Remaining != 0 {
		t.Errorf("left %v and %v, want 0.25 and 0", late[1].Remaining, late[2].Remaining)
	}
}

// Every difference that a table or a finding has is judged, once: four to fresh and two to late rows. A
// threshold at which no row is hot is the same training as without one.
func TestAllDifferencesAreJudged(t *testing.T) {
	plain := []float64{0.8, 0.81}
	d := handMade(plain, []float64{0.7, 0.7101}, plain, plain)
	all := (&results{DataSets: []*dataSetResult{d}}).comparisons()
	if len(all) != 6 {
		t.Errorf("%d comparisons, want 6", len(all))
	}
	d.Variants[3].HotRows, d.Variants[3].ToFresh, d.Variants[3].ToLate = 0, nil, nil
	pair(d)
	all = (&results{DataSets: []*dataSetResult{d}}).comparisons()
	judge.Judge(all)
	if d.conclude(); len(all) != 4 || d.Variants[3].Loss != d.Variants[2].Loss {
		t.Errorf("without hot rows: %d comparisons, a loss of %v", len(all), d.Variants[3].Loss)
	}
}
