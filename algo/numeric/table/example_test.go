package table_test

import (
	"fmt"

	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
)

// One step of training reads the embeddings of its signs, which creates absent rows, and
// applies their gradients.
func Example() {
	spec := opt.DefaultRow()
	spec.Kind, spec.Rate = opt.SGD, 0.5
	sgd, err := opt.NewRow(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := table.New(table.Config{Dim: 2, Optimizer: sgd}, table.Heap{}) // InitBound 0: zeros
	if err != nil {
		fmt.Println(err)
		return
	}
	signs, embeddings := []uint64{17, 4}, make([]float32, 4)
	if err := t.Lookup(signs, embeddings); err != nil {
		fmt.Println(err)
		return
	}
	outcome := t.Apply(signs, []float32{2, 4, -2, -4}, t.Rate(0), nil)
	fmt.Println("rows:", t.Len(), "applied:", outcome.Applied)

	missing := t.Snapshot([]uint64{4, 99}, embeddings)
	fmt.Println(embeddings, "missing:", missing)
	// Output:
	// rows: 2 applied: 2
	// [1 2 0 0] missing: 1
}

// With admission, an absent row is created with a probability in every step in which its
// sign appears, so rare signs take no memory. The gradients of signs without a row are
// counted as refused.
func ExampleTable_LookupStep() {
	sgd, err := opt.NewRow(opt.DefaultRow())
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := table.New(table.Config{Dim: 1, Optimizer: sgd, Admission: 0.25}, table.Heap{})
	if err != nil {
		fmt.Println(err)
		return
	}
	signs, embeddings := make([]uint64, 1000), make([]float32, 1000)
	for i := range signs {
		signs[i] = uint64(i)
	}
	for step := range 3 {
		if err := t.LookupStep(step, signs, embeddings, nil); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("rows:", t.Len())
	}
	outcome := t.Apply(signs, make([]float32, 1000), t.Rate(2), nil)
	fmt.Println("applied:", outcome.Applied, "refused:", outcome.Refused)
	// Output:
	// rows: 251
	// rows: 440
	// rows: 585
	// applied: 585 refused: 415
}

// A full table that evicts replaces a row that has not been read for long.
func ExampleConfig_evict() {
	sgd, err := opt.NewRow(opt.DefaultRow())
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := table.New(table.Config{Dim: 1, Optimizer: sgd, MaxRows: 3, Evict: true}, table.Heap{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for sign := range uint64(10) {
		if err := t.Lookup([]uint64{sign}, make([]float32, 1)); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("rows:", t.Len(), "evicted:", t.Evicted())
	// Output: rows: 3 evicted: 7
}
