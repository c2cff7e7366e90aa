package driver

import (
	"cmp"

	"tandem/algo/protocol/msg"
)

// Export is a model that the processes of a run are writing, each its part, while the run may go on. One
// goroutine calls Begin, Writes and End; Done and Err may be called by any.
type Export struct {
	Folder  string   // which all processes can reach
	Names   []string // of the files with all but the rows, one for each process
	writing map[msg.Address]bool
	done    chan struct{}
	err     error // set before done is closed
}

// NewExport returns an export that no process has begun.
func NewExport(folder string) *Export {
	return &Export{Folder: folder, writing: map[msg.Address]bool{}, done: make(chan struct{})}
}

// Begin adds a process, of which at is a role, and the name of its file.
func (e *Export) Begin(at msg.Address, name string) {
	e.writing[at] = true
	e.Names = append(e.Names, name)
}

// Writes reports whether the process of a role has begun and not ended. Of no export it does not.
func (e *Export) Writes(at msg.Address) bool { return e != nil && e.writing[at] }

// End notes that a process has written its part, or why it cannot. The export is done when no process writes:
// then its files can be removed, too. Its error is the first.
func (e *Export) End(at msg.Address, err error) {
	delete(e.writing, at)
	e.err = cmp.Or(e.err, err)
	if len(e.writing) == 0 {
		close(e.done)
	}
}

// Done returns a channel that is closed when the export is done.
func (e *Export) Done() <-chan struct{} { return e.done }

// Err returns why an export that is done has failed; nil if every part is on the disk.
func (e *Export) Err() error { return e.err }
