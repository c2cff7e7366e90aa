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

// cachedBytesMin is the size of the smallest file that is cached by default: smaller ones are
// parsed in a tenth of a second.
const cachedBytesMin = 8 << 20

// decodingVersion is part of the key of cached columns. Raise it whenever a decoder returns
// different rows for the same text.
const decodingVersion = 1

// CacheFolder returns the folder of cached columns unless job.Data.Cache names another one:
// tandem/columns in the cache folder of the user.
func CacheFolder() (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("datasets: cache: %w: name a folder, or write off", err)
	}
	return filepath.Join(folder, "tandem", "columns"), nil
}

// columnCache caches the columns of files. It never fails: a problem costs time, and adds a
// note.
type columnCache struct {
	folder   cache.Folder // empty: caches nothing
	bytesMin int64        // size of the smallest file that is cached
	notes    []string
}

func newColumnCache(setting string) *columnCache {
	switch setting {
	case job.CacheOff:
		return &columnCache{}
	case "":
		folder, err := CacheFolder()
		if err != nil { // a system without a home folder; the user did not ask for a cache
			return &columnCache{}
		}
		return &columnCache{folder: cache.Folder(folder), bytesMin: cachedBytesMin}
	}
	return &columnCache{folder: cache.Folder(setting)}
}

func (c *columnCache) addNote(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// read returns the rows of a file: the cached ones if the file has not changed, or else those
// of parse, which it caches.
func (c *columnCache) read(f *format, path string, dropped *droppedRows, parse func() (*batch.Batch, error)) (
	*batch.Batch, error) {
	info, err := os.Stat(path)
	if err != nil || c.folder == "" || info.Size() < c.bytesMin || !info.Mode().IsRegular() {
		return parse()
	}
	key, err := f.cacheKey(path)
	if err != nil {
		c.addNote("cache: %v: columns are not kept", err)
		return parse()
	}
	rows, err := c.folder.Load(key)
	if err == nil && f.matches(rows) && dropped.count+rows.Dropped <= dropped.policy.Skip {
		dropped.addCached(path, rows)
		return rows.Batch, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.addNote("%v: %s is read again", err, path)
	}
	dropped.nextFile()
	parsed, err := parse()
	if err != nil {
		return nil, err
	}
	after, err := f.cacheKey(path)
	if err == nil && slices.Equal(after.Sources, key.Sources) {
		err = c.folder.Store(key, f.cacheRows(parsed, dropped))
	} else {
		err = cmp.Or(err, fmt.Errorf("cache: %s changed while it was read", path))
	}
	if err != nil {
		c.addNote("%v: the columns of %s are not kept, and it is read again next time", err, path)
	}
	return parsed, nil
}

// cacheKey returns the key of the rows of a file.
func (f *format) cacheKey(path string) (cache.Key, error) {
	settings, err := json.Marshal(struct {
		Version int
		Kind    job.DataKind
		CSV     *job.Table
		// Scales decide which weights of ids can be used, of slots that have some.
		Scales []batch.Scale `json:",omitempty"`
	}{decodingVersion, f.kind, f.table, f.weightScales()})
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

// matches reports whether cached rows have the columns of the format.
func (f *format) matches(rows *cache.Rows) bool {
	return slices.Equal(rows.Slots, slotNames(&f.Schema)) && slices.Equal(rows.Dense, f.Schema.Dense) &&
		slices.Equal(rows.Labels, f.Schema.Labels) && rows.Weight == f.Schema.Weight &&
		slices.Equal(rows.Weighted, f.weightedNames())
}

// weightScales returns the scale of each slot whose ids have weights.
func (f *format) weightScales() (scales []batch.Scale) {
	for _, slot := range f.Schema.Slots {
		if slot.Weighted {
			scales = append(scales, slot.Scale)
		}
	}
	return scales
}

// weightedNames returns the names of the slots whose ids have weights.
func (f *format) weightedNames() (names []string) {
	for _, slot := range f.Schema.Slots {
		if slot.Weighted {
			names = append(names, slot.Name)
		}
	}
	return names
}

func slotNames(schema *batch.Schema) (names []string) {
	for _, slot := range schema.Slots {
		names = append(names, slot.Name)
	}
	return names
}

// cacheRows returns what is cached of parsed rows.
func (f *format) cacheRows(parsed *batch.Batch, dropped *droppedRows) *cache.Rows {
	rows := &cache.Rows{
		Slots: slotNames(&f.Schema), Dense: f.Schema.Dense, Labels: f.Schema.Labels,
		Weight: f.Schema.Weight, Weighted: f.weightedNames(), Batch: parsed,
		Dropped: dropped.count - dropped.countBefore,
	}
	for _, bad := range dropped.firstOfFile {
		rows.BadRows = append(rows.BadRows, cache.BadRow{
			Line: bad.Line, Column: bad.Column, Value: []byte(bad.Value), Reason: bad.Reason,
		})
	}
	return rows
}

// addCached counts the bad rows of cached columns.
func (d *droppedRows) addCached(file string, rows *cache.Rows) {
	d.count += rows.Dropped
	for _, bad := range rows.BadRows {
		if len(d.first) < badRowsKept {
			d.first = append(d.first, &BadRowError{
				File: file, Line: bad.Line, Column: bad.Column, Value: string(bad.Value), Reason: bad.Reason,
			})
		}
	}
}
