package process

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
	"tandem/runtime/member"
	"tandem/runtime/redo"
)

// openRedo opens the redo log of a role: a new one, or that of the process that died.
func (n *node) openRedo(w *member.Welcome, at msg.Address) (driver.RedoLog, error) {
	if err := os.MkdirAll(w.Redo, 0o755); err != nil {
		return nil, fmt.Errorf("redo log: %w", err)
	}
	open, name := redo.Create, filepath.Join(w.Redo, fmt.Sprintf("%v-%d.redo", at.Role, at.Index))
	if w.Incarnation > 0 {
		open = redo.Open
	}
	log, err := open(name, w.Run, at)
	if err != nil && w.Incarnation > 0 {
		return nil, &driver.LostError{Reason: err.Error()} // the checkpoint remains
	}
	if err != nil {
		return nil, err
	}
	n.redo = append(n.redo, log)
	return log, nil
}

// redone begins to send the records of the process, once it has handled the inputs of its redo logs again,
// and reports how long that took.
func (n *node) redone(took, of time.Duration) {
	n.events.begin()
	if of > 0 {
		_ = n.member.Redone(took, of) // an error means that the host is gone, which member.Member notices
	}
}

// closeRedo closes the redo logs, and removes them if nothing needs them any more. Those of a run that has
// failed are replaced by its next part. Removing some gigabytes takes a second, for which the next part, if
// there is one, does not wait.
func (n *node) closeRedo(remove, continues bool) {
	for _, log := range n.redo {
		_ = log.Close() // what it has was written
		old := log.Name() + ".old"
		if !remove || os.Rename(log.Name(), old) != nil {
			continue
		}
		if continues {
			go os.Remove(old)
		} else {
			_ = os.Remove(old) // it only takes space
		}
	}
}
