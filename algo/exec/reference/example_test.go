package reference_test

import (
	"fmt"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/reference"
)

// A job is trained sequentially, and the trained model then predicts the samples.
func Example() {
	source := exectest.NewColumns(64, 16) // 4 batches of 16 samples
	q, err := reference.NewSequential(exectest.Job(1, 1), source, backend.Backend{})
	if err != nil {
		panic(err)
	}
	for step := range source.Steps() {
		if err := q.Step(step); err != nil {
			panic(err)
		}
	}
	probabilities, err := q.NewTestSet(source.All).Evaluate(q)
	if err != nil {
		panic(err)
	}
	fmt.Println(q.Dense().Steps(), "optimizer steps,", q.Rows()[0].Len(), "rows,", len(probabilities),
		"predictions")
	// Output:
	// 4 optimizer steps, 59 rows, 64 predictions
}
