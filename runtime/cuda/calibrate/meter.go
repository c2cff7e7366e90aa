package calibrate

import (
	"cmp"
	_ "embed"
	"math"
	"slices"
	"time"

	"tandem/algo/unit"
	"tandem/runtime/cuda"
)

//go:embed kernels.cu
var source string

// Times are those of one operation over the repetitions of its measurement.
type Times struct {
	Low, Mid, High unit.Nanos // lower quartile, median, upper quartile
	Repetitions    int
}

// The limits of a measurement.
const (
	repetitionsMin = 5
	repetitionsMax = 30
	operationsMax  = 1024 // in a graph
	// span is the least time of a repetition that is not cut short by the budget. The resolution of events
	// is about half a microsecond (cuEventElapsedTime in NVIDIA's CUDA driver API).
	span = 500 * time.Microsecond
)

// Meter measures operations of a device.
type Meter struct {
	device     *cuda.Device
	stream     *cuda.Stream
	start, end *cuda.Event
	blas       *cuda.BLAS
	module     *cuda.Module
	pool       cuda.Memory  // where all operations read and write
	filled     cuda.Type    // of the numbers at the begin of the pool
	fill       int          // their bytes
	pinned     *cuda.Pinned // nil until it is needed
	kernels    struct{ nothing, fill, stream, gather *cuda.Function }
}

// Open prepares measurements on a device, in new memory of some bytes.
func Open(device *cuda.Device, memory unit.Bytes) (m *Meter, err error) {
	m = &Meter{device: device}
	defer func() {
		if err != nil {
			err = cmp.Or(err, m.Close())
			m = nil
		}
	}()
	if m.stream, err = device.NewStream(); err != nil {
		return m, err
	}
	if m.start, err = device.NewTimer(); err != nil {
		return m, err
	}
	if m.end, err = device.NewTimer(); err != nil {
		return m, err
	}
	if m.module, err = device.Compile("calibrate.cu", source); err != nil {
		return m, err
	}
	for name, to := range map[string]**cuda.Function{"nothing": &m.kernels.nothing, "fill": &m.kernels.fill,
		"stream": &m.kernels.stream, "gather": &m.kernels.gather} {
		if *to, err = m.module.Function(name); err != nil {
			return m, err
		}
	}
	if m.blas, err = device.NewBLAS(); err != nil {
		return m, err
	}
	if m.pool, err = device.Alloc(int(memory) &^ (alignment - 1)); err != nil {
		return m, err
	}
	return m, m.numbers(cuda.F32, m.pool.Bytes)
}

// Close frees what Open made, and returns the first error. The device stays open.
func (m *Meter) Close() (err error) {
	if m.stream != nil {
		err = m.stream.Sync()
	}
	if m.pinned != nil {
		err = cmp.Or(err, m.pinned.Free())
	}
	if m.pool.Bytes > 0 {
		err = cmp.Or(err, m.device.Free(m.pool))
	}
	if m.blas != nil {
		err = cmp.Or(err, m.blas.Close())
	}
	if m.module != nil {
		err = cmp.Or(err, m.module.Close())
	}
	for _, e := range []*cuda.Event{m.start, m.end} {
		if e != nil {
			err = cmp.Or(err, e.Close())
		}
	}
	if m.stream != nil {
		err = cmp.Or(err, m.stream.Close())
	}
	return err
}

// masks are the bits that make random bits numbers between one half and one of a format: the sign and the
// fraction are kept, the exponent is set.
var masks = map[cuda.Type]struct{ keep, set int }{
	cuda.F32:  {0x807fffff, 0x3f000000},
	cuda.BF16: {0x807f807f, 0x3f003f00},
	cuda.F16:  {0x83ff83ff, 0x38003800},
}

