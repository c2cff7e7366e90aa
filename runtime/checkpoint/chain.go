package checkpoint

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/numeric/table"
)

// Chain makes checkpoints of one process small: one that follows another has, of the rows of an owner, a file
// of those that have changed, beside further names of the files that the other has. The zero value writes all
// rows each time. One goroutine at a time may use it.
type Chain struct {
	// FullEvery is the number of checkpoints of which one has a file of all rows of an owner; with 0 or 1 all
	// have. It comes earlier where the files of changes have as many rows as the table has, and where no
	// checkpoint in the same folder has other files.
	FullEvery int

	latest map[string]link // by RowsFile
}

// link is what the latest checkpoint has of an owner, and a later one need not write again.
type link struct {
	frozen *table.Frozen
	folder string        // its own name, which it has when it is complete
	files  []File        // of rows, and of changes in their order, each with that of its blocks after it
	infos  []os.FileInfo // of the files
	rows   int           // of the files of changes
}

// number returns how many files of rows, and of changes, there are.
func (l link) number() int { return len(l.files) / 2 }

// freeze freezes the rows of a table, so that write can write them or their changes.
func (c *Chain) freeze(t *table.Table, buffer []byte, wait func(room func())) *table.Frozen {
	if c.FullEvery > 1 {
		return t.FreezeNoted(buffer, wait)
	}
	return t.Freeze(buffer, wait)
}

// shelf names the rows of one dimension that an owner has.
type shelf struct {
	Owner int
	Place int // of the dimension, of a number of Dims
	Dims  int
	Class int // of the rows
}

// shelfOf returns the shelf of a number, where shelves are numbered owner by owner.
func shelfOf(number, dims int) shelf {
	return shelf{Owner: number / dims, Place: number % dims, Dims: dims}
}

// shelfAt returns the shelf of an owner of a state, by the place of the kind of its rows.
func shelfAt(state exec.State, owner, place int) shelf {
	at := shelf{Owner: owner, Place: place, Dims: dimsOf(state)}
	if classes := state.Schema().Dims().Classes(); len(classes) > 0 {
		at.Class = classes[place]
	}
	return at
}

// number is the inverse of shelfOf.
func (s shelf) number() int { return s.Owner*s.Dims + s.Place }

// dimsOf returns the number of dimensions of the rows of a state.
func dimsOf(state exec.State) int { return max(len(state.Schema().Dims().Lengths()), 1) }

// write writes rows of an owner, beside a number of embedding PSs, to the working folder of a checkpoint.
func (c *Chain) write(fs fileSystem, folder string, at shelf, servers int, f *table.Frozen) (
	rowsPart, error) {
	p := rowsPart{At: at, Dim: f.Dim(), Precision: f.Precision().String(),
		StateValues: f.StateBytes() / 4, Server: serverOf(f.Len(), f.Counters())}
	rows := RowsFile(at.Owner, servers)
	if at.Dims > 1 {
		rows = kindFile(rows, f.Dim(), at.Class)
	}
	earlier := c.latest[rows]
	now := link{frozen: f, folder: targetOf(folder)}
	if c.goesOn(earlier, f) && linkAll(fs, earlier, folder) == nil {
		now.files, now.infos, now.rows = slices.Clip(earlier.files), slices.Clip(earlier.infos), earlier.rows
	}
	changes := now.number() > 0
	files, err := writeRowsFile(fs, folder, changesFile(rows, now.number()), func(out io.Writer) error {
		written, err := encodeRows(out, f, changes)
		if changes {
			now.rows += written
		}
		return err
	})
	if err != nil {
		return p, err
	}
	now.files = append(now.files, files...)
	p.Files, p.Written, p.Server.Changes = now.files, files[0].Bytes+files[1].Bytes, now.number()-1
	if err := p.writeCandidates(fs, folder, rows, f.Candidates()); err != nil {
		return p, err
	}
	if c.FullEvery <= 1 {
		return p, nil
	}
	for _, f := range files {
		info, err := os.Stat(filepath.Join(folder, f.Name))
		if err != nil {
			return p, describe(f.Name, err)
		}
		now.infos = append(now.infos, info)
	}
	if c.latest == nil {
		c.latest = map[string]link{}
	}
	c.latest[rows] = now
	return p, nil
}

