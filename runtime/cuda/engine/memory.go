package engine

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"tandem/algo/numeric/model"
	"tandem/algo/unit"
	"tandem/internal/parallel"
	"tandem/runtime/cuda"
)

// memory is what a replica has on a device and in pinned memory of the host. Its methods do nothing after an
// error. While measuring, they only count.
type memory struct {
	device    *cuda.Device
	measuring bool
	bytes     int // on the device
	held      []cuda.Memory
	pinned    []*cuda.Pinned
	closers   []io.Closer // streams, events, products and graphs; those that need others behind them
	err       error
}

// unitOfMemory is what the driver rounds sizes up to, in bytes.
const unitOfMemory = 256

// floats allocates n values on the device.
func (m *memory) floats(n int) cuda.Address { return m.raw(4 * n) }

// doubles allocates n values of twice that size.
func (m *memory) doubles(n int) cuda.Address { return m.raw(8 * n) }

func (m *memory) raw(bytes int) cuda.Address {
	m.bytes += (bytes + unitOfMemory - 1) / unitOfMemory * unitOfMemory
	if m.err != nil || m.measuring || bytes == 0 {
		return 0
	}
	var at cuda.Memory
	if at, m.err = m.device.Alloc(bytes); m.err != nil {
		return 0
	}
	m.held = append(m.held, at)
	return at.Address
}

// host allocates n values in pinned memory of the host.
func (m *memory) host(n int) []float32 {
	if m.err != nil || m.measuring || n == 0 {
		return nil
	}
	var p *cuda.Pinned
	if p, m.err = m.device.AllocPinned(4 * n); m.err != nil {
		return nil
	}
	m.pinned = append(m.pinned, p)
	return p.Floats()[:n]
}

// stream, event and products make what their names say, and keep it until free.
func (m *memory) stream() *cuda.Stream { return keep(m, m.device.NewStream) }
func (m *memory) event() *cuda.Event   { return keep(m, m.device.NewEvent) }
func (m *memory) products() *cuda.BLAS { return keep(m, m.device.NewBLAS) }

// keep makes something that free closes.
func keep[T io.Closer](m *memory, make func() (T, error)) (made T) {
	if m.err != nil {
		return made
	}
	if made, m.err = make(); m.err == nil {
		m.closers = append(m.closers, made)
	}
	return made
}

// free gives everything back. Nothing may use it any more.
func (m *memory) free() {
	for _, c := range slices.Backward(m.closers) {
		_ = c.Close()
	}
	for _, at := range m.held {
		_ = m.device.Free(at)
	}
	for _, p := range m.pinned {
		_ = p.Free()
	}
	m.held, m.pinned, m.closers = nil, nil, nil
}

// Copies within the memory of the host are made by several cores: one core copies slower than the GPU does.
var copiers = sync.OnceValue(func() *parallel.Pool { return parallel.New(min(4, parallel.Cores())) })

// hashers turn ids into signs, on all cores that there are: it is the largest part of what the host does for
// rows on GPUs.
var hashers = sync.OnceValue(func() *parallel.Pool { return parallel.New(parallel.Cores()) })

// copiedAtOnce is the number of values of one task.
const copiedAtOnce = 1 << 16

// copyValues copies values, at most as many as there is room for.
func copyValues(to, from []float32) {
	n := min(len(to), len(from))
	if n <= copiedAtOnce {
		copy(to, from)
		return
	}
	copiers().ForEach((n+copiedAtOnce-1)/copiedAtOnce, func(i int) {
		lo := i * copiedAtOnce
		copy(to[lo:], from[lo:min(lo+copiedAtOnce, n)])
	})
}

// checkRoom returns an error if a replica does not fit on the device, which says how many samples a group
// could have. Need returns the bytes of a replica for groups of up to a number of samples.
func checkRoom(d *cuda.Device, samples int, need func(samples int) int) error {
	free, total, err := d.FreeMemory()
	if err != nil {
		return err
	}
	if unit.Bytes(need(samples)) <= free {
		return nil
	}
	least, most := 0, samples // least fits, if anything does
	for least+1 < most {
		if half := (least + most) / 2; unit.Bytes(need(half)) <= free {
			least = half
		} else {
			most = half
		}
	}
	hint := "its parameters alone are too many"
	if least > 0 {
		hint = fmt.Sprintf("groups of %d would fit: lower training.global-batch, or raise training.groups "+
			"or roles.ranks", least)
	}
	return fmt.Errorf("cuda:%d: a rank needs %v for groups of %d samples, and %v of %v are free; %s",
		d.Info().Ordinal, unit.Bytes(need(samples)), samples, free, total, hint)
}

// alignment is that of every tensor on the device, in bytes: products are fastest where vectors of 16 bytes
// can be loaded.
const alignment = 16

// places says where the tensors of the parameter vector lie on the device, which begin at multiples of
// alignment, also as values of the type that products take. Offsets and lengths are in values.
type places struct {
	tensors []model.Tensor
	at      []int
	length  int
}

func placesOf(l *model.Layout, operands cuda.Type) *places {
	p, unit := &places{tensors: l.Tensors}, alignment/operands.Bytes()
	for _, t := range l.Tensors {
		p.at = append(p.at, p.length)
		p.length += (t.Hi - t.Lo + unit - 1) / unit * unit
	}
	return p
}

// of returns where the parameter of an offset lies.
func (p *places) of(offset int) int {
	for i, t := range p.tensors {
		if t.Lo <= offset && offset < t.Hi {
			return p.at[i] + offset - t.Lo
		}
	}
	panic(fmt.Sprintf("engine: no parameter %d", offset))
}

// each calls visit for every piece of a tensor in [lo, hi) of the parameter vector.
func (p *places) each(lo, hi int, visit func(at, lo, hi int)) {
	for i, t := range p.tensors {
		from, to := max(lo, t.Lo), min(hi, t.Hi)
		if from < to {
			visit(p.at[i]+from-t.Lo, from, to)
		}
	}
}

// span returns the range on the device that has the tensors in [lo, hi).
func (p *places) span(lo, hi int) (from, to int) {
	from = p.length
	for i, t := range p.tensors {
		if t.Lo < hi && lo < t.Hi {
			from, to = min(from, p.at[i]), max(to, p.at[i]+t.Hi-t.Lo)
		}
	}
	return min(from, to), to
}
