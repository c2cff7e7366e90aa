package predict_test

import (
	"context"
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// suspects are parameters of which some matter to the ratio and some do not.
var suspects = []string{
	"embedding-workers.core-speed", "embedding-workers.network", "embedding-ps.count", "loaders.memory",
	"system.embedding-worker.threads", "system.messages.byte-time", "system.nn-worker.captured",
}

// hybridOverSync returns the ratio of the throughputs of a small job in modes hybrid and sync, with some
// parameters of its cluster set.
func hybridOverSync(t *testing.T, set map[string]string) (ratio float64, hybrid, sync *predict.Job) {
	t.Helper()
	j := smallJob()
	j.Cluster.Set = set
	hardware, _, err := cost.Load(&j.Cluster, "")
	if err != nil {
		t.Fatal(err)
	}
	hybrid = &predict.Job{Job: j, Hardware: hardware, Workload: clicks(), Layout: smallLayout()}
	other := *hybrid
	other.Job = j.InMode(job.Sync)
	o := predict.Options{Steps: 20}
	return run(t, hybrid, o).Mid.Throughput / run(t, &other, o).Mid.Throughput, hybrid, &other
}

// With the value of a cause as the only change, the ratio is the target. Sync waits for what hybrid hides, so
// slower cores of embedding workers are among the causes of a larger ratio.
func TestCausesReachTheirTarget(t *testing.T) {
	now, hybrid, sync := hybridOverSync(t, nil)
	target := 1.3 * now
	causes, err := predict.Causes(context.Background(), hybrid, sync, suspects, target,
		predict.Options{Steps: 20}, nil)
	if err != nil {
		t.Fatal(err)
	}
	slowerEW := false
	for i, c := range causes {
		if i > 0 && c.Reaches && (!causes[i-1].Reaches ||
			math.Abs(math.Log(c.Factor)) < math.Abs(math.Log(causes[i-1].Factor))) {
			t.Errorf("%+v after %+v", c, causes[i-1])
		}
		slowerEW = slowerEW || c.Name == "embedding-workers.core-speed" && c.Reaches && c.Factor < 1
		if !c.Reaches {
			continue
		}
		if got, _, _ := hybridOverSync(t, map[string]string{c.Name: c.Value}); math.Abs(got/target-1) > 0.03 {
			t.Errorf("ratio %.4g with %s = %s, want %.4g", got, c.Name, c.Value, target)
		}
	}
	if !slowerEW {
		t.Errorf("the cores of embedding workers are no cause of a larger ratio: %+v", causes)
	}
}

// A ratio that nothing explains alone has no cause.
func TestNothingReachesAnAbsurdRatio(t *testing.T) {
	_, hybrid, sync := hybridOverSync(t, nil)
	causes, err := predict.Causes(context.Background(), hybrid, sync, suspects, 1e3,
		predict.Options{Steps: 20}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range causes {
		if c.Reaches || i > 0 && c.Ratio > causes[i-1].Ratio {
			t.Fatalf("%+v after %+v", c, causes[max(0, i-1)])
		}
	}
}
