package gpu

import (
	"context"
	"time"

	"tandem/algo/unit"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/calibrate"
	"tandem/runtime/cuda/engine"
)

// products is a side: the matrix products of a step, each measured alone. Its time is the sum of their
// medians.
type products struct {
	*calibrate.Meter
	list   []cuda.Product
	counts map[cuda.Product]int // in a step
	budget time.Duration        // for one of the list
	flops  unit.FLOPs           // of a step
}

// newProducts prepares the products, to be measured in about a time. They are measured without the strides
// that matrices have within the parameters, without a bias, and without adding to what is there.
func newProducts(device *cuda.Device, of []engine.Multiplication, window time.Duration) (*products, error) {
	p := &products{counts: map[cuda.Product]int{}}
	most := calibrate.MemoryMin
	for _, m := range of {
		plain := cuda.Product{Rows: m.Rows, Columns: m.Columns, Inner: m.Inner, TransposeA: m.TransposeA,
			TransposeB: m.TransposeB, Type: m.Type, Out: m.Out}
		if p.counts[plain]++; p.counts[plain] == 1 {
			p.list = append(p.list, plain)
		}
		p.flops += calibrate.FLOPs(plain)
		most = max(most, calibrate.Bytes(plain))
	}
	p.budget = window / time.Duration(len(p.list))
	var err error
	p.Meter, err = calibrate.Open(device, most)
	return p, err
}

// run implements side. The number of steps changes nothing: each product is repeated for its part of the
// window.
func (p *products) run(ctx context.Context, steps int) (time.Duration, error) {
	var sum float64 // of a step, in nanoseconds
	for _, product := range p.list {
		times, err := p.Product(product, p.budget)
		if err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		sum += float64(p.counts[product]) * float64(times.Mid)
	}
	return time.Duration(float64(steps) * sum), nil
}
