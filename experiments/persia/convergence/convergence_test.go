package convergence

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/rng"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// The known effects of the fake lab, in AUC. The common part of a seed cancels in differences.
const (
	mergingEffect   = -0.0005
	stalenessEffect = -0.0001 // of one step of τ
	doubling        = -0.0030 // of the global batch
	ofRanks         = -0.0010 // of the ranks of hybrid, each doubling
	asyncEffect     = -0.0070
	averageEffect   = -0.0020
	hotEffect       = 0.0040  // of hot rows, on hybrid
	offRate         = -0.0100 // of a factor e between the rate of rows and the best, which is lower if late
)

// fake is a lab with known effects.
type fake struct {
	specs []trial.Spec // all, in order
	// change changes a result, if not nil.
	change func(s *trial.Spec, r *trial.Result)
}

func (f *fake) Run(_ context.Context, specs []trial.Spec) ([]trial.Result, error) {
	results := make([]trial.Result, len(specs))
	f.specs = append(f.specs, specs...)
	for i := range specs {
		s := &specs[i]
		j := &s.Job
		t := &j.Training
		best := 0.06
		auc := 0.8 + 0.01*rng.New(t.Seed, "noise").NormFloat64()
		auc += doubling * math.Log2(float64(t.GlobalBatch)/512)
		if t.Merge == job.MergeRank {
			auc += mergingEffect
		}
		if t.Mode == job.AsyncPS {
			best /= 9
			auc += asyncEffect
		}
		if t.Mode == job.AsyncAverage {
			auc += averageEffect
		}
		if t.Mode == job.Hybrid {
			best /= 3
			auc += stalenessEffect*float64(*t.Staleness) + ofRanks*math.Log2(float64(j.Roles.Ranks)/8)
		}
		if j.Rows.Hot.Auto {
			auc += hotEffect
		}
		auc += offRate * math.Abs(math.Log(j.Rows.Optimizer.Rate/best))
		r := trial.Result{AUC: auc, Steps: j.Data.Synthetic.TrainRows / t.GlobalBatch, TestRows: 500}
		if t.EvaluateEvery.Any() {
			for k := 1; k <= 4; k++ {
				r.Curve = append(r.Curve, evaluation.Point{
					Samples: k * j.Data.Synthetic.TrainRows / 4, Scores: evaluation.Scores{
						AUC: auc - 0.01*float64(4-k)}})
			}
		}
		if f.change != nil {
			f.change(s, &r)
		}
		results[i] = r
	}
	return results, nil
}

