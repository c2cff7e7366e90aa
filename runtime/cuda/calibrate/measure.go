package calibrate

import (
	"cmp"
	"fmt"
	"time"

	"tandem/algo/unit"
	"tandem/runtime/cuda"
)

// Settings of Measure.
type Settings struct {
	// Budget is about the time of all measurements together.
	Budget time.Duration
	// Memory is how much memory of the device to use: at least 1 MB, or 0 for a quarter of what is free, at
	// most 4 GiB. Caches hold less of a larger memory.
	Memory unit.Bytes
	// Progress, if not nil, is called before each measurement.
	Progress func(done, total int, what string)
}

// The limits of Settings.Memory.
const (
	MemoryMin     unit.Bytes = 1e6
	memoryDefault unit.Bytes = 4 << 30
)

// Product is a measured product.
type Product struct {
	cuda.Product
	Times
}

// Transfer is a measured operation on bytes in memory or between memories.
type Transfer struct {
	Bytes unit.Bytes
	Times
}

// Rows is a measured launch that reads rows at random places.
type Rows struct {
	Row   unit.Bytes // bytes of a row
	Bytes unit.Bytes // of all rows of the launch
	Times
}

// Result holds the measurements of a device. Sizes ascend within a type, a shape or a direction.
type Result struct {
	Device cuda.Info
	Driver string     // the version of CUDA that the driver supports
	Memory unit.Bytes // that was used

	Products      []Product
	Streams       []Transfer // through the memory of the device: half is read, half is written
	Rows          []Rows
	In, Out       []Transfer // copies from pinned memory of the host, and to it
	StreamLaunch  Times      // an empty launch that the host starts after another
	GraphLaunch   Times      // an empty launch after another in a graph
	MeasuringTime time.Duration
}

// series are operations of one kind by ascending size. Each is measured if the one before says that it takes
// less than its part of the budget; the first always is.
type series struct {
	what  string
	sizes []float64 // that times grow with; 0 for operations that fit the budget by themselves
	do    func(i int, budget time.Duration) (Times, error)
}

// Measure measures the device cuda:ordinal. An error about a device that does not exist names those that do.
func Measure(driver *cuda.Driver, ordinal int, s Settings) (*Result, error) {
	begin := time.Now()
	device, err := driver.Open(ordinal)
	if err != nil {
		return nil, err
	}
	r := &Result{Device: device.Info(), Driver: driver.Version()}
	err = r.measure(device, s)
	if err = cmp.Or(err, device.Close()); err != nil { // after one error others follow
		return nil, err
	}
	r.MeasuringTime = time.Since(begin)
	return r, nil
}

// measure measures everything on an open device.
func (r *Result) measure(device *cuda.Device, s Settings) error {
	memory, err := memoryOf(device, s.Memory)
	if err != nil {
		return err
	}
	m, err := Open(device, memory)
	if err != nil {
		return err
	}
	r.Memory = m.Bytes()
	if err = m.warmUp(s.Budget / 20); err != nil {
		err = fmt.Errorf("warm-up: %w", err)
	} else {
		err = run(r.plan(m), s)
	}
	return cmp.Or(err, m.Close())
}

// memoryOf returns how much memory to use.
func memoryOf(device *cuda.Device, asked unit.Bytes) (unit.Bytes, error) {
	free, total, err := device.FreeMemory()
	if err != nil {
		return 0, err
	}
	switch {
	case asked == 0:
		asked = min(free/4, memoryDefault)
	case asked > free:
		return 0, fmt.Errorf("%w: %v to measure with; %v of %v of %v are free", cuda.ErrOutOfMemory, asked,
			free, total, device.Info())
	}
	if asked < MemoryMin {
		return 0, fmt.Errorf("%v of memory to measure with; want at least %v, and %v of %v of %v are free",
			asked, MemoryMin, free, total, device.Info())
	}
	return asked, nil
}

// run measures series of operations.
func run(all []series, s Settings) error {
	total, done := 0, 0
	for _, x := range all {
		total += len(x.sizes)
	}
	budget := s.Budget / time.Duration(max(total, 1))
	for _, x := range all {
		perSize := 0.0 // nanoseconds, of the operation before
		for i, size := range x.sizes {
			// Every repetition follows another; two more warm up.
			if perSize*size*2*(repetitionsMin+2) > float64(budget) {
				done += len(x.sizes) - i
				break
			}
			if s.Progress != nil {
				s.Progress(done, total, x.what)
			}
			took, err := x.do(i, budget)
			if err != nil {
				return fmt.Errorf("%s: %w", x.what, err)
			}
			if done++; size > 0 {
				perSize = float64(took.Mid) / size
			}
		}
	}
	return nil
}

// batch is the number of rows of products that are not square: that of a small batch of samples.
const batch = 512

