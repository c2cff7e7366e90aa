package work

import (
	"tandem/algo/job"
	"tandem/algo/kernel"
	"tandem/algo/table"
)

// Machine is what numbers are computed with and kept in. The zero value is the
// built-in kernels on the calling goroutine, and Go's heap.
type Machine struct {
	Products kernel.Products // of the dense network; nil: kernel.NewProducts(nil)
	Arena    table.Arena     // of the embedding rows; nil: table.Heap
}

// Multiplier returns what multiplies the matrices of a training on this machine.
func (m Machine) Multiplier(t *job.Training) kernel.Products {
	products := m.Products
	if products == nil {
		products = kernel.NewProducts(nil)
	}
	if t.DensePrecision == job.BF16 {
		return kernel.BF16Products(products)
	}
	return products
}

// arena returns where rows are kept.
func (m Machine) arena() table.Arena {
	if m.Arena == nil {
		return table.Heap{}
	}
	return m.Arena
}
