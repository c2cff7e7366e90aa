package calibrate

import (
	"fmt"
	"math/bits"
	"time"

	"tandem/algo/unit"
	"tandem/runtime/cuda"
)

// alignment is what allocations of a device have, and what the operands of products get in the pool.
const alignment = 256

// piece is what a thread reads or writes at a time.
const piece = 16

// threads and pieces are those of the kernels that read and write memory.
const (
	threads = 256
	pieces  = 4 // of a thread
)

// Bytes returns the memory that the operations use.
func (m *Meter) Bytes() unit.Bytes { return unit.Bytes(m.pool.Bytes) }

// FLOPs returns the floating-point operations of a product.
func FLOPs(p cuda.Product) unit.FLOPs {
	return unit.FLOPs(2 * float64(max(p.Batch, 1)) * float64(p.Rows) * float64(p.Columns) * float64(p.Inner))
}

// operands returns the bytes of the matrices A, B and C of a product without strides, each a multiple of the
// alignment.
func operands(p cuda.Product) (a, b, c int) {
	of := func(rows, columns, bytes int) int {
		return (max(p.Batch, 1)*rows*columns*bytes + alignment - 1) &^ (alignment - 1)
	}
	size := p.Type.Bytes()
	return of(p.Rows, p.Inner, size), of(p.Inner, p.Columns, size), of(p.Rows, p.Columns, p.Out.Bytes())
}

// Bytes returns the memory that the matrices of a product without strides take.
func Bytes(p cuda.Product) unit.Bytes {
	a, b, c := operands(p)
	return unit.Bytes(a + b + c)
}

// Fits reports whether the matrices of a product fit into the memory.
func (m *Meter) Fits(p cuda.Product) bool { return Bytes(p) <= m.Bytes() }

// Product measures a product of random numbers for about a time, with the algorithm that the library
// chooses. Operands that fit into the cache stay there. The product has no strides and no bias.
func (m *Meter) Product(p cuda.Product, budget time.Duration) (Times, error) {
	if !m.Fits(p) || p.Bias || p.StrideA|p.StrideB|p.StrideC != 0 {
		return Times{}, fmt.Errorf("calibrate: a product of %v does not fit into %v, or is not plain", p,
			m.Bytes())
	}
	plan, err := m.blas.Plan(p)
	if err != nil {
		return Times{}, err
	}
	defer plan.Close()
	sizeA, sizeB, _ := operands(p)
	if err := m.numbers(p.Type, sizeA+sizeB); err != nil {
		return Times{}, err
	}
	a := m.pool.Address
	b := a.Add(sizeA)
	c := b.Add(sizeB)
	m.fill = min(m.fill, sizeA+sizeB) // C follows them
	return m.time(budget, 1, func(int) error { return m.stream.Multiply(plan, a, b, c, 0, 1, 0) })
}

// Stream measures a launch that reads half of some bytes and writes the other half, for about a time. Other
// launches of a repetition use other places, in turn through the whole memory.
func (m *Meter) Stream(bytes unit.Bytes, budget time.Duration) (Times, error) {
	half := int(bytes) / 2 / piece * piece
	slots := m.pool.Bytes / 2 / max(half, 1)
	if half < piece || slots < 1 {
		return Times{}, fmt.Errorf("calibrate: %v do not fit into %v", bytes, m.Bytes())
	}
	grid := cuda.Size{X: blocksOf(half/piece, threads*pieces)}
	source, target := m.pool.Address, m.pool.Address.Add(m.pool.Bytes/2)
	m.fill = 0
	return m.time(budget, m.cold(2*half), func(i int) error {
		at := i % slots * half
		return m.stream.Launch(m.kernels.stream, grid, cuda.Size{X: threads}, 0, cuda.Pointer(target.Add(at)),
			cuda.Pointer(source.Add(at)), cuda.Int(half/piece))
	})
}

// cold returns the number of operations of some bytes that use four times the cache: the next one at the
// same place then finds little of it there.
func (m *Meter) cold(bytes int) int { return 4 * m.device.Info().CacheBytes / max(bytes, 1) }

// Rows measures a launch that reads rows at random places of the whole memory, for about a time. A row has
// 16 bytes or a power of two times as many; the bytes of a launch are those of its rows.
func (m *Meter) Rows(rowBytes, bytes unit.Bytes, budget time.Duration) (Times, error) {
	do, err := m.reads(rowBytes, bytes)
	if err != nil {
		return Times{}, err
	}
	return m.time(budget, m.cold(int(bytes)), do)
}

