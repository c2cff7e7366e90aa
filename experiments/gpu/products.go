package gpu

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"tandem/algo/rng"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/engine"
)

// products is a side: the matrix products of a step and nothing else, one behind the other as one CUDA graph.
type products struct {
	device  *cuda.Device
	stream  *cuda.Stream
	graph   *cuda.Graph
	flops   float64 // operations of a step: additions and multiplications
	closers []io.Closer
	held    []cuda.Memory
}

// newProducts prepares the products. They share operands, which are as large as the largest, and random: the
// power that a GPU takes, and so its clock, depends on values.
func newProducts(device *cuda.Device, list []engine.Multiplication) (*products, error) {
	p := &products{device: device}
	if err := p.prepare(list); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *products) prepare(list []engine.Multiplication) (err error) {
	if p.stream, err = p.device.NewStream(); err != nil {
		return err
	}
	p.closers = append(p.closers, p.stream)
	blas, err := p.device.NewBLAS()
	if err != nil {
		return err
	}
	p.closers = append(p.closers, blas)
	var bytes [3]int
	plans := make([]*cuda.Plan, len(list))
	for i, m := range list {
		if plans[i], err = blas.Plan(m.Product); err != nil {
			return err
		}
		p.closers = append(p.closers, plans[i])
		a, b, c := sizes(m.Product)
		bytes = [3]int{max(bytes[0], a), max(bytes[1], b), max(bytes[2], c)}
		p.flops += 2 * float64(m.Rows) * float64(m.Columns) * float64(m.Inner)
	}
	var at [3]cuda.Address
	for i, n := range bytes {
		if at[i], err = p.random(n, list[0].Type); err != nil {
			return err
		}
	}
	if err := p.stream.BeginCapture(); err != nil {
		return err
	}
	for i, m := range list {
		beta := float32(0)
		if m.Adds {
			beta = 1
		}
		if err == nil {
			err = p.stream.Multiply(plans[i], at[0], at[1], at[2], 0, 1, beta)
		}
	}
	graph, ended := p.stream.EndCapture()
	if err = errors.Join(err, ended); err != nil {
		return err
	}
	p.graph = graph
	p.closers = append(p.closers, graph)
	return nil
}

// sizes returns the bytes from the first value of each matrix of a product to its last.
func sizes(p cuda.Product) (a, b, c int) {
	of := func(rows, columns, stride int, transposed bool) int {
		if transposed {
			rows, columns = columns, rows
		}
		return (rows-1)*max(stride, columns) + columns
	}
	operand := p.Type.Bytes()
	return operand * of(p.Rows, p.Inner, p.StrideA, p.TransposeA),
		operand * of(p.Inner, p.Columns, p.StrideB, p.TransposeB),
		p.Out.Bytes() * of(p.Rows, p.Columns, p.StrideC, false)
}

// chunkBytes is the length of the random bytes that are repeated.
const chunkBytes = 4 << 20

// random allocates memory with normally distributed numbers of a type.
func (p *products) random(bytes int, of cuda.Type) (cuda.Address, error) {
	held, err := p.device.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	p.held = append(p.held, held)
	chunk := normals(min(bytes, chunkBytes), of)
	for at := 0; at < bytes; at += len(chunk) {
		if err := p.stream.CopyIn(held.Address.Add(at), chunk[:min(len(chunk), bytes-at)]); err != nil {
			return 0, err
		}
	}
	return held.Address, p.stream.Sync()
}

// normals returns the bytes of normally distributed numbers.
func normals(bytes int, of cuda.Type) []byte {
	r := rng.New(1, "gpu/products")
	values := make([]float32, (bytes+of.Bytes()-1)/of.Bytes())
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	all := cuda.Bytes(values)
	if of.Bytes() == 4 {
		return all[:bytes]
	}
	narrow := make([]byte, 0, 2*len(values))
	for i := range values { // the upper half, of a little-endian machine: bf16
		narrow = append(narrow, all[4*i+2], all[4*i+3])
	}
	return narrow[:bytes]
}

// run implements side.
func (p *products) run(ctx context.Context, n int) (time.Duration, error) {
	begin := time.Now()
	for range n {
		if err := p.stream.LaunchGraph(p.graph); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	if err := p.stream.Sync(); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}

// Close frees what is on the GPU.
func (p *products) Close() (err error) {
	for _, c := range slices.Backward(p.closers) {
		err = errors.Join(err, c.Close())
	}
	for _, m := range p.held {
		err = errors.Join(err, p.device.Free(m))
	}
	p.closers, p.held = nil, nil
	return err
}