// squares are the sides of square products.
var squares = []int{64, 128, 256, 512, 1024, 2048, 4096, 8192}

// flats are the other sides of products with the rows of a batch. The first have the FLOPs of squares.
var flats = [][2]int{{64, 64}, {128, 256}, {1024, 2048}, {4096, 4096}, {8192, 16384}}

// Types returns the types in which the device multiplies.
func Types(i cuda.Info) []cuda.Type {
	if i.Major >= 8 {
		return []cuda.Type{cuda.F32, cuda.TF32, cuda.BF16, cuda.F16}
	}
	return []cuda.Type{cuda.F32, cuda.F16}
}

// plan returns all measurements. They store what they measure in the result.
func (r *Result) plan(m *Meter) (all []series) {
	for _, t := range Types(r.Device) {
		var square, flat []cuda.Product
		for _, n := range squares {
			square = append(square, cuda.Product{Rows: n, Columns: n, Inner: n, Type: t})
		}
		for _, n := range flats {
			flat = append(flat, cuda.Product{Rows: batch, Inner: n[0], Columns: n[1], Type: t})
		}
		all = append(all, r.products(m, square), r.products(m, flat))
	}
	var sizes []unit.Bytes
	for n := unit.Bytes(1 << 20); n <= 1<<30; n *= 4 {
		sizes = append(sizes, n)
	}
	return append(all, r.streams(m, sizes), r.rows(m),
		r.copies("copies from the host", &r.In, m.CopyIn, m),
		r.copies("copies to the host", &r.Out, m.CopyOut, m),
		r.launches(m, false, &r.StreamLaunch), r.launches(m, true, &r.GraphLaunch))
}

// products returns the series of those products that fit into the memory.
func (r *Result) products(m *Meter, all []cuda.Product) series {
	x := series{}
	for _, p := range all {
		p.Out = cuda.F32
		if p.Type.Bytes() == 2 {
			p.Out = p.Type
		}
		if !m.Fits(p) {
			break
		}
		all[len(x.sizes)] = p
		x.what = fmt.Sprintf("products in %v", p.Type)
		x.sizes = append(x.sizes, float64(FLOPs(p)))
	}
	x.do = func(i int, budget time.Duration) (Times, error) {
		times, err := m.Product(all[i], budget)
		r.Products = append(r.Products, Product{all[i], times})
		return times, err
	}
	return x
}

func (r *Result) streams(m *Meter, sizes []unit.Bytes) series {
	x := series{what: "streams through memory"}
	for _, n := range sizes {
		if n <= m.Bytes() {
			x.sizes = append(x.sizes, float64(n))
		}
	}
	if len(x.sizes) == 0 {
		sizes = []unit.Bytes{m.Bytes()}
		x.sizes = []float64{float64(m.Bytes())}
	}
	x.do = func(i int, budget time.Duration) (Times, error) {
		times, err := m.Stream(sizes[i], budget)
		r.Streams = append(r.Streams, Transfer{sizes[i], times})
		return times, err
	}
	return x
}

// The bytes of rows, and of a launch that reads them, at most. Neighbouring sizes differ by a factor of 2.
const (
	rowMin, rowMax            = 32, 1024
	rowsBytes      unit.Bytes = 64 << 20
)

func (r *Result) rows(m *Meter) series {
	x := series{what: "rows at random places"}
	for row := unit.Bytes(rowMin); row <= rowMax; row *= 2 {
		x.sizes = append(x.sizes, 0) // of all, a launch has as many bytes as fit the budget
	}
	x.do = func(i int, budget time.Duration) (Times, error) {
		row := unit.Bytes(rowMin) << i
		bytes, err := m.rowsOf(row, min(rowsBytes, m.Bytes()/4), budget)
		if err != nil {
			return Times{}, err
		}
		times, err := m.Rows(row, bytes, budget)
		r.Rows = append(r.Rows, Rows{row, bytes, times})
		return times, err
	}
	return x
}

func (r *Result) copies(what string, to *[]Transfer,
	do func(unit.Bytes, time.Duration) (Times, error), m *Meter) series {
	x := series{what: what}
	for n := unit.Bytes(4 << 10); n <= 64<<20 && n <= m.Bytes(); n *= 8 {
		x.sizes = append(x.sizes, float64(n))
	}
	x.do = func(i int, budget time.Duration) (Times, error) {
		times, err := do(unit.Bytes(x.sizes[i]), budget)
		*to = append(*to, Transfer{unit.Bytes(x.sizes[i]), times})
		return times, err
	}
	return x
}

func (r *Result) launches(m *Meter, graph bool, to *Times) series {
	return series{what: "launches", sizes: []float64{1},
		do: func(_ int, budget time.Duration) (times Times, err error) {
			*to, err = m.Launch(graph, budget)
			return *to, err
		}}
}
