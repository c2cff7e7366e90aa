package cluster

import (
	"flag"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/sim/cost"
)

// tower is the layout of Persia's network over 26 slots and 13 numbers.
func tower(t testing.TB) *model.Layout {
	t.Helper()
	schema := &batch.Schema{Dense: make([]string, 13), Labels: []string{"label"}}
	for range 26 {
		schema.Slots = append(schema.Slots, batch.Slot{Dim: 16})
	}
	engine, err := model.New(model.PersiaTower(), schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Layout()
}

// clicks is a workload of the size of Criteo's; distinct rows follow a power of the samples.
func clicks() cost.Workload {
	return cost.Workload{
		Occurrences: 26,
		Distinct: func(samples int) float64 {
			return min(26*float64(samples),
				18*math.Pow(float64(samples), 0.9))
		},
		RowDim: 16, RowBytes: 64, RowState: 64, Labels: 1, Rows: 33.76e6,
	}
}

// hotClicks is clicks with 10,000 hot rows, which half of the ids name. A tenth of the bags with hot rows has
// other rows, too.
func hotClicks() cost.Workload {
	w := clicks()
	w.Slots, w.Hot = 26, &cost.HotRows{
		Rows: 10_000, Values: 160_000,
		Skew: func(samples, servers int) float64 { return 1 },
		Batch: func(samples int) cost.HotBatch {
			n := float64(samples)
			return cost.HotBatch{Rows: min(10_000, 2*n), Cold: n, Occurrences: 13 * n, Pooled: 14.3 * n,
				Bags: 13 * n, ToRank: 13 * 16 * n, ToEW: 14.3 * 16 * n}
		},
	}
	return w
}

// hotTraining is training with hot rows.
func hotTraining(mode string, ranks int) job.Job {
	j := training(mode, ranks)
	j.Rows.Hot.Share = 0.001
	return j
}

// training is a job of 512 samples a rank; of more than 8, a power of two.
func training(mode string, ranks int) job.Job {
	t := job.Default()
	t.Training.Mode, t.Roles.Ranks, t.Training.GlobalBatch, t.Training.Groups = mode, ranks, 512*ranks, max(8,
		ranks)
	t.Model.Spec = model.PersiaTower()
	return t
}

// hardwareOf loads the profiles of a cluster.
func hardwareOf(t rapid.TB, c job.Cluster) *cost.Hardware {
	t.Helper()
	h, _, err := cost.Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// run simulates on a cluster and fails the test on an error.
func run(t testing.TB, c job.Cluster, j job.Job, o Options) Result {
	t.Helper()
	return runOn(t, hardwareOf(t, c), j, o)
}

// runOn simulates on hardware and fails the test on an error.
func runOn(t testing.TB, h *cost.Hardware, j job.Job, o Options) Result {
	t.Helper()
	w := clicks()
	if j.HasHotRows() {
		w = hotClicks()
	}
	if j.MixesPlacements() {
		w = clicksBySlot()
	}
	a, err := Run(h, j, tower(t), w, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// checkSome is rapid.Check with 30 draws instead of 100, unless a flag asks for more.
func checkSome(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if !*long && checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("30"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Value.Set(checks.DefValue) }()
	}
	rapid.Check(t, property)
}
