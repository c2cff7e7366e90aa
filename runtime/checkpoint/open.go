package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/runtime/checkpoint/safetensors"
)

// Checkpoint is a model on disk. It must be closed.
type Checkpoint struct {
	Manifest
	folder string
	tensor *safetensors.File
	files  []*rowsFile // as Rows.ByOwner
	rows   func() (*RowReader, error)
	// inPlace has the tables of the state restored last that have the rows of the file of the same number, in
	// the same places.
	inPlace map[int]*table.Table
}

// Open opens a model. It checks the sizes of all files, the checksums of all but the rows, and the structure
// of the rows; an error names the file. Rows are checked when they are read: see RowReader.Read.
func Open(folder string) (*Checkpoint, error) {
	c, err := open(folder, nil)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", folder, explained(folder, err))
	}
	return c, nil
}

// OpenNext opens a model, as a rule a later one of the same training, and checks the checksums of all its
// files that c does not have, too. What c has of them is shared: its files stay mapped until both models are
// closed, and of the rows only those that have changed are read. C is not changed, and may be read meanwhile
// and afterwards. It must be open, and OpenNext must not be called twice at a time.
//
// Cost: a pass over the files of changes that are new, and 4 bytes a row. A checkpoint with all rows of an
// owner has a pass over these.
func (c *Checkpoint) OpenNext(folder string) (*Checkpoint, error) {
	if _, err := c.Rows(); err != nil {
		return nil, err
	}
	next, err := open(folder, c)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", folder, explained(folder, err))
	}
	if err := next.verifyNew(); err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

// errNoManifest says that a folder holds no model.
var errNoManifest = errors.New("there is no " + ManifestFile + ": this is not a model, or it is not complete")

func open(folder string, earlier *Checkpoint) (*Checkpoint, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("processors with big-endian numbers are not supported")
	}
	m, err := readManifest(folder)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Manifest: *m, folder: folder}
	if err := c.load(earlier); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.rows = sync.OnceValues(func() (*RowReader, error) { return newRowReader(&c.Manifest, c.files) })
	return c, nil
}

// load reads what is small, and maps the rows that an earlier model, if there is one, does not have.
func (c *Checkpoint) load(earlier *Checkpoint) error {
	for _, f := range c.Files {
		info, err := os.Stat(filepath.Join(c.folder, f.Name))
		if err != nil {
			return describe(f.Name, err)
		}
		if info.Size() != f.Bytes {
			return fmt.Errorf("%s: %d bytes, and the manifest says %d", f.Name, info.Size(), f.Bytes)
		}
	}
	var err error
	if c.Job, err = c.readChecked(JobFile); err != nil {
		return err
	}
	data, err := c.readChecked(DenseFile)
	if err != nil {
		return err
	}
	if c.tensor, err = safetensors.Read(data); err != nil {
		return fmt.Errorf("%s: %w", DenseFile, err)
	}
	for owner, described := range c.Manifest.Rows.ByOwner() {
		f := &rowsFile{before: c.sharedRows(owner, earlier)}
		c.files = append(c.files, f)
		if f.before != nil {
			for _, m := range f.before.files {
				f.files = append(f.files, m.retain())
			}
			f.shared = len(f.files)
		}
		names := c.Manifest.Rows.fileNames(owner)
		for i := len(f.files); i < len(names); i++ {
			m, err := c.mapRows(names[i], c.Manifest.Rows.dim(owner), i > 0)
			if err != nil {
				return err
			}
			f.files = append(f.files, m)
		}
		if err := f.join(described.Rows); err != nil {
			return fmt.Errorf("%s: %w", names[len(names)-1], err)
		}
	}
	return nil
}

// sharedRows returns the rows of an owner in an earlier model, if this one has all files of them; else nil,
// as where one is known to be damaged, of which this model may have an intact copy.
func (c *Checkpoint) sharedRows(owner int, earlier *Checkpoint) *rowsFile {
	if earlier == nil || owner >= len(earlier.files) {
		return nil
	}
	a, b := &earlier.Manifest.Rows, &c.Manifest.Rows
	was, now := a.fileNames(owner), b.fileNames(owner)
	if !slices.Equal(a.ByDim(), b.ByDim()) || len(was) > len(now) {
		return nil
	}
	for i, name := range was {
		if name != now[i] || earlier.file(name) != c.file(name) {
			return nil
		}
	}
	before := earlier.files[owner]
	if slices.ContainsFunc(before.files, func(m *mappedRows) bool { return m.blocks.damaged() }) {
		return nil
	}
	return before
}

