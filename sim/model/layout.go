package model

import (
	"math"

	"tandem/algo/numeric/model"
	"tandem/algo/unit"
)

// Sizes of gradient buckets in bytes, as PyTorch's DistributedDataParallel has them: the first is small, so
// that its all-reduce can begin early.
//
// Source: Li et al., PVLDB 13 (2020); the defaults of bucket_cap_mb and first_bucket_bytes in its code.
const (
	bucketBytes      = 25 << 20
	firstBucketBytes = 1 << 20
)

// Layout describes the dense network to programs that run or price one: its tensors, gradient buckets in the
// order in which backward finishes them, and the work for a sample.
func (m *Model) Layout() *model.Layout {
	tables, n := m.Tables(), m.Network()
	l := &model.Layout{DenseWidth: m.Numeric, Labels: m.Labels}
	for _, t := range tables {
		l.EmbeddingWidth += int(math.Round(t.Values()))
	}
	products := n.Products()
	for _, p := range products {
		weight := p.In * p.Out
		l.Tensors = append(l.Tensors, model.Tensor{Name: p.Name + ".weight", Shape: []int{p.Out, p.In},
			Lo: l.Params, Hi: l.Params + weight})
		l.Params += weight
		if p.Bias > 0 {
			l.Tensors = append(l.Tensors, model.Tensor{Name: p.Name + ".bias", Shape: []int{p.Bias},
				Lo: l.Params, Hi: l.Params + p.Bias})
			l.Params += p.Bias
		}
	}
	l.Buckets = n.Buckets()
	// Kernels as of the numeric engine's networks, in fp32: the join of the inputs, a product for each layer
	// and a kernel for its activation function, the interaction, the loss. Each reads and writes its values.
	values, kernels := 2*n.Joined, 2
	for _, p := range products {
		values, kernels = values+p.In+p.Out, kernels+1
		if p.Activated {
			values, kernels = values+2*p.Out, kernels+1
		}
	}
	if n.Pairs.Vectors > 0 || n.Pooled > 0 {
		values, kernels = values+n.Joined+n.Out, kernels+1
	}
	for range len(n.Cross) / 2 { // the product with the joined input, and the sum
		values, kernels = values+4*n.Joined, kernels+1
	}
	l.Cost = model.Cost{
		ForwardFLOPs: n.ForwardFLOPs(), BackwardFLOPs: n.BackwardFLOPs(),
		ActivationBytes: 4 * unit.Bytes(values), Kernels: kernels,
	}
	return l
}

// Buckets returns the gradient buckets of the network, the last layers first. A bucket ends with the layer
// that fills it.
func (n *Network) Buckets() (buckets []model.Bucket) {
	products := n.Products()
	hi := n.Parameters()
	lo, limit := hi, firstBucketBytes
	for i := len(products) - 1; i >= 0; i-- {
		lo -= products[i].Parameters()
		if 4*(hi-lo) >= limit || i == 0 {
			buckets = append(buckets, model.Bucket{Lo: lo, Hi: hi})
			hi, limit = lo, bucketBytes
		}
	}
	return buckets
}

// Size is what the tables of a model have in all.
type Size struct {
	Tables     int
	Rows       float64
	Parameters float64 // values of all rows
	IDs        float64 // of a sample
	RowBytes   float64 // memory of the values of all rows
	StateBytes float64 // … and of the state of their optimizer
}

// Size returns the size of the tables with rows in a format.
func (m *Model) Size(rows Format) (s Size) {
	for _, t := range m.Tables() {
		s.Tables++
		s.Rows += t.Rows
		s.Parameters += t.Rows * float64(t.Dim)
		s.IDs += t.IDs
		s.RowBytes += t.Rows * float64(t.Dim) * float64(rows.Bytes())
		s.StateBytes += t.Rows * float64(m.Optimizers.Rows.State(t.Dim))
	}
	return s
}

// Distinct returns the expected number of distinct rows that a number of samples use in all tables. It may
// be called concurrently.
func (m *Model) Distinct() func(samples int) float64 {
	tables := m.Tables()
	return func(samples int) (rows float64) {
		for i := range tables {
			rows += tables[i].Distinct(float64(samples))
		}
		return rows
	}
}
