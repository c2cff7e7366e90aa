package coord

import (
	"context"
	"fmt"

	"tandem/algo/msg"
	"tandem/algo/work"
	"tandem/runtime/coord/control"
)

// peekMax is the number of rows that are asked for at a time.
const peekMax = 1 << 14

// PeekRows copies rows of a PS, during training from within BeforeStep, or after
// it and before Close: see work.State.
func (h *Host) PeekRows(ctx context.Context, server int, signs []uint64, dst []float32) error {
	if len(signs) == 0 {
		return nil
	}
	m := h.members[msg.Address{Role: msg.ParameterServer, Index: int32(server)}]
	dim := len(dst) / len(signs)
	for len(signs) > 0 {
		n := min(len(signs), peekMax)
		m.values = nil
		m.tell(&control.ToRole{What: &control.ToRole_PeekRows{PeekRows: &control.PeekRows{Signs: signs[:n]}}})
		for m.values == nil {
			if err := h.take(ctx); err != nil {
				return err
			}
		}
		if len(m.values) != n*dim {
			return fmt.Errorf("%v has answered %d values for %d rows of %d", m.at, len(m.values), n, dim)
		}
		copy(dst, m.values)
		signs, dst = signs[n:], dst[n*dim:]
	}
	return nil
}

// PeekDensePart copies what a holder has of the dense network, likewise: see
// work.Performer.DenseHolders.
func (h *Host) PeekDensePart(ctx context.Context, at msg.Address) (work.DenseValues, error) {
	m := h.members[at]
	m.network = nil
	m.tell(&control.ToRole{What: &control.ToRole_PeekNetwork{PeekNetwork: &control.PeekNetwork{}}})
	for m.network == nil {
		if err := h.take(ctx); err != nil {
			return work.DenseValues{}, err
		}
	}
	return *m.network, nil
}
