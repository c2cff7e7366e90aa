package checkpoint

import (
	"fmt"
	"sync/atomic"
	"time"

	"tandem/algo/exec"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
)

// Saver saves models of this process while their training goes on. Save stops training only for as long as
// it takes to copy the dense network; the rows are written behind it, as they were at that moment. The zero
// value has no buffer, so that training goes on at about the rate of the disk.
type Saver struct {
	// Buffer is memory for rows that change before they are written. With room for all rows, training never
	// waits for the disk.
	Buffer []byte
	// Chain decides whether rows are written that have not changed since the model before.
	Chain Chain
	// Saved, if not nil, is called, by another goroutine, after each model that is complete. Its error is one
	// of saving the model.
	Saved func(Saved) error
	// Failed, if not nil, is called, maybe by another goroutine, with why a model could not be saved; the
	// models before stay. The error is then one of Wait, and not of the next Save.
	Failed func(error)

	fs      fileSystem
	written chan error // of the model that is being written; nil: none
}

// Saved is a model that was saved.
type Saved struct {
	Folder string
	Step   int
	Rows   unit.Bytes // size of the files of rows that were written
	Time   time.Duration
	// Copied is the size of the rows that changed before they were written, and Waited the time for which
	// their changes waited for room in the buffer, in the table that waited longest.
	Copied unit.Bytes
	Waited time.Duration
}

// Save begins to write a model to a new folder. It first waits until the model before is written, and returns
// an error of that unless Failed is set. The state must not be in use by a training while Save runs, and may
// be afterwards. Its tables must live until Wait has returned.
func (s *Saver) Save(folder string, m *Manifest, state exec.State) error {
	if err := s.Wait(); err != nil && s.Failed == nil {
		return err
	}
	if s.fs == nil {
		s.fs = disk{}
	}
	start := time.Now()
	parts, err := state.ExportDense()
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	written := make(chan error, 1)
	w, err := newWriter(s.fs, folder)
	if err != nil && s.Failed != nil {
		s.Failed(err)
		written <- err
		s.written = written
		return nil
	}
	if err != nil {
		return err
	}
	w.parts = parts
	waited := make([]atomic.Int64, state.Plan().Owners()*dimsOf(state))
	frozen := s.freeze(state, waited)
	s.written = written
	state = planned{state, state.Plan()}
	go func() {
		saved, err := write(w, &s.Chain, m, state, frozen)
		for i := range waited {
			saved.Waited = max(saved.Waited, time.Duration(waited[i].Load()))
		}
		if err == nil && s.Saved != nil {
			saved.Time = time.Since(start)
			err = s.Saved(saved)
		}
		if err != nil && s.Failed != nil {
			s.Failed(err)
		}
		written <- err
	}()
	return nil
}

// planned is a state with the owners that rows had at one moment: hot rows may change while it is written.
type planned struct {
	exec.State
	plan shard.Plan
}

// Plan implements exec.State.
func (p planned) Plan() shard.Plan { return p.plan }

// Wait waits until the model that is being written, if there is one, is complete, and returns its error.
func (s *Saver) Wait() error {
	if s.written == nil {
		return nil
	}
	err := <-s.written
	s.written = nil
	return err
}

// freeze freezes the rows of all owners, which share the buffer. It adds up how long each waits.
func (s *Saver) freeze(state exec.State, waited []atomic.Int64) (frozen []*table.Frozen) {
	var tables []*table.Table
	for owner := range state.Plan().Owners() {
		tables = append(tables, state.Tables(owner)...)
	}
	for i, share := range shares(s.Buffer, tables) {
		frozen = append(frozen, s.Chain.freeze(tables[i], share, func(room func()) {
			start := time.Now()
			room()
			waited[i].Add(int64(time.Since(start)))
		}))
	}
	return frozen
}

// shares divides a buffer among tables by their numbers of rows.
func shares(buffer []byte, tables []*table.Table) (all [][]byte) {
	rows := 0
	for _, t := range tables {
		rows += t.Len()
	}
	rest := buffer
	for _, t := range tables {
		share := min(int(float64(len(buffer))*float64(t.Len())/float64(max(rows, 1))), len(rest))
		all = append(all, rest[:share:share])
		rest = rest[share:]
	}
	return all
}

// write writes a model of frozen rows, which it releases.
func write(w *Writer, chain *Chain, m *Manifest, state exec.State, frozen []*table.Frozen) (saved Saved,
	err error) {
	defer w.Discard()
	for _, f := range frozen {
		defer f.Release()
	}
	saved.Folder, saved.Step = w.target, m.Step
	for i, f := range frozen {
		at := shelfAt(state, i/dimsOf(state), i%dimsOf(state))
		if err := w.addRows(chain, at, state.Plan().Servers(), f); err != nil {
			return saved, fmt.Errorf("checkpoint %s: %w", w.target, err)
		}
		saved.Copied += f.Copied()
		saved.Rows += unit.Bytes(w.rows[i].Written)
	}
	return saved, w.Finish(m, state)
}
