package jobfile

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/datasets/synth"
	"tandem/sim/cluster"
)

// What follows from the law of generated data is what counting finds in them.
func TestExpectedAgreesWithCounted(t *testing.T) {
	j := Job{Data: datasets.Config{Kind: datasets.Synthetic, Synthetic: &synth.Spec{
		Seed: 1, TrainRows: 40_000, TestRows: 10, Numeric: 3,
		Columns: []synth.Column{{Cardinality: 100_000, Exponent: 1.1}, {Cardinality: 20, Exponent: 0.5}},
	}}, Training: job.Default(), Cluster: cluster.Persia()}
	expected, expectedLayout, err := j.Simulated("")
	if err != nil {
		t.Fatal(err)
	}
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	counted, countedLayout, err := Counted(data, &j.Training)
	if err != nil {
		t.Fatal(err)
	}
	if expected.Occurrences != 2 || counted.Occurrences != 2 || expected.RowDim != 16 || expected.RowState != counted.RowState {
		t.Errorf("expected %+v, counted %+v", expected, counted)
	}
	if expectedLayout.Params != countedLayout.Params {
		t.Errorf("%d and %d parameters", expectedLayout.Params, countedLayout.Params)
	}
	for _, samples := range []int{64, 1024, 5000} {
		// The mean of 8 windows of s samples deviates by less than √(d/8).
		e, c := expected.Distinct(samples), counted.Distinct(samples)
		if math.Abs(e-c) > 4*math.Sqrt(e/windowsMax) {
			t.Errorf("%d samples: expected %.1f distinct rows, counted %.1f", samples, e, c)
		}
	}
}

// Equal ids in two slots are two rows, so a sample has as many rows as slots; more
// samples than there are count as all of them.
func TestDistinctCountsSigns(t *testing.T) {
	j := AdultIncome()
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := Counted(data, &j.Training)
	if err != nil {
		t.Fatal(err)
	}
	if w.Occurrences != float64(len(data.Schema.Slots)) {
		t.Errorf("%v ids a sample, %d slots of one id each", w.Occurrences, len(data.Schema.Slots))
	}
	if one := w.Distinct(1); one != w.Occurrences {
		t.Errorf("a sample has %v distinct rows, want %v", one, w.Occurrences)
	}
	if all, more := w.Distinct(data.Train.Samples), w.Distinct(10*data.Train.Samples); all != more || w.Rows != all {
		t.Errorf("all samples have %v rows, ten times as many %v, the table %v", all, more, w.Rows)
	}
}
