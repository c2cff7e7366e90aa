package route_test

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// Three ids of two samples are two distinct rows. Pool sums the rows of a sample; Merge sums the gradients of
// a row.
func Example() {
	schema := &batch.Schema{
		Slots: []batch.Slot{{Name: "tags", Dim: 2}}, Labels: []string{"click"}, PrefixBits: 8,
	}
	samples := &batch.Batch{
		Samples: 2,
		Slots:   []batch.Jagged{{Offsets: []int32{0, 2, 3}, IDs: []uint64{7, 9, 7}}}, // 7 and 9, then 7
		Labels:  []float32{1, 0},
	}
	part := batch.Cut(samples, 1, 1)[0]

	routed := route.Route(schema, part, shard.Rows(1))
	fmt.Println(len(routed.Signs), "distinct rows, at", routed.Index[0])

	rows := []float32{1, 2, 10, 20} // of ids 7 and 9, as a PS would answer
	pooled := make([]float32, 2*schema.EmbeddingWidth())
	routed.Pool(pooled, schema, rows, 2)
	fmt.Println("pooled:", pooled)

	sums := make([]float32, len(rows))
	routed.Merge(sums, schema, []float32{1, 1, 0.5, 0.5}, 2) // gradients of the pooled values
	fmt.Println("row gradients:", sums)

	// Of a step of two samples, the optimizer sees the mean.
	step := route.Combine([]route.Put{{Samples: 2, Signs: routed.Signs, Sums: sums}}, 2, 2, false)
	fmt.Println("mean:", step.Gradients(make([]float32, 4), 0, 2))
	step.Release()
	// Output:
	// 2 distinct rows, at [0 1 0]
	// pooled: [11 22 1 2]
	// row gradients: [1.5 1.5 1 1]
	// mean: [0.75 0.75 0.5 0.5]
}
