package driver

import (
	"context"
	"sync/atomic"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// lanes is the state of a run at work: rows are read in the lane of their PS,
// which alone touches them. It is for use in the lane of rank 0.
type liveState struct{ run *run }

// ReadRows implements evaluation.State.
func (l liveState) ReadRows(server int, signs []uint64, dst []float32) error {
	at := msg.Address{Role: msg.EmbeddingPS, Index: int32(server)}
	return l.inLane(at, role.ReadRows, func() error { return l.run.executor.Model().ReadRows(server, signs, dst) })
}

// changes names the work by which a holder of dense parameters changes them.
var changedBy = map[msg.Role]role.WorkKind{msg.NNWorker: role.DenseApply, msg.DensePS: role.ApplyPush}

// ReadDense implements evaluation.State.
func (l liveState) ReadDense() (model.Values, error) {
	p := l.run.executor.Model()
	var parts []model.Values
	for _, at := range p.DenseHolders() {
		part, err := l.readDense(at)
		if err != nil {
			return model.Values{}, err
		}
		parts = append(parts, part)
	}
	return p.JoinDense(parts), nil
}

// readDense copies what one holder has of the dense network.
func (l liveState) readDense(at msg.Address) (part model.Values, err error) {
	look := func() error {
		part = l.run.executor.Model().Weights(at).Snapshot()
		return nil
	}
	if at == (msg.Address{Role: msg.NNWorker}) { // whose lane this is called in
		err = look()
	} else {
		err = l.inLane(at, changedBy[at.Role], look)
	}
	return part, err
}

// inLane looks at what work of a kind changes, in that work's lane, and waits for it.
// When it has returned, the look has ended or will never begin.
func (l liveState) inLane(at msg.Address, kind role.WorkKind, look func() error) error {
	var settled atomic.Bool // whether the look takes place
	looked := make(chan error, 1)
	l.run.instance(at).lanes[kind.Lane()].push(task{read: func() {
		if settled.CompareAndSwap(false, true) {
			looked <- look()
		}
	}})
	select {
	case err := <-looked:
		return err
	case <-l.run.ended.Done():
		if !settled.CompareAndSwap(false, true) {
			<-looked
		}
		return context.Cause(l.run.ended)
	}
}
