package predict_test

import (
	"flag"
	"testing"

	"tandem/sim/cost"
	"tandem/sim/predict"
	"tandem/sim/system"
)

var long = flag.Bool("long", false, "predict every model on every number of GPUs")

// A better resource never makes a prediction worse, on any cluster, and gains no more than it is better: it
// has the same placements of tables to choose from. What is tolerated is the order of work, not the
// placement. With tables on the accelerators, a copy that ends earlier lets the ids of the next batch share
// the wires with a more urgent collective, which costs up to 2 % of a step. With roles, jitter that falls on
// other batches costs as much.
func TestABetterResourceIsNeverWorse(t *testing.T) {
	const tolerance = 0.02
	var all []predict.Choice
	for _, name := range cost.Clusters.Names() {
		j, _, err := predict.New(predict.Choice{Preset: name, Model: "criteo", GPUs: 4})
		if err != nil {
			t.Fatal(err)
		}
		if j.Hardware.System.Architecture == system.Roles {
			all = append(all, predict.Choice{Preset: name, Model: "criteo", Mode: "hybrid", GPUs: 2})
			continue
		}
		for i, model := range []string{"mlperf-dlrm", "mlperf-dcnv2"} {
			for k, gpus := range []int{16, 64} {
				if *long || i == k {
					all = append(all, predict.Choice{Preset: name, Model: model, GPUs: gpus})
				}
			}
		}
	}
	for i, c := range all {
		j, _, err := predict.New(c)
		if err != nil {
			t.Fatal(err)
		}
		before := run(t, j, predict.Options{Steps: 6}).Mid
		for k, factor := range []float64{1.1, 2} {
			if !*long && k != i%2 {
				continue // factors take turns
			}
			for _, group := range j.Parameters().Groups() {
				after := run(t, j.Improved(group, factor), predict.Options{Steps: 6}).Mid
				change := after.Throughput/before.Throughput - 1
				if change < -tolerance || before.Graph != nil && change > (factor-1)*(1+tolerance) {
					t.Errorf("%s, %s on %d GPUs: %s better by a factor of %v: throughput %+.2f %%", c.Preset,
						c.Model, c.GPUs, group, factor, 100*change)
				}
			}
		}
	}
}