// ChangedRows returns how many rows OpenNext has read, and whether these were only the rows that have changed
// since the earlier model.
func (c *Checkpoint) ChangedRows() (rows int, changes bool) {
	changes = true
	for _, f := range c.files {
		for _, m := range f.files[f.shared:] {
			rows += m.rows
		}
		changes = changes && f.shared > 0
	}
	return rows, changes
}

// mapRows maps a file of rows, or of changes.
func (c *Checkpoint) mapRows(name string, dim DimRows, changes bool) (*mappedRows, error) {
	data, release, err := mapFile(filepath.Join(c.folder, name), c.file(name).Bytes)
	if err != nil {
		return nil, describe(name, err)
	}
	blocks, err := c.blocksOf(name, data)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	m, err := readRowsFile(name, data, blocks, dim, changes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), release())
	}
	m.folder, m.unmap = c.folder, release
	return m.retain(), nil
}

// blocksOf returns the blocks of a file of rows, nil if the model has no checksums of them.
func (c *Checkpoint) blocksOf(name string, data []byte) (*blocks, error) {
	if !c.lists(blocksFile(name)) {
		return nil, nil
	}
	sums, err := c.readChecked(blocksFile(name))
	if err != nil {
		return nil, err
	}
	b, err := newBlocks(data, sums)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", blocksFile(name), err)
	}
	return b, nil
}

// errDamaged says that a file of a model is not as it was written.
var errDamaged = errors.New("the checksum differs: the file is damaged")

// readChecked reads a file whose checksum must be right.
func (c *Checkpoint) readChecked(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(c.folder, name))
	if err != nil {
		return nil, describe(name, err)
	}
	if sumOf(data) != c.file(name).SHA256 {
		return nil, fmt.Errorf("%s: %w", name, errDamaged)
	}
	return data, nil
}

// ReadGraph returns the content of module.onnx, and checks it. It is nil if the model has none. A model may
// come from anywhere: more than some bytes are an error.
func (c *Checkpoint) ReadGraph(bytesMax int) ([]byte, error) {
	switch size := c.file(GraphFile).Bytes; {
	case size < 0:
		return nil, nil
	case size > int64(bytesMax):
		return nil, fmt.Errorf("%s has %d bytes, and at most %d are read", GraphFile, size, bytesMax)
	}
	return c.readChecked(GraphFile)
}

// Close releases the files. Rows must not be read afterwards.
func (c *Checkpoint) Close() error {
	var err error
	for _, f := range c.files {
		err = errors.Join(err, f.release())
	}
	c.files = nil
	return err
}

// Folder returns the folder of the model.
func (c *Checkpoint) Folder() string { return c.folder }

// ParseJob returns the job that trained the model. If it names the columns of the data, they are those of the
// schema.
func (c *Checkpoint) ParseJob() (job.Job, error) {
	j, err := job.Parse(c.Job, filepath.Join(c.folder, JobFile))
	if err != nil {
		return j, err
	}
	var slots []string
	for _, slot := range c.Schema.Slots {
		slots = append(slots, slot.Name)
	}
	if t := j.Data.Table(); t != nil && !(slices.Equal(slots, j.Data.SlotNames()) &&
		slices.Equal(c.Schema.Numbers, j.Data.NumberNames()) &&
		slices.Equal(c.Schema.Labels, t.LabelNames())) {
		return j, fmt.Errorf("model %s: %s and %s name different columns", c.folder, JobFile, ManifestFile)
	}
	return j, nil
}

// Dense returns the network that predictions are computed with: where ranks had replicas of their own, it is
// their mean.
func (c *Checkpoint) Dense() (model.Values, error) {
	_, values, err := network(c.tensor)
	if err != nil {
		return values, fmt.Errorf("model %s: %s: %w", c.folder, DenseFile, err)
	}
	return values, nil
}

// Tensors returns the names, the shapes and the places of the parameters that Dense returns.
func (c *Checkpoint) Tensors() ([]model.Tensor, error) {
	tensors, _, err := network(c.tensor)
	return tensors, err
}

// Rows returns the rows, by sign. The first call reads all signs and checks that each is there once.
func (c *Checkpoint) Rows() (*RowReader, error) {
	r, err := c.rows()
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", c.folder, err)
	}
	return r, nil
}

// Verify checks the checksum of every file of rows, of which Open has checked only the size and the
// structure, and that every row is there once. It reads all files.
func (c *Checkpoint) Verify() error {
	for owner := range c.files {
		err := c.verifyRows(owner, 0)
		if err == nil {
			_, err = c.readCandidates(owner)
		}
		if err != nil {
			return fmt.Errorf("model %s: %w", c.folder, err)
		}
	}
	if c.lists(GraphFile) {
		if _, err := c.readChecked(GraphFile); err != nil {
			return fmt.Errorf("model %s: %w", c.folder, err)
		}
	}
	_, err := c.Rows()
	return err
}

