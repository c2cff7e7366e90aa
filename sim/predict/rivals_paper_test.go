package predict_test

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/sim/cost"
	"tandem/sim/model"
	"tandem/sim/predict"
)

// The price lists of XDL and PaddlePaddle are inferred from their bars at one V100 on Criteo in Persia's
// scaling figure, so they must give these bars back, which is no evidence for them: thousand samples/s, read
// from the figure.
func TestRivalsGiveBackTheBarsFromWhichTheyAreInferred(t *testing.T) {
	for _, c := range []struct {
		system, mode string
		bar          float64
	}{
		{"xdl", job.Sync, 3.0}, {"xdl", job.AsyncPS, 2.6}, {"paddlepaddle", job.Hybrid, 11.2},
	} {
		m, err := model.Load("criteo")
		if err != nil {
			t.Fatal(err)
		}
		j := job.Default()
		j.Cluster = job.PersiaCluster()
		j.Cluster.System = c.system
		j.Roles.Ranks, j.Training.GlobalBatch = 1, m.GlobalBatch(1)
		j = j.InMode(c.mode)
		hardware, _, err := cost.Load(&j.Cluster, "")
		if err != nil {
			t.Fatal(err)
		}
		p := run(t, &predict.Job{
			Job: j, Hardware: hardware, Workload: cost.ModelWorkload(m, m.Precisions.Rows, job.Hot{}),
			Layout: m.Layout(),
		}, predict.Options{})
		if got := p.Mid.Throughput / 1e3; math.Abs(got/c.bar-1) > 0.2 {
			t.Errorf("%s in mode %s: %.2f thousand samples/s, want %v", c.system, c.mode, got, c.bar)
		}
	}
}
