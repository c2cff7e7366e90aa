package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/internal/filelock"
)

// ErrInUse says that another process writes to a checkpoint folder.
var ErrInUse = errors.New("another process writes to this folder")

// ErrExists says that there is a checkpoint already.
var ErrExists = errors.New("the folder exists already; checkpoints are never overwritten")

// Save writes a model that is in this process to a new folder.
func Save(folder string, m *Manifest, state exec.State) error { return save(disk{}, folder, m, state) }

func save(fs fileSystem, folder string, m *Manifest, state exec.State) error {
	s := Saver{fs: fs}
	if err := s.Save(folder, m, state); err != nil {
		return err
	}
	return s.Wait()
}

// SaveApart writes a model whose parts are in other processes: see train.Options.TrainedApart.
func SaveApart(folder string, m *Manifest, state exec.State, export func(folder string) ([]string, error),
) error {
	a, err := BeginApart(folder, m, state, export)
	if err != nil {
		return err
	}
	return a.Finish()
}

// Apart is a model whose parts other processes are writing.
type Apart struct {
	writer   *Writer
	manifest *Manifest
	state    exec.State
	names    []string // of files to collect
}

// BeginApart begins to write a model whose parts are in other processes to a new folder. It calls export,
// which makes the processes begin: see train.Options.SaveApart. The caller calls Finish when all of them have
// written their parts, or else Discard.
func BeginApart(folder string, m *Manifest, state exec.State, export func(folder string) ([]string, error),
) (*Apart, error) {
	w, err := NewWriter(folder)
	if err != nil {
		return nil, err
	}
	a := &Apart{writer: w, manifest: m, state: planned{state, state.Plan()}}
	where, err := filepath.Abs(w.Folder())
	if err == nil {
		a.names, err = export(where)
	}
	if err != nil {
		w.Discard()
		return nil, err
	}
	return a, nil
}

// Finish completes the model.
func (a *Apart) Finish() error {
	defer a.Discard()
	for _, name := range a.names {
		if err := a.writer.Collect(name); err != nil {
			return fmt.Errorf("checkpoint %s: %w", a.writer.target, err)
		}
	}
	return a.writer.Finish(a.manifest, a.state)
}

// Discard removes what was written, unless Finish has succeeded.
func (a *Apart) Discard() { a.writer.Discard() }

// Writer writes a checkpoint of which processes have parts: each calls BeginExport with the folder that
// Folder returns, and the one with the Writer collects what they have written.
type Writer struct {
	fs              fileSystem
	target, working string
	lock            *os.File
	rows            map[int]rowsPart // by number of the shelf
	parts           []dense.Part
	done            bool
}

// NewWriter begins a checkpoint, which Finish completes and Discard abandons. The error wraps ErrInUse if
// another process writes to the same folder, and ErrExists if the folder exists.
func NewWriter(folder string) (*Writer, error) { return newWriter(disk{}, folder) }

// workingName returns the name of the folder in which a checkpoint is written.
func workingName(target string) string {
	return filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"-writing")
}

// targetOf returns the name that a checkpoint has when it is complete which is written in a folder.
func targetOf(working string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(working), "."), "-writing")
	return filepath.Join(filepath.Dir(working), name)
}

func newWriter(fs fileSystem, folder string) (*Writer, error) {
	target := filepath.Clean(folder)
	w := &Writer{fs: fs, target: target, working: workingName(target), rows: map[int]rowsPart{}}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("checkpoint: processors with big-endian numbers are not supported")
	}
	fail := func(err error) (*Writer, error) { return nil, fmt.Errorf("checkpoint %s: %w", folder, err) }
	if _, err := os.Lstat(target); err == nil {
		return fail(ErrExists)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
		return fail(err)
	}
	for w.lock == nil {
		if err := fs.Mkdir(w.working); err != nil && !errors.Is(err, os.ErrExist) {
			return fail(err)
		}
		if err := w.acquire(); err != nil {
			return fail(err)
		}
	}
	if err := w.clear(); err != nil {
		w.Discard()
		return fail(err)
	}
	return w, nil
}

// acquire locks the working folder. It leaves lock nil if another process has renamed or removed the folder
// meanwhile.
func (w *Writer) acquire() error {
	folder, err := os.Open(w.working)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if filelock.Try(folder) != nil {
		_ = folder.Close() // nothing was written
		return ErrInUse
	}
	locked, err := folder.Stat()
	now, failed := os.Stat(w.working)
	if err != nil || failed != nil || !os.SameFile(locked, now) {
		return folder.Close()
	}
	w.lock = folder
	return nil
}

// clear removes what a process that died has left in the working folder.
func (w *Writer) clear() error {
	entries, err := os.ReadDir(w.working)
	for _, e := range entries {
		err = errors.Join(err, w.fs.RemoveAll(filepath.Join(w.working, e.Name())))
	}
	return err
}

// Folder returns the folder in which processes write their parts.
func (w *Writer) Folder() string { return w.working }