// reads returns the operation of Rows.
func (m *Meter) reads(rowBytes, bytes unit.Bytes) (operation, error) {
	shift := bits.TrailingZeros64(uint64(rowBytes) / piece)
	rows := int64(m.pool.Bytes) / max(int64(rowBytes), 1)
	if rowBytes < piece || rowBytes != piece<<shift || bytes < rowBytes || rows < 1 || rows >= 1<<32 {
		return nil, fmt.Errorf("calibrate: %v in rows of %v, from a table of %v; want a row of %dB or a "+
			"power of two times as many, and at least one row", bytes, rowBytes, m.Bytes(), piece)
	}
	count := int(bytes) / int(rowBytes) << shift // pieces
	grid := cuda.Size{X: blocksOf(count, threads*pieces)}
	m.fill = 0
	return func(i int) error {
		return m.stream.Launch(m.kernels.gather, grid, cuda.Size{X: threads}, 0, cuda.Pointer(m.pool.Address),
			cuda.Int(int(rows)), cuda.Int(shift), cuda.Int(count), cuda.Int(i*count+1),
			cuda.Pointer(m.pool.Address))
	}, nil
}

// rowsOf returns how many bytes of rows, up to a number, a launch may read to be measured within a time.
func (m *Meter) rowsOf(rowBytes, most unit.Bytes, budget time.Duration) (unit.Bytes, error) {
	least := min(most, 1<<20) // takes some microseconds on a GPU
	do, err := m.reads(rowBytes, least)
	if err != nil {
		return 0, err
	}
	once, err := m.once(do)
	if err != nil {
		return 0, err
	}
	fits := float64(budget) / float64(max(once, 1)*2*(repetitionsMin+2)) * float64(least)
	return max(least, unit.Bytes(min(fits, float64(most)))) / rowBytes * rowBytes, nil
}

// warmUp keeps the device busy for a time, so that its clocks leave their idle rates.
func (m *Meter) warmUp(d time.Duration) error {
	for begin := time.Now(); ; {
		if _, err := m.Stream(m.Bytes(), 0); err != nil || time.Since(begin) >= d {
			return err
		}
	}
}

// CopyIn measures a copy from pinned memory of the host to the device, for about a time.
func (m *Meter) CopyIn(bytes unit.Bytes, budget time.Duration) (Times, error) {
	host, err := m.host(int(bytes))
	if err != nil {
		return Times{}, err
	}
	m.fill = 0
	return m.time(budget, 1, func(int) error { return m.stream.CopyIn(m.pool.Address, host) })
}

// CopyOut measures a copy from the device to pinned memory of the host, for about a time.
func (m *Meter) CopyOut(bytes unit.Bytes, budget time.Duration) (Times, error) {
	host, err := m.host(int(bytes))
	if err != nil {
		return Times{}, err
	}
	return m.time(budget, 1, func(int) error { return m.stream.CopyOut(host, m.pool.Address) })
}

// host returns pinned memory.
func (m *Meter) host(bytes int) ([]byte, error) {
	if bytes < 1 || bytes > m.pool.Bytes {
		return nil, fmt.Errorf("calibrate: a copy of %v does not fit into %v", unit.Bytes(bytes), m.Bytes())
	}
	if m.pinned == nil || len(m.pinned.Bytes()) < bytes {
		if m.pinned != nil {
			if err := m.pinned.Free(); err != nil {
				return nil, err
			}
		}
		pinned, err := m.device.AllocPinned(bytes)
		if err != nil {
			return nil, err
		}
		m.pinned = pinned
		clear(pinned.Bytes()) // touches every page
	}
	return m.pinned.Bytes()[:bytes], nil
}

// emptyLaunches is the number of launches of a repetition of Launch.
const emptyLaunches = 256

// Launch measures an empty launch that follows another, for about a time: in a graph, or as the host starts
// one after the other.
func (m *Meter) Launch(graph bool, budget time.Duration) (Times, error) {
	do := func(int) error { return m.stream.Launch(m.kernels.nothing, cuda.Size{}, cuda.Size{X: 32}, 0) }
	if graph {
		return m.time(budget, emptyLaunches, do)
	}
	once, err := m.once(do)
	if err != nil {
		return Times{}, err
	}
	count := operations(once, budget, emptyLaunches)
	return m.repeat(budget, count, nothing, func() error {
		for i := range count {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
}
