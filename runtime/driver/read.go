package driver

import (
	"context"
	"sync/atomic"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// liveState is the state of a run in progress, as an evaluation.State. Rows are read in the lane of their PS,
// because no other goroutine may touch them. A liveState is used in the lane of rank 0.
type liveState struct{ run *run }

// ReadRows implements evaluation.State.
func (l liveState) ReadRows(server int, signs []uint64, dst []float32) error {
	return l.StartRows(server, signs, dst)()
}

// StartRows implements evaluation.StartingState. The lane of the PS has the read before any work that follows
// from what the caller does next.
func (l liveState) StartRows(server int, signs []uint64, dst []float32) (await func() error) {
	if server == int(l.run.cfg.EmbeddingPSs) { // hot rows, of the ranks
		err := l.run.executor.Model().ReadRows(server, signs, dst)
		return func() error { return err }
	}
	at := msg.Address{Role: msg.EmbeddingPS, Index: int32(server)}
	return l.startInLane(at, role.ReadRows, func() error {
		return l.run.executor.Model().ReadRows(server, signs, dst)
	})
}

// changedBy is the kind of work by which each holder of dense parameters changes them.
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

// readDense copies the part of the dense network that one role holds.
func (l liveState) readDense(at msg.Address) (part model.Values, err error) {
	read := func() (err error) {
		part, err = l.run.executor.Model().Weights(at).Snapshot()
		return err
	}
	if at == (msg.Address{Role: msg.NNWorker}) { // readDense is called in this lane
		err = read()
	} else {
		err = l.startInLane(at, changedBy[at.Role], read)()
	}
	return part, err
}

// startInLane makes the lane in which a role does one kind of work call read, between two pieces of work.
// When await has returned, read has ended or will never begin.
func (l liveState) startInLane(at msg.Address, kind role.WorkKind, read func() error) (await func() error) {
	var claimed atomic.Bool // by read or by the end of the run, whichever is first
	done := make(chan error, 1)
	l.run.instance(at).lanes[kind.Lane()].tasks.push(task{read: func() {
		if claimed.CompareAndSwap(false, true) {
			done <- read()
		}
	}})
	return func() error {
		select {
		case err := <-done:
			return err
		case <-l.run.ended.Done():
			if claimed.CompareAndSwap(false, true) {
				return context.Cause(l.run.ended)
			}
			return <-done
		}
	}
}
