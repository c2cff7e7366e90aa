package predict_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/sim/cluster"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// persia returns a job on 8 GPUs of Persia's cluster.
func persia(t *testing.T) (*cost.Hardware, job.Job) {
	t.Helper()
	j := smallJob()
	j.Roles.Ranks, j.Training.GlobalBatch = 8, 8*512
	h, err := cost.Load(&j.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	return h, j
}

func TestPredictSpansTheRanges(t *testing.T) {
	h, j := persia(t)
	runs := 0
	p, err := predict.Predict(h, j, smallLayout(), clicks(), cluster.Options{}, func() { runs++ })
	if err != nil {
		t.Fatal(err)
	}
	if !(p.Low < p.Throughput && p.Throughput < p.High) || runs != len(predict.Positions()) {
		t.Errorf("%.0f to %.0f around %.0f in %d runs", p.Low, p.High, p.Throughput, runs)
	}
	middle, err := cluster.Run(h, j, smallLayout(), clicks(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.Result, middle) {
		t.Errorf("the prediction is %+v, a run at the middle %+v", p.Result, middle)
	}
	for _, a := range p.Assumptions {
		if a.Name == "" || a.Source == "" || a.Kind == "" {
			t.Errorf("assumption without name, kind or source: %+v", a)
		}
	}
}

// Every group is improved alone: a second call, which improves the same hardware again, returns the same
// changes.
func TestSensitivitiesLeaveTheHardwareAlone(t *testing.T) {
	h, j := persia(t)
	calls := 0
	first, err := predict.Sensitivities(h, j, smallLayout(), clicks(), func(done, total int) {
		if done != calls || total != len(h.Groups()) {
			t.Errorf("%d of %d groups are done in call %d", done, total, calls)
		}
		calls++
	})
	if err != nil {
		t.Fatal(err)
	}
	second, err := predict.Sensitivities(h, j, smallLayout(), clicks(), func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != len(h.Groups()) || !slices.Equal(first, second) {
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
