package process

import (
	"tandem/algo/exec"
	"tandem/runtime/checkpoint"
	"tandem/runtime/member"
)

// Kept is what a process keeps from one part of a run to the next, so that it need not read the model from a
// disk: its rows, its dense network and the state of their optimizers. The zero value keeps nothing yet.
type Kept struct {
	run      []byte         // whose end the process holds; nil: it holds none
	executor *exec.Executor // nil: nothing is kept
	losses   *losses
	chain    *checkpoint.Chain     // of what the executor has written
	writing  *checkpoint.Exporting // of the rows of the executor; nil: it was never exported
}

// drop gives up what is kept, and does not write it any further.
func (k *Kept) drop() {
	if k.writing != nil {
		k.writing.Stop()
	}
	*k = Kept{}
}

// keep notes that what is kept, if anything is, is the end of a part of the run. A process without a role in
// the part keeps nothing.
func (k *Kept) keep(run [16]byte) {
	if k.executor != nil {
		k.run = run[:]
	}
}

// reportSaved reports to the host of this part when the model that the process writes is on the disk. An
// error of the report means that the host is gone, which member.Member notices.
func (n *node) reportSaved(w *checkpoint.Exporting) {
	select {
	case <-w.Done():
		_ = n.member.Saved(w.Folder(), w.Wait())
	case <-n.member.Context().Done():
	}
}

// makeExecutor makes the executor of a part, or takes the one of the part before if the host says that the
// run goes on from what it holds.
func (n *node) makeExecutor(w *member.Welcome) error {
	source, err := n.source(w)
	if err != nil {
		return err
	}
	if n.executor = n.kept.executor; n.executor != nil && w.Kept {
		exec.ForgetMissed(n.executor.Model()) // the part before has reported them
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
	n.kept.executor, n.kept.losses, n.kept.chain = n.executor, own, new(checkpoint.Chain)
	return n.restore(w.Origin)
}