func measured(t *testing.T, tuned bool, f *fake) (*plan, *results) {
	t.Helper()
	p := newPlan(true, []int{9, 60}, 240)
	if tuned {
		p.TuningSteps = 12
	}
	p.Seed, p.Seeds, p.Data.Data.Synthetic.TestRows = 7, 3, 50
	r, err := p.measure(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	return p, r
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// Effects are those of the lab. At common rates, staleness includes that of the rate: hybrid's best is a
// third.
func TestEffectsAreThoseOfTheLab(t *testing.T) {
	for _, tuned := range []bool{false, true} {
		p, r := measured(t, tuned, &fake{})
		for _, kind := range p.kinds() {
			rate := 0.0
			if kind == commonRates {
				rate = offRate * math.Log(3)
			}
			for i, tau := range p.Taus {
				late, hybrid := stalenessEffect*float64(tau)+rate, p.mainArms()[2+i]
				for name, want := range map[string]float64{staleness: late, total: late + mergingEffect} {
					if got := p.find(r.Effects, name, kind, hybrid).AUC.Estimate; !near(got, want) {
						t.Errorf("tuned %v, %s, %s rates, τ = %d: %v, want %v", tuned, name, kind, tau, got,
							want)
					}
				}
			}
			byRank := p.find(r.Effects, merging, kind, p.mainArms()[1])
			if got := byRank.AUC.Estimate; !near(got, mergingEffect) {
				t.Errorf("merging %v", got)
			}
		}
	}
}

// On the other data sets, each arm is at the rates that the longer runs have chosen, and hybrid and async-ps
// differ from sync by what they do there.
func TestWholeEffectsAreThoseAtTheRatesOfLongRuns(t *testing.T) {
	p := wholePlan(true, "avazu", []int{3, persiaTau}, 240, stepsAvazu)
	p.Seed, p.Seeds, p.TuningSteps, p.RefiningSteps, p.Data.Data.Synthetic.TestRows = 7, 3, 12, 60, 50
	p.more = more{Async: true, Average: true, Hot: true}
	// Runs of the tuner are too short for late arms to differ.
	short := func(s *trial.Spec) bool { return s.Job.Data.Synthetic.TrainRows == p.TuningSteps*p.batch() }
	f := &fake{change: func(s *trial.Spec, r *trial.Result) {
		if short(s) {
			r.AUC = 0.8 + offRate*math.Abs(math.Log(s.Job.Rows.Optimizer.Rate/0.06))
		}
	}}
	r, err := p.measure(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		of   arm
		auc  float64
		rate float64
	}{
		total: {p.hybrids()[1], mergingEffect + persiaTau*stalenessEffect + offRate*math.Log(4.0/3), 0.015},
		hotRows: {p.hot(), mergingEffect + persiaTau*stalenessEffect + hotEffect + offRate*math.Log(4.0/3),
			0.015},
		lessSync(job.AsyncPS):      {p.without(job.AsyncPS), asyncEffect + offRate*math.Log(9.0/8), 0.0075},
		lessSync(job.AsyncAverage): {p.without(job.AsyncAverage), averageEffect, 0.06},
	} {
		got := p.find(r.Effects, name, ownRates, want.of).AUC.Estimate
		rate := r.run(want.of, p.samples()).Rates.Rows
		if math.Abs(got-want.auc) > 0.0005 || !near(rate, want.rate) {
			t.Errorf("%s: %v at rate %v, want %v at %v", name, got, rate, want.auc, want.rate)
		}
	}
	for _, s := range f.specs { // no comparison has a seed with which rates were chosen
		length := s.Job.Data.Synthetic.TrainRows / p.batch()
		if chooses := length == 12 || length == 60; chooses != (s.Job.Training.Seed >= tune.FirstSeed) {
			t.Errorf("%s: %d steps, seed %d", s.Name, length, s.Job.Training.Seed)
		}
	}
	if len(r.Scaling) != 0 || len(r.Effects) != 5 {
		t.Errorf("%d effects of more ranks, %d others", len(r.Scaling), len(r.Effects))
	}
	out := p.report(r)
	reporttest.CheckWidth(t, out)
	notes := strings.Join(out.Notes, "\n")
	if !strings.Contains(notes, "chose the same for 2 of 6 arms") {
		t.Error(notes)
	}
}

// Weak scaling has the effects of ranks and batch, strong scaling that of ranks.
func TestScalingKeepsTheBatchOfARankOrOfAll(t *testing.T) {
	p, r := measured(t, false, &fake{})
	for s, want := range map[string]float64{weak: 2*ofRanks + 2*doubling, strong: 2 * ofRanks} {
		hybrid, _ := p.scalingOf(r, s, 8)
		if got := hybrid.AUC.Estimate; !near(got, want) {
			t.Errorf("%s: %v, want %v", s, got, want)
		}
		reference, _ := p.scaled(s, 2)
		if perRank := reference.Batch / reference.Ranks; s == weak && perRank != 512/8 {
			t.Errorf("weak: %d samples a rank", perRank)
		}
		if s == strong && reference.Batch != 512 {
			t.Errorf("strong: global batch %d", reference.Batch)
		}
	}
	if _, sync := p.scalingOf(r, weak, 8); !near(sync.AUC.Estimate, 2*doubling) {
		t.Errorf("sync, weak: %v, want %v", sync.AUC.Estimate, 2*doubling)
	}
}

// All arms of a seed have the same rows, order, initial values and scale, and no comparison has a seed of
// tuning.
func TestTrainingsArePaired(t *testing.T) {
	f := &fake{}
	p, _ := measured(t, true, f)
	for _, s := range f.specs {
		j := s.Job
		if j.Data.Synthetic.Seed != j.Training.Seed || j.Training.Scale != job.ScaleGlobal ||
			j.Training.Shuffle || !j.Data.Synthetic.Stream {
			t.Fatalf("%s: seeds %d and %d, %+v", s.Name, j.Data.Synthetic.Seed, j.Training.Seed, j.Training)
		}
		compared := j.Training.Seed < p.Seed+uint64(p.Seeds)
		if compared == (j.Data.Synthetic.TrainRows == p.TuningSteps*p.batch()) {
			t.Errorf("%s: seed %d with %d rows", s.Name, j.Training.Seed, j.Data.Synthetic.TrainRows)
		}
		if s.Simulated != (j.Training.Mode == job.Hybrid) {
			t.Errorf("%s: simulated %v", s.Name, s.Simulated)
		}
	}
}

// Persia's paper trains Criteo for 10,800 steps of 4,096 samples.
func TestPaperLength(t *testing.T) {
	p := newPlan(false, []int{9, 60}, 0)
	s := p.spec(p.mainArms()[3], p.samples(), p.nominal(), 1)
	if rows := s.Job.Data.Synthetic.TrainRows; rows != 44_236_800 || *s.Job.Training.Staleness != 60 ||
		s.Job.Roles.Ranks != 8 {
		t.Errorf("%d rows, %+v", rows, s.Job.Training)
	}
	if err := s.Job.Validate(); err != nil {
		t.Error(err)
	}
	whole := wholePlan(false, "avazu", []int{0, 3, persiaTau, 60}, 0, stepsAvazu)
	whole.more = more{Async: true, Average: true, Hot: true}
	if whole.samples() != 31_948_800 || whole.TuningSteps != 390 || whole.RefiningSteps != 1950 {
		t.Errorf("%d samples, tuned on %d steps and %d", whole.samples(), whole.TuningSteps,
			whole.RefiningSteps)
	}
	for _, a := range whole.mainArms() {
		s := whole.spec(a, whole.samples(), whole.nominal(), 1)
		if a.Hot && a.Tau != persiaTau {
			t.Errorf("hot rows beside hybrid at τ = %d", a.Tau)
		}
		if err := s.Job.Validate(); err != nil || s.Job.Data.Synthetic.Preset != "avazu" {
			t.Errorf("%v: %v, error %v", a, s.Job.Data.Synthetic.Preset, err)
		}
	}
	short := newPlan(true, []int{9, 60}, 0)
	if p.isShort() || !short.isShort() {
		t.Errorf("short: %v, quick %v", p.isShort(), short.isShort())
	}
}

func TestLagFollowsTheCurve(t *testing.T) {
	samples, auc := []int{100, 200}, []float64{0.6, 0.7}
	for at, want := range map[int]float64{200: 0.7, 150: 0.65, 50: 0.55, -10: 0.5} {
		if got := interpolated(samples, auc, at); !near(got, want) {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
}

// A training that diverged counts as a guess, and its curve is left out.
func TestDivergedTrainings(t *testing.T) {
	p, r := measured(t, false, &fake{change: func(s *trial.Spec, r *trial.Result) {
		if s.Job.Training.Mode == job.Hybrid && *s.Job.Training.Staleness == 60 {
			*r = trial.Result{Diverged: "the loss is not finite"}
		}
	}})
	if late := p.mainRuns(r)[3]; !slices.Equal(late.AUC, []float64{0.5, 0.5, 0.5}) || late.Diverged != 3 {
		t.Errorf("%+v", late)
	}
	out := p.report(r)
	if notes := strings.Join(out.Notes, "\n"); !strings.Contains(notes, "3 trainings diverged") {
		t.Errorf("notes %s", notes)
	}
	for _, line := range out.Figures[0].Lines {
		if line.Name == "hybrid τ=60" {
			t.Error("a curve of trainings that diverged")
		}
	}
}

// A small comparison from training to files. The arms have results of their own, hybrid is late by τ, and
// evaluation along the run changes no bit.
func TestReportOfTinyRuns(t *testing.T) {
	p := newPlan(true, []int{3}, 16)
	p.Job.Training.GlobalBatch = 128
	p.Job.Model.EmbeddingDim, p.Job.Model.Top = 4, []int{8}
	p.Data.Data.Synthetic = &job.Synthetic{TestRows: 200, Alpha: 0.3, Numeric: 2, Stream: true,
		Columns: []job.SyntheticColumn{{Cardinality: 50, Exponent: 1}, {Cardinality: 1000, Exponent: 1}}}
	p.ScalingRanks, p.ScalingSamples, p.Points = []int{2, 8}, 8*128, 4
	p.Seed, p.Seeds = 1, 2
	lab, err := trial.Open(report.Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	got, err := p.measure(t.Context(), lab)
	if err != nil {
		t.Fatal(err)
	}
	r := p.report(got)
	reporttest.CheckWidth(t, r)
	runs := p.mainRuns(got)
	for i, one := range runs {
		if len(one.Curve[0]) != 4 || one.CurveSamples[3] != 16*128 || one.Curve[0][3] != one.AUC[0] {
			t.Errorf("%v: curve %v at %v", one.Arm, one.Curve, one.CurveSamples)
		}
		for _, other := range runs[:i] {
			if slices.Equal(one.AUC, other.AUC) {
				t.Errorf("%v and %v have equal results", one.Arm, other.Arm)
			}
		}
	}
	if runs[2].OwnMax != 3 || runs[0].OwnMax != 0 {
		t.Errorf("own staleness %d, %d", runs[2].OwnMax, runs[0].OwnMax)
	}
	p.Points = 0
	without, err := lab.Run(t.Context(), []trial.Spec{
		p.spec(runs[0].Arm, runs[0].Samples, runs[0].Rates, 1),
		p.spec(runs[2].Arm, runs[2].Samples, runs[2].Rates, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	if without[0].AUC != runs[0].AUC[0] || without[1].AUC != runs[2].AUC[0] {
		t.Errorf("without evaluation %v, %v; with it %v, %v", without[0].AUC, without[1].AUC,
			runs[0].AUC[0], runs[2].AUC[0])
	}
	v := r.Quantities[1]
	if v.Name != "hybrid-less-sync-auc-tau-3-2048-samples" || v.Interval == (metric.Interval{}) {
		t.Errorf("%+v", r.Quantities)
	}
	if err := r.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// The ratio of samples is that at which the curves cross the AUC at which the lower one ends, along a line
// from ½ without a sample; a seed under which one diverged has none.
func TestSamplesRatioIsAtTheEndOfTheLowerCurve(t *testing.T) {
	sync := &run{CurveSamples: []int{100, 200}, Curve: [][]float64{{0.7, 0.8}, {0.7, 0.8}, {0.7, 0.8}}}
	hybrid := &run{CurveSamples: []int{100, 200}, Curve: [][]float64{{0.6, 0.75}, {0.55, 0.62}, nil}}
	// Sync crosses 0.75 after 150 samples, and 0.62 after 60; hybrid ends after 200.
	got, want := samplesRatio(sync, hybrid), metric.MeanInterval([]float64{0.75, 0.3})
	if math.Abs(got.Estimate-want.Estimate) > 1e-9 || math.Abs(got.Low-want.Low) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
	// Sync ends at 0.8, where hybrid is after 200 of its 400.
	sync.Curve = sync.Curve[:1]
	hybrid = &run{CurveSamples: []int{200, 400}, Curve: [][]float64{{0.8, 0.9}}}
	if got := samplesRatio(sync, hybrid).Estimate; got != 1 {
		t.Errorf("%v, want 1", got)
	}
}
