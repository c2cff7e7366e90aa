package model

import (
	"errors"
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/unit"
)

// Traced is the size and the cost of a network that only a training knows.
type Traced struct {
	// Buckets are the parameters of each bucket of gradients, in the order of backward.
	Buckets []int `yaml:"buckets,flow"`
	// Running is the number of running statistics of batch norm.
	Running int `yaml:"running"`
	// ForwardFLOPs and BackwardFLOPs are of a sample, and so are ActivationBytes, written and read by a
	// forward pass. Kernels are the operations of a forward pass; backward has twice as many.
	ForwardFLOPs    float64 `yaml:"forward-flops"`
	BackwardFLOPs   float64 `yaml:"backward-flops"`
	ActivationBytes int64   `yaml:"activation-bytes"`
	Kernels         int     `yaml:"kernels"`
}

// NewTraced returns what a layout says of size and cost.
func NewTraced(l *Layout) *Traced {
	t := &Traced{Running: l.Running, ForwardFLOPs: float64(l.Cost.ForwardFLOPs),
		BackwardFLOPs: float64(l.Cost.BackwardFLOPs), ActivationBytes: int64(l.Cost.ActivationBytes),
		Kernels: l.Cost.Kernels}
	for _, b := range l.Buckets {
		t.Buckets = append(t.Buckets, b.Hi-b.Lo)
	}
	return t
}

// validate returns an error that names the first field that is out of range. Nil is valid.
func (t *Traced) validate() error {
	if t == nil {
		return nil
	}
	params := 0
	for _, size := range t.Buckets {
		if size < 1 || size > paramsMax-params {
			return fmt.Errorf("buckets = %v, want sizes of at least 1, of %d in all", t.Buckets, paramsMax)
		}
		params += size
	}
	if params == 0 {
		return errors.New("buckets has none, want those of the parameters")
	}
	for name, v := range map[string]float64{ // order-free: one error is as good as another
		"running": float64(t.Running), "forward-flops": t.ForwardFLOPs, "backward-flops": t.BackwardFLOPs,
		"activation-bytes": float64(t.ActivationBytes), "kernels": float64(t.Kernels),
	} {
		if !(v >= 0 && v <= 1<<53) {
			return fmt.Errorf("%s = %g, want a number from 0 to 2⁵³", name, v)
		}
	}
	return nil
}

// LayoutOf returns the layout of a network for data of a schema, without tensors if it is a torch, which must
// have been traced.
func LayoutOf(s Spec, schema *batch.Schema) (*Layout, error) {
	if s.Kind != Torch || s.Traced == nil {
		engine, err := New(s, schema, nil)
		if err != nil {
			return nil, err
		}
		return engine.Layout(), nil
	}
	t := s.Traced
	l := &Layout{EmbeddingWidth: schema.EmbeddingWidth(), DenseWidth: len(schema.Dense),
		Labels: len(schema.Labels), Units: NewLoss(s).Units(), Running: t.Running,
		Cost: Cost{ForwardFLOPs: unit.FLOPs(t.ForwardFLOPs), BackwardFLOPs: unit.FLOPs(t.BackwardFLOPs),
			ActivationBytes: unit.Bytes(t.ActivationBytes), Kernels: t.Kernels}}
	if l.Running > 0 {
		l.Stats = 1 + l.Running
	}
	for _, size := range t.Buckets {
		l.Params += size
	}
	hi := l.Params
	for _, size := range t.Buckets {
		l.Buckets = append(l.Buckets, Bucket{hi - size, hi})
		hi -= size
	}
	return l, nil
}
