package predict_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/sim/cluster"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// persia returns a job on 8 GPUs of Persia's cluster.
func persia(t *testing.T) *predict.Job {
	t.Helper()
	j := smallJob()
	j.Roles.Ranks, j.Training.GlobalBatch = 8, 8*512
	h, _, err := cost.Load(&j.Cluster, "")
	if err != nil {
		t.Fatal(err)
	}
	return &predict.Job{Job: j, Hardware: h, Workload: clicks(), Layout: smallLayout()}
}

// run predicts a job and fails the test on an error.
func run(t *testing.T, j *predict.Job, o predict.Options) *predict.Prediction {
	t.Helper()
	p, err := predict.Run(context.Background(), j, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMiddleIsOneRunAndTheIntervalIsAroundIt(t *testing.T) {
	j := persia(t)
	p := run(t, j, predict.Options{Samples: 64})
	if !(p.Worst < p.Interval.Low && p.Interval.Low < p.Mid.Throughput &&
		p.Mid.Throughput < p.Interval.High && p.Interval.High < p.Best) {
		t.Errorf("%.0f, interval %+v, ends %.0f and %.0f", p.Mid.Throughput, p.Interval, p.Worst, p.Best)
	}
	middle, err := cluster.Run(j.Hardware, j.Job, j.Layout, j.Workload, cluster.Options{SystemJitter: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.Mid.Throughput != middle.Throughput {
		t.Errorf("the prediction is %v, a run at the middle %v", p.Mid.Throughput, middle.Throughput)
	}
	for _, a := range j.Hardware.Assumptions(0) {
		if a.Name == "" || a.Source == "" || a.Kind == "" {
			t.Errorf("assumption without name, kind or source: %+v", a)
		}
	}
}

// The number of workers changes nothing, and neither does what was predicted before.
func TestPredictionIsDeterministic(t *testing.T) {
	j := persia(t)
	one := run(t, j, predict.Options{Samples: 16, Seeds: 2, Workers: 1})
	four := run(t, j, predict.Options{Samples: 16, Seeds: 2, Workers: 4})
	if !slices.Equal(one.Samples, four.Samples) || *one.Interval != *four.Interval ||
		*one.CI95 != *four.CI95 {
		t.Errorf("%v with one worker, %v with four", one, four)
	}
}

// More seeds narrow the confidence interval over seeds, and leave the interval over unknowns alone.
func TestSeedsNarrowOnlyTheirOwnInterval(t *testing.T) {
	few := run(t, persia(t), predict.Options{Samples: 16, Seeds: 3, Steps: 8})
	many := run(t, persia(t), predict.Options{Samples: 16, Seeds: 24, Steps: 8})
	if *few.Interval != *many.Interval || !slices.Equal(few.Samples, many.Samples) {
		t.Errorf("interval %+v with 3 seeds, %+v with 24", few.Interval, many.Interval)
	}
	if narrow, wide := many.CI95.High-many.CI95.Low, few.CI95.High-few.CI95.Low; narrow <= 0 ||
		2*narrow > wide {
		t.Errorf("CI95 %+v with 3 seeds, %+v with 24", few.CI95, many.CI95)
	}
	if mid := many.Mid.Throughput; many.Interval.Width() < 1+2*(many.CI95.High-many.CI95.Low)/mid {
		t.Errorf("interval %+v is not wider than CI95 %+v", many.Interval, many.CI95)
	}
}

// Hybrid never waits for what sync waits for, at no point of the box. What the two share cancels in the
// ratio, which is narrower than either.
func TestRatioComparesPointByPoint(t *testing.T) {
	hybrid := run(t, persia(t), predict.Options{Samples: 32, WithoutEnds: true})
	j := persia(t)
	j.Job = j.InMode(job.Sync)
	sync := run(t, j, predict.Options{Samples: 32, WithoutEnds: true})
	ratio := predict.Ratio(hybrid, sync)
	if ratio.Low < 0.98 || ratio.Width() > hybrid.Interval.Width() {
		t.Errorf("hybrid/sync is %+v; hybrid %+v", ratio, hybrid.Interval)
	}
	if predict.Ratio(hybrid, run(t, j, predict.Options{})) != nil {
		t.Error("a prediction without samples has a ratio")
	}
}

func TestPercentilesLeaveOutWhatDoesNotFit(t *testing.T) {
	values := []float64{math.NaN()}
	for i := range 101 {
		values = append(values, float64(100-i))
	}
	if got := predict.Percentiles(values); *got != (predict.Interval{Low: 1, High: 99}) {
		t.Errorf("percentiles %+v", got)
	}
	if got := predict.Percentiles(values[:1]); got != nil {
		t.Errorf("percentiles of nothing are %+v", got)
	}
}

// Every group is improved alone: a second call, which improves the same hardware again, returns the same
// changes.
func TestSensitivitiesLeaveTheHardwareAlone(t *testing.T) {
	j := persia(t)
	first, err := predict.Sensitivities(context.Background(), j, predict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := predict.Sensitivities(context.Background(), j, predict.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != len(j.Parameters().Groups()) || !slices.Equal(first, second) {
		t.Errorf("changes %v, then %v", first, second)
	}
	for i, s := range first {
		if i > 0 && math.Abs(s.Change) > math.Abs(first[i-1].Change) {
			t.Errorf("%v is not sorted", first)
		}
	}
	if first[0].Change < 0.01 {
		t.Errorf("the best improvement, %+v, changes nothing", first[0])
	}
}

// The effects of the few parameters that matter account for the variance; a parameter that the job does not
// use has none.
func TestEffectsRankWhatMatters(t *testing.T) {
	j := persia(t)
	j.Roles.Ranks, j.Training.GlobalBatch = 1, 512
	effects, err := predict.Effects(context.Background(), j, predict.Options{Steps: 4})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, e := range effects {
		if i > 0 && e.Share > effects[i-1].Share {
			t.Fatalf("%v is not sorted", effects)
		}
		sum += e.Share
	}
	t.Logf("effects %v", effects[:5])
	if sum < 0.6 || effects[0].Share < 0.1 {
		t.Errorf("effects sum to %.2f, the largest is %+v", sum, effects[0])
	}
	i := slices.IndexFunc(effects, func(e predict.Effect) bool { return e.Name == "system.dense-ps.width" })
	if i >= 0 && effects[i].Share != 0 {
		t.Errorf("hybrid training has no dense PSs: %+v", effects[i])
	}
}

// Cancelled predictions end with the reason.
func TestCancelledRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := predict.Run(ctx, persia(t), predict.Options{Samples: 8}); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}
