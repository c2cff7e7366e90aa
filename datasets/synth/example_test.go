package synth_test

import (
	"fmt"
	"log"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets/synth"
)

// The AUC of the true probabilities is the best that any model can reach.
func ExampleGenerate() {
	data, err := synth.Generate(job.Synthetic{
		Seed: 1, TrainRows: 1_000, TestRows: 20_000, Numeric: 2, PositiveRate: 0.2,
		Columns: []job.SyntheticColumn{
			{Name: "user", Cardinality: 1_000_000, Exponent: 1.05},
			{Name: "item", Cardinality: 20_000, Exponent: 1.1, Top: 0.1},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	positive := 0.0
	for _, label := range data.Test.Labels {
		positive += float64(label)
	}
	probability := make([]float32, len(data.TestProbability))
	for i, p := range data.TestProbability {
		probability[i] = float32(p)
	}
	best := metric.AUC(probability, data.Test.Labels)
	fmt.Println("columns:", data.Columns, data.Numeric, data.Labels)
	fmt.Printf("positive rate: %.2f\n", positive/float64(data.Test.Samples))
	fmt.Printf("best reachable AUC: %.2f\n", best)
	// Output:
	// columns: [user item] [n1 n2] [label]
	// positive rate: 0.20
	// best reachable AUC: 0.87
}
