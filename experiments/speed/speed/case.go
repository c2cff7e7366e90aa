package speed

import (
	"fmt"
	"strconv"

	"tandem/algo/numeric/opt"
	"tandem/algo/unit"
	"tandem/experiments/internal/pytorch"
)

// Kinds of cases.
const (
	kindDense  = "dense"  // forward, backward and optimizer of a network
	kindSparse = "sparse" // lookup, pooling, sums of gradients and optimizer of rows
	kindLookup = "lookup" // of the rows of signs, and nothing else
	kindUpdate = "update" // of the rows of signs by Adagrad, and nothing else
	kindTrain  = "train"  // a training from data to model
)

// kinds returns the kinds in the order of reports.
func kinds() []string { return []string{kindDense, kindSparse, kindTrain, kindLookup, kindUpdate} }

// testCase is one piece of work that all sides do for a few seconds.
type testCase struct {
	Kind    string           `json:"kind" yaml:"kind"`
	Batch   int              `json:"batch" yaml:"batch"` // samples per step
	Threads int              `json:"threads" yaml:"threads"`
	Net     *pytorch.Network `json:"net,omitempty" yaml:"net,omitempty"`
	Rows    *rows            `json:"rows,omitempty" yaml:"rows,omitempty"`
	Corpus  *corpus          `json:"corpus,omitempty" yaml:"corpus,omitempty"`
	// RowWise chooses row-wise Adagrad in the place of Adagrad.
	RowWise bool `json:"row_wise,omitempty" yaml:"row-wise,omitempty"`
	// Target is the least ratio of Tandem's rate to PyTorch's that is ok; 0: the ratio is only reported.
	Target float64 `json:"target,omitempty" yaml:"target,omitempty"`
}

// Distributions of ids.
const (
	uniform = "uniform"
	zipf    = "Zipf 1.05"
)

// rows describes embedding rows to both sides. A sample has one id in each slot, and each slot has its own
// rows.
type rows struct {
	Total        int    `json:"total" yaml:"total"` // rows of all slots, to the nearest multiple of Slots
	Dim          int    `json:"dim" yaml:"dim"`
	Slots        int    `json:"slots" yaml:"slots"`
	Each         int    `json:"each" yaml:"each"` // rows per slot
	Distribution string `json:"distribution" yaml:"distribution"`
}

// corpus describes generated rows of Criteo's shape to both sides.
type corpus struct {
	Train  int `json:"train" yaml:"train-rows"`
	Test   int `json:"test" yaml:"test-rows"`
	Epochs int `json:"epochs" yaml:"epochs"`
	// IDs is the number of distinct ids, which PyTorch's table needs. It is known once the rows are made.
	IDs int `json:"ids" yaml:"-"`
}

// String returns the name of a case without batch and threads.
func (c *testCase) String() string {
	name := map[string]string{
		kindDense: "dense step", kindSparse: "sparse step", kindTrain: "training", kindLookup: "lookup",
		kindUpdate: "update",
	}[c.Kind]
	if c.Rows == nil {
		return name + ", " + c.Net.Name
	}
	if c.RowWise {
		name = "row-wise step"
	}
	return fmt.Sprintf("%s, %s × %d, %s", name, millions(c.Rows.Total), c.Rows.Dim, c.Rows.Distribution)
}

// name returns the name of a case that no other has.
func (c testCase) name() string {
	return fmt.Sprintf("%s, batch %d, threads %d", &c, c.Batch, c.Threads)
}

// adagradName returns the name of an optimizer of rows.
func adagradName(rowWise bool) string {
	if rowWise {
		return "row-wise Adagrad"
	}
	return "Adagrad"
}

// millions returns a number of rows as text.
func millions(n int) string {
	if n < million {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%g M", float64(n)/million)
}

// adagrad returns the optimizer of rows on all sides: the formula of PyTorch with the settings of Persia, or
// row-wise.
func (c *testCase) adagrad() opt.RowSpec {
	spec := opt.DefaultRow()
	spec.Order = opt.After
	if c.RowWise {
		spec.Kind = opt.RowwiseAdagrad
	}
	return spec
}

// bytes returns the memory that a side needs for the rows of a case and their optimizer state; 0 for cases
// that need little.
func (c *testCase) bytes() unit.Bytes {
	if c.Rows == nil {
		return 0
	}
	values := 2 * c.Rows.Dim
	if c.RowWise {
		values = c.Rows.Dim + 1
	}
	return unit.Bytes(4 * values * c.Rows.Slots * c.Rows.Each)
}

// warmUps returns the number of steps before the measurement, which warm up caches, branch predictors and
// page tables. A whole training needs only one.
func (c *testCase) warmUps() int {
	if c.Kind == kindTrain {
		return 1
	}
	return 3
}

// tolerance returns the largest relative difference between the checks of both sides. Sums in a different
// order differ by about 1e-7; trainings begin with different rows.
func (c *testCase) tolerance() float64 {
	if c.Kind == kindTrain {
		return 0.05
	}
	return 1e-4
}
