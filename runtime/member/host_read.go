package member

import (
	"context"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/runtime/member/control"
)

// readRowsMax is the number of rows that are asked for at a time.
const readRowsMax = 1 << 14

// ReadRows copies rows of a PS, during training from within BeforeStep, or after
// it and before Close: see evaluation.State.
func (h *Host) ReadRows(ctx context.Context, server int, signs []uint64, dst []float32) error {
	if len(signs) == 0 {
		return nil
	}
	s := h.byRole[msg.Address{Role: msg.EmbeddingPS, Index: int32(server)}]
	dim := len(dst) / len(signs)
	for len(signs) > 0 {
		n := min(len(signs), readRowsMax)
		s.pendingValues, s.values = n*dim, nil
		peek := &control.PeekRows{Server: int32(server), Signs: signs[:n]}
		s.member.send(&control.ToRole{What: &control.ToRole_PeekRows{PeekRows: peek}})
		for s.values == nil {
			if err := h.handleNext(ctx); err != nil {
				return err
			}
		}
		copy(dst, s.values)
		signs, dst = signs[n:], dst[n*dim:]
	}
	return nil
}

// ReadDense copies what a holder has of the dense network, at the times at which
// ReadRows does: see exec.ModelState.DenseHolders.
func (h *Host) ReadDense(ctx context.Context, at msg.Address) (model.Values, error) {
	s := h.byRole[at]
	s.pendingDense, s.dense = true, nil
	peek := &control.PeekNetwork{Role: toRole(at)}
	s.member.send(&control.ToRole{What: &control.ToRole_PeekNetwork{PeekNetwork: peek}})
	for s.dense == nil {
		if err := h.handleNext(ctx); err != nil {
			return model.Values{}, err
		}
	}
	return *s.dense, nil
}
