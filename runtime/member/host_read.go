package member

import (
	"context"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/runtime/member/control"
)

// readRowsMax is the number of rows in one request.
const readRowsMax = 1 << 14

// ReadRows copies rows of a PS: see evaluation.State. It may be called from Callbacks.BeforeStep, and between
// the end of Train and Close.
func (h *Host) ReadRows(ctx context.Context, server int, signs []uint64, dst []float32) error {
	if len(signs) == 0 {
		return nil
	}
	s := h.byRole[msg.Address{Role: msg.EmbeddingPS, Index: int32(server)}]
	dim := len(dst) / len(signs)
	for len(signs) > 0 {
		n := min(len(signs), readRowsMax)
		s.pendingValues, s.values = n*dim, nil
		request := &control.ReadRows{Server: int32(server), Signs: signs[:n]}
		s.member.send(&control.ToMember{What: &control.ToMember_ReadRows{ReadRows: request}})
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

// ReadDense copies the part of the dense network that one role holds. It may be called when ReadRows may be.
// exec.ModelState.DenseHolders lists the roles that hold parts.
func (h *Host) ReadDense(ctx context.Context, at msg.Address) (model.Values, error) {
	s := h.byRole[at]
	s.pendingDense, s.dense = true, nil
	request := &control.ReadDense{Role: toRole(at)}
	s.member.send(&control.ToMember{What: &control.ToMember_ReadDense{ReadDense: request}})
	for s.dense == nil {
		if err := h.handleNext(ctx); err != nil {
			return model.Values{}, err
		}
	}
	return *s.dense, nil
}
