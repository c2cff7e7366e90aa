package tandem_test

import (
	"context"
	"fmt"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/runtime/train"
)

// Four ranks in sync train the bits of sequential training.
func Example() {
	j := job.AdultIncome()
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	var digests []uint64
	for _, mode := range []string{"sequential", "sync"} {
		one := j.InMode(mode)
		source, err := datasets.TrainingSource(data, &one)
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := train.Run(context.Background(), one, source, data.Test, train.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: AUC %.2f, %d embedding rows\n", mode, result.AUC, result.Rows)
		digests = append(digests, result.DenseDigest^result.RowsDigest)
	}
	fmt.Println("same bits:", digests[0] == digests[1])
	// Output:
	// sequential: AUC 0.90, 102 embedding rows
	// sync: AUC 0.90, 102 embedding rows
	// same bits: true
}
