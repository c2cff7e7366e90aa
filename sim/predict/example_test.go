package predict_test

import (
	"context"
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// smallJob is a job of 4 ranks in mode hybrid, on Persia's cluster.
func smallJob() job.Job {
	j := job.Default()
	j.Cluster = job.PersiaCluster()
	j.Training.Mode = job.Hybrid
	j.Roles.Ranks, j.Training.GlobalBatch = 4, 4*512
	return j
}

// smallLayout is the dense network of a job with 13 numbers and 26 categories a sample.
func smallLayout() *model.Layout {
	schema := &batch.Schema{Dense: make([]string, 13), Labels: []string{"click"}}
	for range 26 {
		schema.Slots = append(schema.Slots, batch.Slot{Dim: 16})
	}
	network, err := model.New(model.PersiaTower(), schema, nil)
	if err != nil {
		panic(err) // the network and the schema are constants
	}
	return network.Layout()
}

// clicks describes data with 26 ids a sample. The number of distinct rows in a batch grows more slowly than
// the batch, because popular ids repeat.
func clicks() cost.Workload {
	return cost.Workload{
		Occurrences: 26,
		Distinct:    func(samples int) float64 { return 18 * math.Pow(float64(samples), 0.9) },
		RowDim:      16, RowBytes: 64, RowState: 64, Labels: 1, Rows: 33.76e6,
	}
}

// A job on 4 GPUs of Persia's cluster, and what would make it faster.
func Example() {
	j := smallJob()
	hardware, _, err := cost.Load(&j.Cluster, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	what := &predict.Job{Job: j, Hardware: hardware, Workload: clicks(), Layout: smallLayout()}
	p, err := predict.Run(context.Background(), what, predict.Options{Samples: 32})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f thousand samples/s, from %.0f to %.0f\n", p.Mid.Throughput/1e3, p.Interval.Low/1e3,
		p.Interval.High/1e3)
	fmt.Printf("a step takes %.1f ms, bound by %s\n", 1e3*p.Mid.StepTime.Seconds(), p.Mid.Roles.Bottleneck)
	changes, err := predict.Sensitivities(context.Background(), what, predict.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("10 %% better %s: %+.1f %%\n", changes[0].Name, 100*changes[0].Change)
	// Output:
	// 109 thousand samples/s, from 58 to 148
	// a step takes 18.7 ms, bound by DS: all-reduce inside servers (nvlink2-off)
	// 10 % better wire inside servers: +4.6 %
}
