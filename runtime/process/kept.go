package process

import (
	"tandem/algo/exec"
	"tandem/runtime/member"
)

// Kept is what a process keeps from one part of a run to the next, so that it need not read the model from a
// disk: its rows, its dense network and the state of their optimizers. The zero value keeps nothing yet.
type Kept struct {
	run      []byte         // whose end the process holds; nil: it holds none
	executor *exec.Executor // nil: nothing is kept
	losses   *losses
}

// drop gives up what is kept.
func (k *Kept) drop() { *k = Kept{} }

// makeExecutor makes the executor of a part, or takes the one of the part before if the host says that the
// run goes on from what it holds.
func (n *node) makeExecutor(w *member.Welcome) error {
	source, err := n.source(w)
	if err != nil {
		return err
	}
	if n.executor = n.kept.executor; n.executor != nil && w.Kept {
		n.executor.Model().ForgetMissed() // the part before has reported them
		n.executor.BeginAt(w.Origin.Step)
		return nil
	}
	n.kept.drop()
	machine, own := n.Backend, new(losses)
	machine.Trained = func(sum float64, samples int) {
		own.add(sum, samples)
		n.Backend.ReportLoss(sum, samples)
	}
	if n.Arena != nil {
		if machine.Arena, err = n.Arena(); err != nil {
			return err
		}
	}
	if n.executor, err = exec.NewLocal(n.Job, source, machine, n.Process.Has); err != nil {
		return err
	}
	n.kept.executor, n.kept.losses = n.executor, own
	return n.restore(w.Origin)
}
