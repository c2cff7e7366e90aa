package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/table"
	"tandem/runtime/checkpoint/safetensors"
)

// rowsPart is what a process has written of the rows of an owner.
type rowsPart struct {
	At          shelf
	Dim         int
	Precision   string
	StateValues int
	Server      Server
	Files       []File // RowsFile, and those of changes
	Written     int64  // bytes; of the other files there are further names
}

// exportKey is the metadata entry of an export with its description.
const exportKey = "export"

// export describes the part of a model that a process has.
type export struct {
	Rows  []rowsPart
	Parts []Part
}

// Exporting is the part of a model that a process writes while its training goes on.
type Exporting struct {
	folder string
	stop   context.CancelFunc
	done   chan struct{}
	err    error // set before done is closed
}

// BeginExport begins to write the part of a model that is in this process, as it is at this moment, to the
// folder of a Writer: the rows of each of its embedding PSs, the hot rows if it has rank 0, and all else to a
// file with a name, which Writer.Collect reads. Rows that change before they are written are first copied to
// the buffer: see Saver. The state must not be in use by a training while BeginExport runs, and may be
// afterwards. Its tables must live until the export is done. The chain, which the process uses for all
// exports of the state, decides whether rows are written that have not changed.
func BeginExport(folder, name string, state exec.State, buffer []byte, chain *Chain) (*Exporting, error) {
	parts, err := state.ExportDense()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	plan := state.Plan()
	var at []shelf
	var tables []*table.Table
	for owner := range plan.Owners() {
		if state.Exports(owner) {
			for place, t := range state.Tables(owner) {
				at, tables = append(at, shelfAt(state, owner, place)), append(tables, t)
			}
		}
	}
	var frozen []*table.Frozen
	for i, share := range shares(buffer, tables) {
		frozen = append(frozen, chain.freeze(tables[i], share, nil))
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &Exporting{folder: folder, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		defer stop()
		if e.err = writeExport(stoppable{ctx: ctx}, chain, folder, name, plan.Servers(), at, frozen,
			parts); e.err != nil {
			e.err = fmt.Errorf("checkpoint: %w", e.err)
		}
	}()
	return e, nil
}

// Folder returns the folder in which the files are written.
func (e *Exporting) Folder() string { return e.folder }

// Done returns a channel that is closed when the files are on the disk, or cannot be written.
func (e *Exporting) Done() <-chan struct{} { return e.done }

// Wait waits until the files are on the disk, and returns why they are not.
func (e *Exporting) Wait() error {
	<-e.done
	return e.err
}

// Stop ends an export that is not needed any more, and waits until it does not read the tables.
func (e *Exporting) Stop() {
	e.stop()
	<-e.done
}

// stoppable is the disk, until a context ends.
type stoppable struct {
	disk
	ctx context.Context
}

// Create implements fileSystem.
func (s stoppable) Create(name string) (file, error) {
	f, err := s.disk.Create(name)
	return stoppableFile{f, s.ctx}, err
}

// stoppableFile is a file of a stoppable disk.
type stoppableFile struct {
	file
	ctx context.Context
}

// Write writes to the file unless the context has ended.
func (f stoppableFile) Write(p []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, f.ctx.Err()
	}
	return f.file.Write(p)
}

// writeExport writes the rows of owners, by shelf, which it releases, and the parts of the dense network.
func writeExport(fs fileSystem, chain *Chain, folder, name string, servers int, at []shelf,
	frozen []*table.Frozen, parts []dense.Part) error {
	for _, f := range frozen {
		defer f.Release()
	}
	var described export
	for i, f := range frozen {
		part, err := chain.write(fs, folder, at[i], servers, f)
		if err != nil {
			return err
		}
		described.Rows = append(described.Rows, part)
	}
	var tensors []safetensor
	for i, p := range parts {
		described.Parts = append(described.Parts, partOf(&p))
		tensors = append(tensors, partTensors(i, &p, true)...)
	}
	text, err := json.Marshal(described)
	if err != nil {
		return err
	}
	_, err = writeFile(fs, folder, name, func(out io.Writer) error {
		return safetensors.Write(out, tensors, map[string]string{exportKey: string(text)})
	})
	return err
}

// Collect adds what a process has written: see BeginExport.
func (w *Writer) Collect(name string) error {
	path := filepath.Join(w.working, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w; all processes must reach this folder under the same path", describe(name, err))
	}
	f, err := safetensors.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var described export
	if err := json.Unmarshal([]byte(f.Metadata[exportKey]), &described); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, p := range described.Rows {
		pairs := p.Server.Changes + 1
		if p.Server.Candidates > 0 {
			pairs++
		}
		if at := p.At; at.Owner < 0 || at.Place < 0 || at.Place >= at.Dims || p.Server.Changes < 0 ||
			len(p.Files) != 2*pairs {
			return fmt.Errorf("%s: rows of owner %d in %d files", name, at.Owner, len(p.Files))
		}
		for pair := range slices.Chunk(p.Files, 2) {
			if pair[1].Name != blocksFile(pair[0].Name) {
				return fmt.Errorf("%s: %s beside %s", name, pair[1].Name, pair[0].Name)
			}
		}
		if _, twice := w.rows[p.At.number()]; twice {
			return fmt.Errorf("%s: %s comes twice", name, p.Files[0].Name)
		}
		w.rows[p.At.number()] = p
	}
	for i, one := range described.Parts {
		p := dense.Part{Lo: one.Lo, PerStep: one.PerStep}
		p.Steps = one.Steps
		at, err := addressOf(one)
		if err = errors.Join(err, readPart(f, i, &p)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.At = at
		w.parts = append(w.parts, p)
	}
	return w.fs.RemoveAll(path)
}
