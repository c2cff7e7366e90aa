package staleness

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/reference"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/protocol/delay"
	"tandem/algo/rng"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// planOf returns a plan without flags.
func planOf(o report.Options) *plan {
	grid := report.NewGrid()
	return newPlan(o, &grid)
}

// tinyPlan returns a plan with one small generated data set and all kinds of effects.
func tinyPlan() *plan {
	p := planOf(report.Options{Quick: true, Seed: 7, Seeds: 2})
	p.Taus, p.DataSets = []int{0, 2}, []report.DataSet{report.Generated(0.1, 600, 500)}
	p.DataSets[0].Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: 600, TestRows: 500, Alpha: 0.1, Numeric: 2,
		Columns: []job.SyntheticColumn{{Cardinality: 50, Exponent: 1}},
	}}
	p.Job.Training.GlobalBatch = 100
	p.SimulatedRanks, p.Lengths, p.LengthTau = []int{8}, []int{2}, 2
	p.Optimizers, p.Factors = []optimizer{{"sgd", 8}}, tune.Grid(1, 4, 1)
	return p
}

// fake is a lab: the AUC of a training falls by 0.01 for each step that its rows are late, by 0.001 for each
// step left out and by 0.002 where ranks are merged into steps. Own staleness in hybrid is 0 once and τ
// three times.
type fake struct {
	specs  []trial.Spec
	change func(s *trial.Spec, r *trial.Result)
}

func (f *fake) Run(_ context.Context, specs []trial.Spec) ([]trial.Result, error) {
	f.specs = append(f.specs, specs...)
	results := make([]trial.Result, len(specs))
	for i, s := range specs {
		t := s.Job.Training
		r := &results[i]
		r.AUC, r.LogLoss = 0.8+0.01*rng.New(t.Seed, "seed").NormFloat64()-0.001*float64(s.Drop), 0.5
		r.Steps, r.TestRows = s.Job.Data.Synthetic.TrainRows/t.GlobalBatch-s.Drop, 500
		if t.Merge == job.MergeStep {
			r.AUC -= 0.002
		}
		late := t.Delay.Mean + float64(t.Delay.Steps)
		if t.Staleness != nil {
			late = float64(*t.Staleness)
			r.Staleness.Own.Add(0)
			r.Staleness.Own.AddCount(*t.Staleness, 3)
			r.Order = measured().Order
		}
		if t.Delay.Kind == delay.Distribution {
			sum, weights := 0.0, 0.0
			for d, w := range t.Delay.Weights {
				sum, weights = sum+float64(d)*w, weights+w
			}
			late = sum / weights
		}
		r.AUC -= 0.01 * late
		if f.change != nil {
			f.change(&s, r)
		}
	}
	return results, nil
}

// measured returns what a training of hybrid on one rank and one PS has measured: delays of 1, 1, 0 and 0.
func measured() *trial.Result {
	r := &trial.Result{Steps: 4}
	r.Staleness.Own.AddCount(0, 2)
	r.Staleness.Own.AddCount(1, 2)
	r.Order = &reference.Order{Ranks: 1, PSs: 1, Accesses: []int32{0, 2, 1, 4, 3, 5, 6, 7}}
	return r
}

func (f *fake) RowDeviation(treated, reference []trial.Spec) (float64, error) { return 0, nil }