// writeCandidates writes the candidates of a table, if there are any.
func (p *rowsPart) writeCandidates(fs fileSystem, folder, rows string, all []table.Candidate) error {
	if p.Server.Candidates = len(all); len(all) == 0 {
		return nil
	}
	files, err := writeRowsFile(fs, folder, candidatesFile(rows), func(out io.Writer) error {
		return encodeCandidates(out, all)
	})
	if err == nil {
		p.Files = append(slices.Clip(p.Files), files...)
		p.Written += files[0].Bytes + files[1].Bytes
	}
	return err
}

// goesOn reports whether a checkpoint is to have the changes of a table since an earlier one.
func (c *Chain) goesOn(earlier link, f *table.Frozen) bool {
	if earlier.number() == 0 || earlier.number() >= c.FullEvery || earlier.rows >= f.Len() ||
		!f.Follows(earlier.frozen) {
		return false
	}
	return earlier.hasAnother()
}

// hasAnother reports whether a checkpoint beside this one, which is complete, has other files of the owner.
// Without one, all rows are written: damage to a file then leaves a checkpoint, from the second on.
func (l link) hasAnother() bool {
	folder := filepath.Dir(l.folder)
	steps, _, err := list(folder)
	return err == nil && slices.ContainsFunc(steps, func(step int) bool {
		other, err := os.Stat(filepath.Join(StepFolder(folder, step), l.files[0].Name))
		return err != nil || !os.SameFile(other, l.infos[0])
	})
}

// linkAll gives the files of an earlier checkpoint further names in a folder. After an error, as on a file
// system that cannot do that, the folder has none of them.
func linkAll(fs fileSystem, earlier link, folder string) error {
	for i, f := range earlier.files {
		to := filepath.Join(folder, f.Name)
		err := fs.Link(filepath.Join(earlier.folder, f.Name), to)
		if err == nil {
			err = sameFile(to, earlier.infos[i])
		}
		if err == nil {
			continue
		}
		for _, f := range earlier.files[:i+1] {
			_ = fs.RemoveAll(filepath.Join(folder, f.Name)) // what cannot be removed, writing it finds
		}
		return err
	}
	return nil
}

// sameFile returns an error unless the file with a name is the one that is wanted.
func sameFile(name string, want os.FileInfo) error {
	got, err := os.Stat(name)
	if err == nil && !os.SameFile(got, want) {
		err = &os.PathError{Op: "link", Path: name, Err: os.ErrExist}
	}
	return err
}

// Begin makes the checkpoint from which a state was restored, which has not changed since, the one that the
// next one follows. Rows whose places differ from those in the checkpoint, because they have other owners or
// lie on a GPU, are written again.
func (c *Chain) Begin(from *Checkpoint) {
	c.latest = map[string]link{}
	for owner, t := range from.inPlace {
		one := link{folder: from.folder, frozen: t.Note()}
		names := from.Manifest.Rows.fileNames(owner)
		for i, name := range names {
			if !one.add(from, name) || !one.add(from, blocksFile(name)) {
				break
			}
			if i > 0 {
				one.rows += from.files[owner].files[i].rows
			}
		}
		if one.number() == len(names) {
			c.latest[names[0]] = one
		}
	}
}

// add adds a file of a checkpoint. It reports whether there is one: older models have no files of blocks.
func (l *link) add(from *Checkpoint, name string) bool {
	info, err := os.Stat(filepath.Join(from.folder, name))
	if err != nil || !from.lists(name) {
		return false
	}
	l.files, l.infos = append(l.files, from.file(name)), append(l.infos, info)
	return true
}
