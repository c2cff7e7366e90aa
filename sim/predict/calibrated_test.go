package predict_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"tandem/algo/quantity"
	"tandem/sim/predict"
	"tandem/sim/system"
)

// calibration has n points at which the step time of the host is short where its launches are long.
func calibration(t *testing.T, j *predict.Job, n int) *system.Calibration {
	t.Helper()
	c := &system.Calibration{Source: "test", Date: "2026",
		Names: []string{"nn-worker.step-time", "nn-worker.launch-time"}}
	for _, name := range c.Names {
		e, err := j.Parameters().Find("system." + name)
		if err != nil {
			t.Fatal(err)
		}
		low, mid, high := e.Span()
		c.Ranges = append(c.Ranges, []float64{low, mid, high})
	}
	for k := range n {
		x := 2*(float64(k)+0.5)/float64(n) - 1
		c.Points = append(c.Points, []float64{x, -x})
	}
	return c
}

// uncalibrated returns the job of a choice with the ranges of its system before its calibration.
func uncalibrated(t *testing.T, c predict.Choice) *predict.Job {
	t.Helper()
	j := choose(t, c)
	if err := j.Hardware.Uncalibrate(); err != nil {
		t.Fatal(err)
	}
	return j
}

// A calibration to one point gives the same bits as setting its values. A calibration to points at which one
// time is long where another is short narrows the interval.
func TestCalibratedPredictionsTakeThePointsOfTheCalibration(t *testing.T) {
	choice := predict.Choice{Preset: "dgx-h100", GPUs: 8, Model: "criteo", BatchPerGPU: 64,
		Set: map[string]string{"system.nn-worker.captured": "0"}}
	o := predict.Options{Samples: 8}
	free := run(t, uncalibrated(t, choice), o)

	// One point at the middle, and then the same middle set by hand: the calibrated quantities are known.
	one := uncalibrated(t, choice)
	c := calibration(t, one, 1)
	if err := one.Hardware.System.Calibrate(c); err != nil {
		t.Fatal(err)
	}
	fixed := choice
	fixed.Set = maps.Clone(choice.Set)
	for i, name := range c.Names {
		fixed.Set["system."+name] = fmt.Sprint(c.Ranges[i][1], "ns")
	}
	known := run(t, uncalibrated(t, fixed), o)
	if got := run(t, one, o); !slices.Equal(got.Samples, known.Samples) ||
		got.Mid.Throughput != known.Mid.Throughput || slices.Equal(got.Samples, free.Samples) {
		t.Errorf("calibrated to one point: %v, known: %v", got.Samples, known.Samples)
	}

	// Many points: the sum of launches and step varies less than if both are drawn on their own.
	many := uncalibrated(t, choice)
	if err := many.Hardware.System.Calibrate(calibration(t, many, 64)); err != nil {
		t.Fatal(err)
	}
	if q := many.Hardware.System.NNWorker.StepTime; q.Kind != quantity.Calibrated {
		t.Errorf("step-time is %+v", q)
	}
	o.Samples = 64
	joint := run(t, many, o)
	free = run(t, uncalibrated(t, choice), o)
	if narrow, wide := math.Log(joint.Interval.Width()), math.Log(free.Interval.Width()); narrow > 0.9*wide {
		t.Errorf("interval %+v where what is long of one is short of the other, %+v without", joint.Interval,
			free.Interval)
	}
}