// numbers fills the first bytes of the pool with random numbers: products of zeros take less power, and so
// less time, than others.
func (m *Meter) numbers(t cuda.Type, bytes int) error {
	if t == cuda.TF32 {
		t = cuda.F32
	}
	if m.filled == t && m.fill >= bytes {
		return nil
	}
	m.filled, m.fill = t, bytes
	blocks := min(blocksOf(bytes/4, threads), 32*max(m.device.Info().Processors, 1))
	return m.stream.Launch(m.kernels.fill, cuda.Size{X: blocks}, cuda.Size{X: threads}, 0,
		cuda.Pointer(m.pool.Address), cuda.Int(bytes/4), cuda.Int(masks[t].keep), cuda.Int(masks[t].set))
}

// blocksOf returns the number of blocks of some threads with one thread for each of n elements.
func blocksOf(n, threads int) int { return max(1, (n+threads-1)/threads) }

// operation appends operation number i of a measurement to the stream.
type operation func(i int) error

// time measures an operation for about a time. The operations of a repetition are at least a number, for
// those that must not find in the cache what earlier ones left there, and they are a graph.
func (m *Meter) time(budget time.Duration, least int, do operation) (Times, error) {
	once, err := m.once(do)
	if err != nil {
		return Times{}, err
	}
	count := operations(once, budget, least)
	if err := m.stream.BeginCapture(); err != nil {
		return Times{}, err
	}
	for i := 0; i < count && err == nil; i++ {
		err = do(i)
	}
	graph, ended := m.stream.EndCapture()
	if err = cmp.Or(err, ended); err != nil {
		if graph != nil {
			_ = graph.Close()
		}
		return Times{}, err
	}
	work := func() error { return m.stream.LaunchGraph(graph) }
	// A repetition begins while the one before it runs, so that the device does not wait for the host.
	times, err := m.repeat(budget, count, work, work)
	return times, cmp.Or(err, m.stream.Sync(), graph.Close())
}

// operations returns how many operations a repetition has.
func operations(once, budget time.Duration, least int) int {
	once = max(once, time.Microsecond)
	count := max(int(span/once), least)
	fits := int(budget / (2 * once * (repetitionsMin + 1))) // each after another
	return max(1, min(count, fits, operationsMax))
}

// once returns the time of an operation after another that warms up.
func (m *Meter) once(do operation) (time.Duration, error) {
	if err := do(0); err != nil {
		return 0, err
	}
	return m.between(nothing, func() error { return do(1) })
}

// nothing is no work.
func nothing() error { return nil }

// repeat measures a piece of work of a number of operations, each time after other work, and after a first
// time that warms up.
func (m *Meter) repeat(budget time.Duration, count int, before, work func() error) (Times, error) {
	begin := time.Now()
	if _, err := m.between(nothing, work); err != nil {
		return Times{}, err
	}
	var all []float64
	for len(all) < repetitionsMin || len(all) < repetitionsMax && time.Since(begin) < budget {
		took, err := m.between(before, work)
		if err != nil {
			return Times{}, err
		}
		all = append(all, float64(took)/float64(count))
	}
	return timesOf(all), nil
}

// between returns the time that the device takes for work after other work.
func (m *Meter) between(before, work func() error) (time.Duration, error) {
	for _, do := range []func() error{before, func() error { return m.stream.Record(m.start) }, work,
		func() error { return m.stream.Record(m.end) }, m.end.Sync} {
		if err := do(); err != nil {
			return 0, err
		}
	}
	return m.end.Since(m.start)
}

// timesOf summarises times in nanoseconds. A time below a nanosecond counts as one: events have a resolution.
func timesOf(all []float64) Times {
	slices.Sort(all)
	at := func(quantile float64) unit.Nanos {
		place := quantile * float64(len(all)-1)
		below := int(place)
		above := min(below+1, len(all)-1)
		value := all[below] + float64((all[above]-all[below])*(place-float64(below)))
		return unit.Nanos(math.Max(value, 1))
	}
	return Times{Low: at(0.25), Mid: at(0.5), High: at(0.75), Repetitions: len(all)}
}
