// Package backend says what computes a job's numbers and what memory holds its rows: the matrix products, the arena
// of the embedding rows, and the engine of the dense network.
package backend

import (
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
)

// Backend is what numbers are computed with and kept in. The zero value is the
// built-in kernels on the calling goroutine, and Go's heap.
type Backend struct {
	Products gemm.Products // of the dense network; nil: gemm.NewProducts(nil)
	Arena    table.Arena   // of the embedding rows; nil: table.Heap
	// Engine returns what runs the dense network for the data of a schema, in the
	// place of the job's model: a network of the user's own. Rows have the length
	// that the job's model wants. Nil: model.New.
	Engine func(schema *batch.Schema) (model.Engine, error)
}

// Multiplier returns what multiplies the matrices of a training on this machine.
func (m Backend) Multiplier(t *job.Job) gemm.Products {
	products := m.Products
	if products == nil {
		products = gemm.NewProducts(nil)
	}
	if t.Model.Precision == job.BF16 {
		return gemm.BF16Products(products)
	}
	return products
}

// RowArena returns where rows are kept.
func (m Backend) RowArena() table.Arena {
	if m.Arena == nil {
		return table.Heap{}
	}
	return m.Arena
}

// NewEngine checks a schema and returns what runs the dense network for it on a
// machine: the machine's own engine, or the built-in one (see model.New).
func NewEngine(t *job.Job, schema *batch.Schema, m Backend) (model.Engine, error) {
	if err := schema.Validate(); err != nil {
		return nil, err
	}
	if m.Engine != nil {
		return m.Engine(schema)
	}
	return model.New(t.Model.Spec, schema, m.Multiplier(t))
}
