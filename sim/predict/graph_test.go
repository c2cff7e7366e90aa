package predict_test

import (
	"testing"

	"tandem/sim/predict"
)

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
