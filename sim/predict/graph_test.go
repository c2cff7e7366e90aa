package predict_test

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/protocol/fault"
	"tandem/sim/predict"
)

// What is reported of a step graph is a sampled point, half of which are faster.
func TestAStepGraphIsReportedAtItsMedian(t *testing.T) {
	j := choose(t, predict.Choice{Preset: "dgx-h100", GPUs: 16, GlobalBatch: 55_296})
	j.Hardware.System.Accuracy = nil // errors would blur the samples
	p := run(t, j, predict.Options{Samples: 33, WithoutEnds: true})
	faster := 0
	for _, x := range p.Samples {
		if x > p.Mid.Throughput {
			faster++
		}
	}
	if faster != 16 || !slices.Contains(p.Samples, p.Mid.Throughput) ||
		p.Mid.Graph.StepTime != p.Mid.StepTime {
		t.Errorf("%d of 33 points are faster than %v", faster, p.Mid.Throughput)
	}
	if m := predict.Median(append([]float64{math.NaN()}, p.Samples...)); m != p.Mid.Throughput {
		t.Errorf("median %v, want %v", m, p.Mid.Throughput)
	}
}

// At one global batch, eight times the accelerators are faster, and not eight times as fast. The middle is in
// the interval.
func TestStrongScalingOfAStepGraph(t *testing.T) {
	before := 0.0
	for _, gpus := range []int{8, 64} {
		j := choose(t, predict.Choice{Preset: "dgx-h100", GPUs: gpus, GlobalBatch: 55_296})
		p := run(t, j, predict.Options{Samples: 16})
		now := p.Mid.Throughput
		t.Logf("%d GPUs: %v a step, %.0f to %.0f samples/s", gpus, p.Mid.StepTime, p.Interval.Low,
			p.Interval.High)
		if now <= before || before > 0 && now > 8*before || !p.Interval.Contains(now) {
			t.Errorf("%d GPUs: %.0f samples/s, in %+v, after %.0f", gpus, now, p.Interval, before)
		}
		before = now
	}
}

// One slow rank holds up a step graph, which has no roles but ranks.
func TestSlowRankOfAStepGraph(t *testing.T) {
	choose := func(slow string) *predict.Job {
		roles, err := fault.ParseSlow(slow)
		if err != nil {
			t.Fatal(err)
		}
		return choose(t, predict.Choice{Preset: "dgx-h100", GPUs: 8, GlobalBatch: 55_296, Slow: roles})
	}
	o := predict.Options{Steps: 4}
	healthy, one, all := run(t, choose("none"), o), run(t, choose("nn-worker/3=2"), o),
		run(t, choose("nn-worker=2"), o)
	ratio := one.Mid.StepTime.Seconds() / healthy.Mid.StepTime.Seconds()
	if ratio < 1.3 || ratio > 2 || one.Mid.StepTime != all.Mid.StepTime {
		t.Errorf("a step takes %v, with a slow rank %v, with slow ranks %v", healthy.Mid.StepTime,
			one.Mid.StepTime, all.Mid.StepTime)
	}
	for slow, want := range map[string]string{
		"embedding-ps=2": "slow[0].role = embedding-ps; system hugectr has no roles but nn-worker",
		"nn-worker/8=2":  "slow[0].role = nn-worker/8; the job has 8 of nn-worker, counted from 0",
	} {
		if _, err := predict.Run(t.Context(), choose(slow), o); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", slow, err, want)
		}
	}
}