// addRows writes the rows of an owner.
func (w *Writer) addRows(chain *Chain, at shelf, servers int, f *table.Frozen) error {
	part, err := chain.write(w.fs, w.working, at, servers, f)
	w.rows[at.number()] = part
	return err
}

// Finish writes the dense network and the manifest, and gives the folder its name. The schema, the layout and
// the owners of rows are those of a state, which may have no rows and no network itself.
func (w *Writer) Finish(m *Manifest, state exec.State) error {
	slices.SortFunc(w.parts, func(a, b dense.Part) int { return a.At.Compare(b.At) })
	full := *m
	full.Format, full.Schema, full.Files = formatName, schemaOf(state.Schema()), nil
	full.Scaling = append([]batch.Scaling{}, m.Scaling...)
	err := w.describeRows(&full, state.Plan(), state.Schema().Dims())
	if err == nil {
		err = w.finish(&full, state.Layout(), w.parts)
	}
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", w.target, err)
	}
	return nil
}

// describeRows describes the rows that were written. Every owner of a plan must have written its rows of
// every kind.
func (w *Writer) describeRows(full *Manifest, plan shard.Plan, dims batch.Dims) error {
	full.Rows = Rows{}
	several := max(len(dims.Lengths()), 1)
	for number := range max(plan.Owners()*several, len(w.rows)) {
		at := shelfOf(number, several)
		p, ok := w.rows[number]
		name := RowsFile(at.Owner, plan.Servers())
		if several > 1 {
			name = kindFile(name, dims.Lengths()[at.Place], dims.Classes()[at.Place])
		}
		switch {
		case !ok:
			return fmt.Errorf("no process has written %s", name)
		case at.Owner >= plan.Owners() || p.Files[0].Name != name:
			return fmt.Errorf("a process has written %s, which the plan of the host does not have",
				p.Files[0].Name)
		}
		full.Rows.describe(at, p, dims)
		full.Files = append(full.Files, p.Files...)
		if at.Owner == plan.Servers() {
			full.Rows.Hot = &p.Server
		} else {
			full.Rows.Servers = append(full.Rows.Servers, p.Server)
		}
	}
	full.Version = full.version()
	return nil
}

// describe describes the rows of a shelf that were written.
func (r *Rows) describe(at shelf, p rowsPart, dims batch.Dims) {
	switch {
	case len(dims.Lengths()) < 2:
		r.Dim, r.StateValues, r.Precision = p.Dim, p.StateValues, p.Precision
	case at.Owner == 0:
		own := DimRows{Dim: p.Dim, StateValues: p.StateValues, Class: dims.Classes()[at.Place]}
		if at.Place == 0 {
			r.Precision = p.Precision
		} else if p.Precision != r.Precision {
			own.Precision = p.Precision
		}
		r.Dims = append(r.Dims, own)
	}
}

func (w *Writer) finish(full *Manifest, layout *model.Layout, parts []dense.Part) error {
	if err := dense.CheckParts(parts, layout); err != nil {
		return err
	}
	var tensors []safetensor
	full.Dense, tensors = encodeDense(layout, parts)
	type content struct {
		name  string
		write func(io.Writer) error
	}
	whole := func(data []byte) func(io.Writer) error {
		return func(out io.Writer) error { _, err := out.Write(data); return err }
	}
	contents := []content{{DenseFile, func(out io.Writer) error { return writeTensors(out, tensors) }},
		{JobFile, whole(full.Job)}}
	if len(full.Graph) > 0 {
		contents = append(contents, content{GraphFile, whole(full.Graph)})
	}
	for _, f := range contents {
		written, err := writeFile(w.fs, w.working, f.name, f.write)
		if err != nil {
			return err
		}
		full.Files = append(full.Files, written)
	}
	text, err := full.encode()
	if err == nil {
		_, err = decodeManifest(text) // what cannot be read is not written
	}
	if err != nil {
		return err
	}
	if err := w.writeManifest(text); err != nil {
		return err
	}
	return w.publish()
}

// writeManifest writes the content of manifest.json, which comes last.
func (w *Writer) writeManifest(text []byte) error {
	_, err := writeFile(w.fs, w.working, ManifestFile, func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
	return err
}

// publish gives the folder its name.
func (w *Writer) publish() error {
	if err := w.fs.SyncFolder(w.working); err != nil {
		return err
	}
	if _, err := os.Lstat(w.target); err == nil {
		return ErrExists // Rename would replace an empty folder
	}
	if err := w.fs.Rename(w.working, w.target); err != nil {
		return err
	}
	w.done = true
	return errors.Join(w.fs.SyncFolder(filepath.Dir(w.target)), w.lock.Close())
}

// Discard removes what was written, unless Finish has succeeded.
func (w *Writer) Discard() {
	if w.done || w.lock == nil {
		return
	}
	w.done = true
	_ = w.fs.RemoveAll(w.working) // the next Save to this folder tries again
	_ = w.lock.Close()
}
