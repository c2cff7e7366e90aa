package fit_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/sim/fit"
	"tandem/sim/graph"
	"tandem/sim/param"
	"tandem/sim/predict"
	"tandem/sim/system"
)

// dlrm returns a job of the DLRM of MLPerf on A100s.
func dlrm(t *testing.T, gpus, batch int) *predict.Job {
	t.Helper()
	j, _, err := predict.New(predict.Choice{Preset: "dgx-a100", Model: "mlperf-dlrm", GPUs: gpus,
		GlobalBatch: batch})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Hardware.Uncalibrate(); err != nil {
		t.Fatal(err)
	}
	return j
}

// only returns a job of which all but some quantities of the host thread are known. The launches of its small
// batch leave the accelerators idle, so the host thread bounds the step.
func only(t *testing.T, names ...string) *predict.Job {
	t.Helper()
	free := dlrm(t, 8, 2048)
	j := free.At(free.Parameters().Everywhere(0))
	from, to := &free.Hardware.System.NNWorker, &j.Hardware.System.NNWorker
	for _, name := range names {
		switch name {
		case "step-time":
			to.StepTime = from.StepTime
		case "launch-time":
			to.LaunchTime = from.LaunchTime
		}
	}
	return j
}

// at returns the time of a step of a job at a point of its ranges, as a measurement.
func at(t *testing.T, j *predict.Job, p param.Point) fit.Measurement {
	t.Helper()
	timer, err := predict.NewTimer(t.Context(), j, predict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := timer.Seconds(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return fit.Measurement{Job: j, Seconds: seconds,
		Name: fmt.Sprintf("%d GPUs, batch %d", j.Roles.Ranks, j.Training.GlobalBatch)}
}

// hidden returns the time of a step at a point that is the same for jobs on the same hardware.
func hidden(t *testing.T, j *predict.Job) fit.Measurement {
	t.Helper()
	return at(t, j, j.Parameters().Sample(8, 99)[3])
}

// small are options for few simulations.
var small = fit.Options{Points: 32, Prior: 64, Seed: 1}

func mustFit(t *testing.T, o fit.Options, steps ...fit.Measurement) *fit.Posterior {
	t.Helper()
	p, err := fit.Fit(t.Context(), steps, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// positions returns the positions of a quantity at all points.
func positions(t *testing.T, c *system.Calibration, name string) (list []float64) {
	t.Helper()
	i := slices.Index(c.Names, name)
	if i < 0 {
		t.Fatalf("%s is not among %v", name, c.Names)
	}
	for _, p := range c.Points {
		list = append(list, p[i])
	}
	return list
}

func moments(values []float64) (mean, deviation float64) {
	for _, x := range values {
		mean += x / float64(len(values))
	}
	for _, x := range values {
		deviation += (x - mean) * (x - mean) / float64(len(values))
	}
	return mean, math.Sqrt(deviation)
}

// Of one unknown, the posterior is known from the likelihood on a grid of its range. The standard error of
// the mean of 64 points is 0.13 of their standard deviation, and moves leave some correlation.
func TestPosteriorOfOneQuantityIsItsLikelihood(t *testing.T) {
	j := only(t, "step-time")
	truth := at(t, j, j.Parameters().Everywhere(-0.4))
	p := mustFit(t, fit.Options{Points: 64, Prior: 64, Seed: 1}, truth)
	mean, deviation := moments(positions(t, p.Calibration, "nn-worker.step-time"))

	var all, first, second float64
	for k := range 101 {
		x := float64(k)/50 - 1
		e := math.Log(at(t, j, j.Parameters().Everywhere(x)).Seconds/truth.Seconds) / 0.1
		w := math.Exp(-e * e / 2)
		all, first, second = all+w, first+w*x, second+w*x*x
	}
	wantMean := first / all
	wantDeviation := math.Sqrt(second/all - wantMean*wantMean)
	t.Logf("mean %.3f, deviation %.3f; want %.3f and %.3f", mean, deviation, wantMean, wantDeviation)
	if math.Abs(mean-wantMean) > 0.3*wantDeviation || math.Abs(deviation/wantDeviation-1) > 0.25 {
		t.Errorf("mean %.3f, deviation %.3f; want %.3f and %.3f", mean, deviation, wantMean, wantDeviation)
	}
	if q := p.Quantities[0]; q.Remains > 0.5 || len(p.Quantities) != 1 {
		t.Errorf("quantities %+v", p.Quantities)
	}
}

// A step that is bound by one thread tells the sum of its two costs. If one of them takes longer, the other
// takes less, and the pair is reported.
func TestQuantitiesThatCannotBeToldApartAreNamed(t *testing.T) {
	j := only(t, "step-time", "launch-time")
	o := small
	o.Sigma = 0.02
	p := mustFit(t, o, at(t, j, j.Parameters().Everywhere(-0.5)))
	t.Logf("%+v %+v", p.Confounded, p.Quantities)
	if len(p.Confounded) != 1 || p.Confounded[0].A != "system.nn-worker.step-time" ||
		p.Confounded[0].B != "system.nn-worker.launch-time" || p.Confounded[0].Correlation > -0.7 {
		t.Errorf("confounded are %+v", p.Confounded)
	}
}

// Two steps at a hidden point predict a third one.
func TestTwoStepsPredictAThird(t *testing.T) {
	p := mustFit(t, small, hidden(t, dlrm(t, 8, 4096)), hidden(t, dlrm(t, 1, 8192)))
	for _, s := range p.Steps {
		if math.Abs(math.Log(s.After/s.Measured)) > 0.1 || s.Low > s.Measured || s.High < s.Measured {
			t.Errorf("fitted to %+v", s)
		}
	}
	third := hidden(t, dlrm(t, 8, 16_384))
	o := predict.Options{Samples: 64, WithoutEnds: true}
	predicted := func() (seconds, low, high float64) {
		r, err := predict.Run(t.Context(), third.Job, o)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(third.Job.Training.GlobalBatch)
		return r.Mid.StepTime.Seconds(), n / r.Interval.High, n / r.Interval.Low
	}
	before, wideLow, wideHigh := predicted()
	c := *p.Calibration
	c.Source, c.Date = "test", "2026"
	if err := third.Job.Hardware.System.Calibrate(&c); err != nil {
		t.Fatal(err)
	}
	after, low, high := predicted()
	t.Logf("%.3g ms; before %.3g (%.3g to %.3g), after %.3g (%.3g to %.3g)", 1e3*third.Seconds, 1e3*before,
		1e3*wideLow, 1e3*wideHigh, 1e3*after, 1e3*low, 1e3*high)
	if miss := math.Abs(math.Log(after / third.Seconds)); miss > 0.1 ||
		miss > math.Abs(math.Log(before/third.Seconds)) {
		t.Errorf("%.3g ms predicted for %.3g", 1e3*after, 1e3*third.Seconds)
	}
	if third.Seconds < low || third.Seconds > high {
		t.Errorf("%.3g ms are outside of %.3g to %.3g", 1e3*third.Seconds, 1e3*low, 1e3*high)
	}
	if math.Log(high/low) > 0.8*math.Log(wideHigh/wideLow) {
		t.Errorf("the interval is %.3g to %.3g ms, and was %.3g to %.3g", 1e3*low, 1e3*high, 1e3*wideLow,
			1e3*wideHigh)
	}
	// One server says nothing about the network. Its step hardly says how often indices are sorted.
	for _, q := range p.Quantities {
		if strings.HasPrefix(q.Name, "collectives.network") || strings.HasPrefix(q.Name, "loader") {
			t.Errorf("%s is calibrated", q.Name)
		}
		if q.Name == "embedding-kernels.passes" && q.Remains < 0.5 {
			t.Errorf("of the range of passes, %.0f %% remain", 100*q.Remains)
		}
	}
}

// Of a small all-reduce, most is its launch. Predictions take their middle from the first point, which
// explains the step best.
func TestCollectivesCalibrateTheirPrices(t *testing.T) {
	free := dlrm(t, 8, 65_536)
	j := free.At(free.Parameters().Everywhere(0))
	j.Hardware.System.Collectives.LaunchTime = free.Hardware.System.Collectives.LaunchTime
	timer, err := predict.NewCollectiveTimer(j, graph.AllReduce, 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := timer.Seconds(t.Context(), j.Parameters().Everywhere(-0.7))
	if err != nil {
		t.Fatal(err)
	}
	step := fit.Measurement{Name: "small", Job: j, Seconds: seconds, Collective: graph.AllReduce,
		Bytes: 4 << 10, Sigma: 0.02}
	p := mustFit(t, small, step)
	launch := positions(t, p.Calibration, "collectives.launch-time")
	if mean, _ := moments(launch); math.Abs(mean+0.7) > 0.1 {
		t.Errorf("launch-time is at %.2f, want −0.7", mean)
	}
	off := func(position float64) float64 {
		predicted, err := timer.Seconds(t.Context(), j.Parameters().Everywhere(position))
		if err != nil {
			t.Fatal(err)
		}
		return math.Abs(math.Log(predicted / seconds))
	}
	const rounding = 1e-4 // of positions
	for _, position := range launch[1:] {
		if off(position) < off(launch[0])-rounding {
			t.Errorf("%v explains the step better than the first point, %v", position, launch[0])
		}
	}
	step.Sigma = -1
	if _, err := fit.Fit(t.Context(), []fit.Measurement{step}, small); !errors.Is(err, fit.ErrInput) {
		t.Errorf("error %v", err)
	}
	roles, _, err := predict.New(predict.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	step.Sigma, step.Job = 0, roles
	if _, err := fit.Fit(t.Context(), []fit.Measurement{step}, small); !errors.Is(err, predict.ErrChoice) {
		t.Errorf("error %v", err)
	}
}

func TestFitDoesNotDependOnWorkers(t *testing.T) {
	o := fit.Options{Points: 8, Prior: 16, Seed: 2}
	step := hidden(t, dlrm(t, 8, 4096))
	o.Workers = 1
	one := mustFit(t, o, step)
	o.Workers = 3
	if three := mustFit(t, o, step); !reflect.DeepEqual(one, three) {
		t.Errorf("%+v with one worker, %+v with three", one, three)
	}
	o.Seed = 3
	if other := mustFit(t, o, step); reflect.DeepEqual(one, other) {
		t.Error("another seed gives the same points")
	}
}

// A step time of 29 ms takes 40 ms on the host, whose cores have 0.72 of the speed for which system software
// is priced.
func TestStepThatNothingExplains(t *testing.T) {
	j := only(t, "step-time", "launch-time")
	_, err := fit.Fit(t.Context(), []fit.Measurement{{Name: "slow", Job: j, Seconds: 0.04}}, small)
	if !errors.Is(err, fit.ErrUnexplained) || !strings.Contains(err.Error(), "slow takes 40 ms") ||
		!strings.Contains(err.Error(), "system.nn-worker.step-time alone would explain it at 28.9ms, "+
			"outside of its range of 20us to 1ms") {
		t.Errorf("error %v", err)
	}
	_, err = fit.Fit(t.Context(), []fit.Measurement{{Name: "fast", Job: j, Seconds: 1e-7}}, small)
	if !errors.Is(err, fit.ErrUnexplained) ||
		!strings.Contains(err.Error(), "no quantity alone explains it") {
		t.Errorf("error %v", err)
	}
}

func TestContradictionsAreNamed(t *testing.T) {
	j := only(t, "step-time")
	v := j.Parameters()
	low, high := at(t, j, v.Everywhere(1)), at(t, j, v.Everywhere(-1))
	low.Name, high.Name = "first", "second"
	_, err := fit.Fit(t.Context(), []fit.Measurement{low, high}, small)
	if !errors.Is(err, fit.ErrContradiction) || !strings.Contains(err.Error(), "first takes ") ||
		!strings.Contains(err.Error(), " and second takes ") {
		t.Errorf("error %v", err)
	}
}

func TestBadInputIsRefused(t *testing.T) {
	j := only(t, "step-time")
	good := at(t, j, j.Parameters().Everywhere(0))
	other := good
	other.Job = only(t, "launch-time")
	calibrated := good
	calibrated.Job = only(t, "step-time")
	if err := calibrated.Job.Hardware.System.Calibrate(&system.Calibration{Source: "test", Date: "2026",
		Names:  []string{"nn-worker.step-time"},
		Ranges: [][]float64{{20_000, 200_000, 1e6}}, Points: [][]float64{{0}}}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		steps []fit.Measurement
		want  string
	}{
		"nothing":    {nil, "there are none"},
		"time":       {[]fit.Measurement{{Name: "x", Job: j}}, "x takes 0 s; want a time above 0"},
		"systems":    {[]fit.Measurement{good, other}, "or other values of it; use one system"},
		"calibrated": {[]fit.Measurement{calibrated}, "system hugectr is calibrated already"},
	} {
		if _, err := fit.Fit(t.Context(), test.steps, small); !errors.Is(err, fit.ErrInput) ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	if _, err := fit.Fit(t.Context(), []fit.Measurement{good}, fit.Options{Sigma: -1}); err == nil {
		t.Error("a negative sigma is accepted")
	}
	if _, err := fit.Fit(t.Context(), []fit.Measurement{good}, fit.Options{Points: 4}); err == nil {
		t.Error("4 points are accepted")
	}
}
