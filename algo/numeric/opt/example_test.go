package opt_test

import (
	"fmt"

	"tandem/algo/numeric/opt"
)

// A row optimizer keeps its state beside the embedding, and rejects gradients that are
// not finite.
func ExampleNewRow() {
	spec := opt.DefaultRow()
	spec.Kind, spec.Rate, spec.Order = opt.Adagrad, 0.5, opt.After
	spec.InitialAccumulator = 0
	adagrad, err := opt.NewRow(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	embedding := []float32{1, 2}
	state := make([]float32, adagrad.StateSize(len(embedding)))
	adagrad.Init(state)
	for step, grad := range [][]float32{{3, 0}, {4, -2}} {
		applied := adagrad.Apply(embedding, state, grad, adagrad.Rate(step))
		fmt.Printf("%v %.2f %v\n", applied, embedding, state)
	}
	// Output:
	// true [0.50 2.00] [9 0]
	// true [0.10 2.50] [25 4]
}

// A dense optimizer updates the flat parameter vector of a network. Its state starts
// with Init.
func ExampleNewDense() {
	spec := opt.DefaultDense()
	spec.Kind, spec.Rate, spec.ClipNorm = opt.SGD, 1, 5
	sgd, err := opt.NewDense(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	params := []float32{10, 10}
	state := make([]float32, sgd.StateSize(len(params)))
	sgd.Init(state)
	sgd.Step(params, state, []float32{6, 8}, 0) // of norm 10, scaled down to 5
	fmt.Println(params)
	// Output: [7 6]
}

// A schedule gives the share of the peak rate at each step.
func ExampleSchedule_Rate() {
	schedule := opt.Schedule{WarmUp: 2, Decay: opt.LinearDecay, Steps: 6}
	for step := range 7 {
		fmt.Print(schedule.Rate(1, step), " ")
	}
	fmt.Println()
	// Output: 0.5 1 1 0.75 0.5 0.25 0
}

// The error of a spec names the field, its value and the values that are allowed.
func ExampleRowSpec_Validate() {
	spec := opt.DefaultRow()
	spec.Epsilon = -1
	fmt.Println(spec.Validate())
	// Output: epsilon = -1, want a finite number above 0 in single precision
}