func measure(t *testing.T, p *plan, f *fake) []*dataSetResult {
	t.Helper()
	results, err := p.measure(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// The effects are the differences of the fake lab's AUC.
func TestEffects(t *testing.T) {
	p := tinyPlan()
	r := measure(t, p, &fake{})[0]
	p.report([]*dataSetResult{r}) // judges
	for _, want := range []struct {
		effect   string
		tau      int
		estimate float64
	}{
		{merging, 0, 0.002}, {staleness, 2, -0.02}, {lag, 2, -0.002},
		{threads, 0, 0}, {threads, 2, -0.02}, {simulated, 3, -0.03}, {longer, 2, -0.02},
		// The delays of hybrid at τ = 2 are 0, 2, 2, 2: 1.5 in the mean.
		{runtime, 0, 0}, {runtime, 2, -0.02 + 0.015}, {sameRate, 2, -0.02}, {ownRates, 2, -0.02},
	} {
		at := slices.IndexFunc(r.Effects, func(e effect) bool {
			return e.Name == want.effect &&
				e.Tau == want.tau
		})
		if at < 0 {
			t.Errorf("there is no effect %q at %d", want.effect, want.tau)
			continue
		}
		if e := r.Effects[at]; math.Abs(e.AUC.Estimate-want.estimate) > 1e-9 {
			t.Errorf("%s at %d: %v, want %v", want.effect, want.tau, e.AUC.Estimate, want.estimate)
		}
	}
	if n := len(r.Oracle.AUC); n != 2 || r.Oracle.AUC[0] < 0.6 {
		t.Errorf("oracle %+v", r.Oracle)
	}
}

// The arms of a seed differ from their reference in what their effect names alone, and have equal scale.
func TestArmsArePaired(t *testing.T) {
	p, from := tinyPlan(), measured()
	d := &p.DataSets[0]
	pairs := append(p.pairs(d), p.optimizerPairs(p.Optimizers[0], 8, 2)...)
	for _, one := range pairs {
		treated, err := p.spec(d, one.treated, 7, from)
		if err != nil {
			t.Fatal(err)
		}
		reference, err := p.spec(d, one.reference, 7, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []trial.Spec{treated, reference} {
			if err := s.Job.Validate(); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
			if s.Job.Training.Scale != job.ScaleGlobal {
				t.Errorf("%s: scale %q", s.Name, s.Job.Training.Scale)
			}
		}
		a, b := &treated.Job, &reference.Job
		switch one.effect {
		case merging:
			a.Training.Merge = b.Training.Merge
		case staleness, longer, sameRate:
			a.Training.Delay = b.Training.Delay
		case ownRates:
			a.Training.Delay, a.Rows = b.Training.Delay, b.Rows
		case lag:
			treated.Drop = 0
		case threads, simulated, runtime, steps, reads:
			a.Training.Mode, a.Training.Staleness, a.Training.Prefetch = job.Sequential, nil, 0
			b.Training.Delay, treated.Simulated, a.Cluster = a.Training.Delay, false, b.Cluster
			treated.RecordOrder, reference.Order = false, nil
		}
		treated.Name, reference.Name = "", ""
		if !reflect.DeepEqual(treated, reference) {
			t.Errorf("%s: %+v differs from %+v", one.effect, one.treated, one.reference)
		}
	}
}

// An arm with measured delays has those that hybrid measured under the same seed.
func TestMeasuredDelaysAreThoseOfTheSeed(t *testing.T) {
	p := tinyPlan()
	f := &fake{change: func(s *trial.Spec, r *trial.Result) {
		if s.Job.Training.Mode == job.Hybrid {
			seed := int(s.Job.Training.Seed)
			r.Staleness.Own = histogram.Histogram{}
			r.Staleness.Own.AddCount(seed, 4) // one delay, the number of the seed
			r.Order = &reference.Order{Ranks: 1, PSs: 1}
			for step := range r.Steps + seed { // every read is that number of steps ahead of the updates
				if step < r.Steps {
					r.Order.Accesses = append(r.Order.Accesses, int32(2*step))
				}
				if step >= seed {
					r.Order.Accesses = append(r.Order.Accesses, int32(2*(step-seed)+1))
				}
			}
		}
	}}
	measure(t, p, f)
	seen, orders := 0, 0
	for _, s := range f.specs {
		if d := s.Job.Training.Delay; d.Kind == delay.Distribution || d.Kind == delay.Traced {
			m, err := delay.NewModel(d, 1)
			if err != nil {
				t.Fatal(err)
			}
			seed := int(s.Job.Training.Seed)
			steps := s.Job.Data.Synthetic.TrainRows / s.Job.Training.GlobalBatch
			for step := range steps {
				want := seed
				if d.Kind == delay.Traced {
					want = min(seed, steps-1-step) // no reads are later than the last
				}
				if got := m.DelayOf(step); got != want {
					t.Errorf("%s: delay %d of step %d, want %d", s.Name, got, step, want)
				}
			}
			seen++
		}
		if s.Order != nil {
			orders++
		}
	}
	if seen != 2*len(p.Taus)*p.Seeds || orders != len(p.Taus)*p.Seeds {
		t.Errorf("%d trainings with measured delays, %d with measured orders", seen, orders)
	}
}

func TestFindings(t *testing.T) {
	p := tinyPlan()
	results := measure(t, p, &fake{change: func(s *trial.Spec, r *trial.Result) {
		if s.Job.Training.Mode == job.Hybrid && *s.Job.Training.Staleness == 2 && !s.Simulated {
			r.Staleness.Own = histogram.Histogram{}
			r.Staleness.Own.AddCount(1, 4)
		}
		if s.Job.Rows.Optimizer.Kind == "sgd" && s.Job.Training.Seed == 7 {
			*r = trial.Result{Diverged: "too fast"}
		}
	}})
	r := p.report(results)
	text := strings.Join(append(r.Findings, r.Notes...), "\n")
	for _, want := range []string{
		"merging +0.0020 ± 0.0000", "staleness at 2 steps −0.0200 ± 0.0000", "lag at 2 steps −0.0020",
		"did not reach τ, so the effect of τ is not fully tested, on α = 0.1, hybrid τ=2 (at most 1)",
		"drawn step by step: the interval is inside ±0.001 in 1 of 2 cases, not for α = 0.1 τ = 2: " +
			"−0.0100 ± 0.0000.",
		"log loss to the last bit in 2 of 4 trainings.",
		"2 trainings diverged", "Only 2 seeds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A small comparison from training to files, with the real runtime and the simulator: all arms learn.
func TestReportOfTinyRuns(t *testing.T) {
	p := tinyPlan()
	p.Job.Model.EmbeddingDim, p.Job.Model.Top, p.Job.Training.GlobalBatch = 4, []int{4}, 30
	p.Optimizers, p.Seed = nil, 1
	p.DataSets[0].Data.Synthetic.TrainRows = 3_000
	results, err := trial.Measure(report.Options{Folder: t.TempDir(), Progress: reporttest.Progress(t)},
		"staleness", p.trainings(), func(lab *trial.Lab) ([]*dataSetResult, error) {
			return p.measure(t.Context(), lab)
		})
	if err != nil {
		t.Fatal(err)
	}
	result := results[0]
	for _, a := range result.Arms {
		if a.Diverged > 0 || a.Steps == 0 || slices.Min(a.AUC) < 0.52 {
			t.Errorf("%v: AUC %v, %d diverged, %d steps", a.Arm, a.AUC, a.Diverged, a.Steps)
		}
		if a.Arm.Delay == byReads {
			hybrid := result.find(hybridOf(a.Arm))
			if !slices.Equal(a.AUC, hybrid.AUC) || !slices.Equal(a.LogLoss, hybrid.LogLoss) {
				t.Errorf("%v: AUC %v, log loss %v; hybrid %v, %v", a.Arm, a.AUC, a.LogLoss, hybrid.AUC,
					hybrid.LogLoss)
			}
			for i := range a.trainings {
				own, other := a.trainings[i].Missed, hybrid.trainings[i].Missed
				if !reflect.DeepEqual(own, other) {
					t.Errorf("%v: missed updates %v; hybrid %v", a.Arm, own.Summary(), other.Summary())
				}
			}
		}
		if a.Arm.Mode == job.Hybrid && (a.Own.Count == 0 || a.Own.Max > a.Arm.Tau) {
			t.Errorf("%v: own staleness %v", a.Arm, a.Own)
		}
	}
	r := p.report(results)
	reporttest.CheckWidth(t, r)
	if err := r.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// All arms of both plans are valid jobs.
func TestPlans(t *testing.T) {
	from := measured()
	for name, p := range map[string]*plan{
		"quick": planOf(report.Options{Quick: true}), "full": planOf(report.Options{}),
	} {
		for i := range p.DataSets {
			d := &p.DataSets[i]
			for _, one := range p.pairs(d) {
				for _, a := range []arm{one.treated, one.reference} {
					s, err := p.spec(d, a, 3, from)
					if err == nil {
						err = s.Job.Validate()
					}
					if err != nil {
						t.Errorf("%s, %v: %v", name, a, err)
					}
				}
			}
		}
		if fmt.Sprint(p.Taus[len(p.Taus)-1]) != "63" {
			t.Errorf("%s: τ up to %v", name, p.Taus)
		}
	}
}
