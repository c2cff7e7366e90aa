package live

import (
	"context"

	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/work"
)

// lanes is the state of a run at work: rows are read in the lane of their PS,
// which alone touches them. It is for use in the lane of rank 0.
type lanes struct{ run *run }

// PeekRows implements work.State.
func (l lanes) PeekRows(server int, signs []uint64, dst []float32) error {
	n := l.run.nodes[msg.Address{Role: msg.ParameterServer, Index: int32(server)}]
	looked := make(chan error, 1)
	n.work[role.ReadRows.Lane()].push(task{look: func() { looked <- l.run.performer.PeekRows(server, signs, dst) }})
	select {
	case err := <-looked:
		return err
	case <-l.run.ended.Done():
		return context.Cause(l.run.ended)
	}
}

// PeekDense implements work.State.
func (l lanes) PeekDense() (work.DenseValues, error) { return l.run.performer.PeekDense() }
