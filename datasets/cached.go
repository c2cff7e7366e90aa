package datasets

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/cache"
)

// cachedFrom is the size of the smallest file whose columns are kept unasked:
// smaller ones are parsed in a tenth of a second.
const cachedFrom = 8 << 20

// decodingVersion is part of the name under which columns are kept. Whoever
// changes what a decoder makes of the same text raises it.
const decodingVersion = 1

// CacheFolder returns where columns are kept unless job.Data.Cache says otherwise:
// tandem/columns in the folder that the system has for such files.
func CacheFolder() (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("datasets: cache: %w: name a folder, or write off", err)
	}
	return filepath.Join(folder, "tandem", "columns"), nil
}

// keeper keeps the columns of files and finds them again. It never fails: what it
// cannot do costs time, and a note.
type keeper struct {
	folder cache.Folder // empty: keeps nothing
	from   int64        // bytes of the smallest file that is kept
	notes  []string
}

func newKeeper(setting string) *keeper {
	switch setting {
	case job.CacheOff:
		return &keeper{}
	case "":
		folder, err := CacheFolder()
		if err != nil { // a system without a home: nothing was asked for
			return &keeper{}
		}
		return &keeper{folder: cache.Folder(folder), from: cachedFrom}
	}
	return &keeper{folder: cache.Folder(setting)}
}

func (k *keeper) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

// read returns the rows of a file: those that were kept, if they are still true,
// or those that parse returns, which are then kept.
func (k *keeper) read(f *format, path string, dropped *droppedRows, parse func() (*batch.Batch, error)) (*batch.Batch, error) {
	info, err := os.Stat(path)
	if err != nil || k.folder == "" || info.Size() < k.from || !info.Mode().IsRegular() {
		return parse()
	}
	key, err := f.key(path)
	if err != nil {
		k.note("cache: %v: columns are not kept", err)
		return parse()
	}
	rows, err := k.folder.Load(key)
	if err == nil && f.describes(rows) && dropped.count+rows.Dropped <= dropped.policy.Skip {
		dropped.remember(path, rows)
		return rows.Batch, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.note("%v: %s is read again", err, path)
	}
	dropped.nextFile()
	parsed, err := parse()
	if err != nil {
		return nil, err
	}
	after, err := f.key(path)
	if err == nil && slices.Equal(after.Sources, key.Sources) {
		err = k.folder.Store(key, f.toKeep(parsed, dropped))
	} else {
		err = cmp.Or(err, fmt.Errorf("cache: %s changed while it was read", path))
	}
	if err != nil {
		k.note("%v: the columns of %s are not kept, and it is read again next time", err, path)
	}
	return parsed, nil
}

// key names the rows of a file.
func (f *format) key(path string) (cache.Key, error) {
	settings, err := json.Marshal(struct {
		Version int
		Kind    job.DataKind
		CSV     *job.Table
	}{decodingVersion, f.kind, f.spec})
	if err != nil {
		return cache.Key{}, err
	}
	key := cache.Key{Format: string(settings)}
	for _, name := range append([]string{filepath.Base(path)}, f.beside...) {
		source, err := cache.Identify(filepath.Join(filepath.Dir(path), name))
		if err != nil {
			return key, err
		}
		key.Sources = append(key.Sources, source)
	}
	return key, nil
}

// describes reports whether kept rows have the columns of the format.
func (f *format) describes(rows *cache.Rows) bool {
	return slices.Equal(rows.Slots, f.slotNames()) && slices.Equal(rows.Dense, f.schema.Dense) &&
		slices.Equal(rows.Labels, f.schema.Labels)
}

func (f *format) slotNames() (names []string) {
	for _, slot := range f.schema.Slots {
		names = append(names, slot.Name)
	}
	return names
}

// toKeep returns what is kept of freshly parsed rows.
func (f *format) toKeep(parsed *batch.Batch, dropped *droppedRows) *cache.Rows {
	rows := &cache.Rows{
		Slots: f.slotNames(), Dense: f.schema.Dense, Labels: f.schema.Labels, Batch: parsed, Dropped: dropped.count - dropped.before,
	}
	for _, bad := range dropped.ofFile {
		rows.BadRows = append(rows.BadRows, cache.BadRow{Line: bad.Line, Column: bad.Column, Value: []byte(bad.Value), Reason: bad.Reason})
	}
	return rows
}

// remember counts the bad rows of kept columns.
func (d *droppedRows) remember(file string, rows *cache.Rows) {
	d.count += rows.Dropped
	for _, bad := range rows.BadRows {
		if len(d.first) < badRowsKept {
			d.first = append(d.first, &BadRowError{File: file, Line: bad.Line, Column: bad.Column, Value: string(bad.Value), Reason: bad.Reason})
		}
	}
}
