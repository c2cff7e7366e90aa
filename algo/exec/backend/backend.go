// Package backend selects what executes a job's computations and which memory holds its rows: the matrix
// products, the arena of the embedding rows, and the engine of the dense network.
package backend

import (
	"errors"
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
)

// Backend selects what multiplies matrices, where embedding rows are stored and what runs the dense network.
// The zero value selects the built-in kernels on the calling goroutine, Go's heap and the network of the job.
type Backend struct {
	Products gemm.Products // of the dense network; nil: gemm.NewProducts(nil)
	Arena    table.Arena   // of the embedding rows; nil: table.Heap
	// Engine returns the engine of a user's own dense network for data of a schema. It replaces the network
	// of the job; rows keep the length that the job's model has. Nil: model.New.
	Engine func(schema *batch.Schema) (model.Engine, error)
	// Torch returns the engine of a job whose model.kind is torch: a network in Python. Nil: this program
	// runs none.
	Torch func(t *job.Job, schema *batch.Schema) (model.Engine, error)
	// Graph returns the network of a saved model whose model.kind is torch, for predictions alone, from its
	// ONNX without values, which is empty if it has none. Nil: Torch returns it.
	Graph func(graph []byte, layout model.Layout, values model.Values) (model.Engine, error)
	// Trainer makes the replicas of ranks where they are not in the memory of the host: on devices. Nil: they
	// are there.
	Trainer func(model.Engine) (model.Trainer, error)
	// Trained, if not nil, is called after the forward pass of every part of a batch, or of a whole batch
	// without roles, with the sum of the losses of its samples, in nats and weighted by label, and their
	// number. Several goroutines call it. It changes nothing that is computed.
	Trained func(lossSum float64, samples int)
	// Note, if not nil, is called with a line that a user should read, such as what a GPU cannot do. Several
	// goroutines call it.
	Note func(line string)
}

// ReportLoss calls Trained, if there is one.
func (m Backend) ReportLoss(lossSum float64, samples int) {
	if m.Trained != nil {
		m.Trained(lossSum, samples)
	}
}

// Multiplier returns the matrix products of a job: Products, with rounded operands if the job's precision is
// bf16.
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

// RowArena returns the arena of the embedding rows.
func (m Backend) RowArena() table.Arena {
	if m.Arena == nil {
		return table.Heap{}
	}
	return m.Arena
}

// NewEngine returns the engine of the dense network of a job for data of a schema: that of m.Engine, if there
// is one, or the built-in engine (see model.New). It returns an error if the schema is not valid.
func NewEngine(t *job.Job, schema *batch.Schema, m Backend) (model.Engine, error) {
	if err := schema.Validate(); err != nil {
		return nil, err
	}
	if err := errors.Join(t.CheckDims(schema.Slots), t.CheckPlacements(schema.Slots)); err != nil {
		return nil, err
	}
	if schema.Weight != "" && t.KernelsOnGPU() {
		return nil, fmt.Errorf("model.device = %v has no weights of rows (%s): set it to cpu", t.Model.Device,
			schema.Weight)
	}
	if m.Engine != nil {
		if t.Model.Loss == model.SquaredLoss {
			return nil, errors.New("model.loss = squared: this engine predicts probabilities; leave it out")
		}
		return m.Engine(schema)
	}
	if t.Model.Kind == model.Torch && m.Torch != nil {
		return m.Torch(t, schema)
	}
	return model.New(t.Model.Spec, schema, m.Multiplier(t))
}