// verifyNew is Verify without the files that an earlier model has.
func (c *Checkpoint) verifyNew() error {
	for owner, f := range c.files {
		if err := c.verifyRows(owner, f.shared); err != nil {
			return fmt.Errorf("model %s: %w", c.folder, err)
		}
	}
	_, err := c.Rows()
	for _, f := range c.files {
		f.before = nil // it would keep the places of all earlier models
	}
	return err
}

// verifyRows checks the checksums of the rows of an owner, and of their blocks, from a file on.
func (c *Checkpoint) verifyRows(owner, from int) error {
	for _, m := range c.files[owner].files[from:] {
		if sumOf(m.data) != c.file(m.name).SHA256 {
			return fmt.Errorf("%s: %w", m.name, errDamaged)
		}
		if err := m.blocks.check(0, len(m.data)); err != nil {
			return fmt.Errorf("%s has not the blocks of %s: %w", blocksFile(m.name), m.name, err)
		}
	}
	return nil
}

// CheckLayout returns an error that names the first difference, unless the network has the tensors of a
// layout.
func (c *Checkpoint) CheckLayout(layout *model.Layout) error {
	tensors, values, err := network(c.tensor)
	if err != nil {
		return err
	}
	text := func(all []model.Tensor, i int) string {
		if i < len(all) {
			return fmt.Sprintf("%s %v", all[i].Name, all[i].Shape)
		}
		return "none"
	}
	wanted := named(layout)
	for i := range max(len(tensors), len(wanted)) {
		if i >= len(tensors) || i >= len(wanted) || tensors[i].Name != wanted[i].Name ||
			!slices.Equal(tensors[i].Shape, wanted[i].Shape) {
			return fmt.Errorf("tensor %d of the dense network is %s in the model and %s in the job", i+1,
				text(tensors, i), text(wanted, i))
		}
	}
	if len(values.Running) != layout.Running {
		return fmt.Errorf("%d running statistics in the model and %d in the job", len(values.Running),
			layout.Running)
	}
	return nil
}

// Restore replaces an untrained state by that of the model, so that training continues where it ended. It
// checks the checksums of all files that it reads. Every row goes to its owner in the plan of the state, a PS
// or the ranks, whether it was hot in the model or not. The rows of a PS that has the rows that it had keep
// their order and their eviction. Where the ranks had replicas of their own and their number differs, each
// starts from the mean of parameters, statistics and optimizer states; a note says so. The error names the
// first difference if the schema, the network or the rows do not fit.
func (c *Checkpoint) Restore(state exec.State) (notes []string, err error) {
	return c.restore(state, true)
}

// Initialize replaces the parameters and the rows of an untrained state by those of the model, for a new
// training: optimizer states, steps and eviction begin afresh.
func (c *Checkpoint) Initialize(state exec.State) error {
	_, err := c.restore(state, false)
	return err
}

func (c *Checkpoint) restore(state exec.State, training bool) ([]string, error) {
	notes, err := c.restoreDense(state, training)
	if err == nil {
		err = c.restoreRows(state, training)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", c.folder, err)
	}
	return notes, nil
}

// restoreDense replaces the dense network.
func (c *Checkpoint) restoreDense(state exec.State, training bool) (notes []string, err error) {
	now := schemaOf(state.Schema())
	if found := c.Schema.difference(&now, sides{"the model", "the data", "the job"}); found != "" {
		return nil, fmt.Errorf("another schema: %s", found)
	}
	layout := state.Layout()
	if err := c.CheckLayout(layout); err != nil {
		return nil, err
	}
	parts, err := decodeDense(&c.Manifest.Dense, c.tensor)
	if err == nil {
		err = dense.CheckParts(parts, layout)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", DenseFile, err)
	}
	if !training {
		whole := dense.Join(parts, layout)
		parts = []dense.Part{{At: whole.At, PerStep: 1, State: model.State{Values: whole.Values}}}
	}
	if err := state.ImportDense(parts); err != nil {
		return nil, err
	}
	replicas := len(parts) > 1 && len(parts[0].Params) == layout.Params
	exported, err := state.ExportDense()
	if err != nil {
		return nil, err
	}
	if replicas && len(exported) != len(parts) {
		notes = append(notes, fmt.Sprintf("the model has %d replicas of the dense network, and %d are "+
			"trained: each starts from the mean of parameters and optimizer states", len(parts),
			len(exported)))
	}
	return notes, nil
}
