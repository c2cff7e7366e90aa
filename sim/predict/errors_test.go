package predict_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"tandem/sim/predict"
	"tandem/sim/system"
)

// spread returns the standard deviation of the logarithms of a over b, point by point.
func spread(a, b *predict.Prediction) float64 {
	var logs []float64
	for k := range a.Samples {
		logs = append(logs, math.Log(a.Samples[k]/b.Samples[k]))
	}
	return stat.StdDev(logs, nil)
}

// What predictions with a system were off by is in every interval. The common part cancels in ratios, and all
// of it in those of one setting on better hardware.
func TestIntervalsContainTheErrorOfTheModel(t *testing.T) {
	of := func(gpus int, a *system.Accuracy, set map[string]string) *predict.Prediction {
		j := choose(t, predict.Choice{Preset: "dgx-h100", GPUs: gpus, Model: "criteo", Set: set})
		j.Hardware.System.Accuracy = a
		return run(t, j, predict.Options{Samples: 64, WithoutEnds: true})
	}
	const common, single = 0.2, 0.1
	a := &system.Accuracy{Common: common, Single: single}
	exact8, exact16 := of(8, nil, nil), of(16, nil, nil)
	with8, with16 := of(8, a, nil), of(16, a, nil)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.05*want+1e-9 {
			t.Errorf("%s: spread %.4f, want %.4f", what, got, want)
		}
	}
	both := math.Hypot(common, single)
	if got := spread(with8, exact8); math.Abs(got-both) > 0.3*both {
		t.Errorf("8 GPUs: spread %.3f of the errors, want %.3f", got, both)
	}
	near("common part alone", spread(of(8, &system.Accuracy{Common: common}, nil), exact8), common)
	near("single part alone", spread(of(16, &system.Accuracy{Single: single}, nil), exact16), single)
	// Errors of a ratio: those of the two settings, which are a factor of two apart.
	var logs []float64
	for k := range with8.Samples {
		of16, of8 := with16.Samples[k]/exact16.Samples[k], with8.Samples[k]/exact8.Samples[k]
		logs = append(logs, math.Log(of16/of8))
	}
	if got, want := stat.StdDev(logs, nil), math.Sqrt2*single; math.Abs(got-want) > 0.3*want {
		t.Errorf("ratio of 16 to 8 GPUs: spread %.3f of the errors, want %.3f", got, want)
	}
	slow := map[string]string{"host-link.bandwidth": "10GB/s"}
	near("what-if of hardware", spread(of(8, a, slow), with8), spread(of(8, nil, slow), exact8))
	if with8.Mid.Throughput != exact8.Mid.Throughput || !with8.Interval.Contains(exact8.Mid.Throughput) ||
		with8.Interval.Width() <= exact8.Interval.Width() {
		t.Errorf("%v in %+v, without errors %v in %+v", with8.Mid.Throughput, with8.Interval,
			exact8.Mid.Throughput, exact8.Interval)
	}
}
