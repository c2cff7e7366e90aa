package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Folder is where cache files are.
type Folder string

// suffix ends the names of cache files, unfinished that of files being written.
const (
	suffix     = ".columns"
	unfinished = ".unfinished"
)

// Key names what rows were read from, and how.
type Key struct {
	Sources []Source `json:"sources"` // at least one: what was read, and what beside it
	Format  string   `json:"format"`  // all that decides how the sources become rows
}

// path returns the file of a key: one for each source and format, whatever state
// the source is in.
func (f Folder) path(key Key) string {
	digest := sha256.Sum256([]byte(key.Sources[0].Path + "\n" + key.Format))
	return filepath.Join(string(f), hex.EncodeToString(digest[:12])+suffix)
}

// Load returns the rows of a key. The error is fs.ErrNotExist if they were never
// kept, and else says why what was kept cannot be used.
//
// The rows are mapped, not read: they take memory that the system may take back,
// for as long as the process lives. Writing to them changes the memory of this
// process only.
//
// Cost: reading the file once, for its checksums.
func (f Folder) Load(key Key) (*Rows, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("cache: files are little-endian, this machine is not")
	}
	path := f.path(key)
	data, release, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	rows, err := check(data, key)
	if err != nil {
		release()
		return nil, fmt.Errorf("cache: %s: %w", path, err)
	}
	return rows, nil
}

// check returns the rows of a file, if they are those of a key.
func check(data []byte, key Key) (*Rows, error) {
	h, begin, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	if h.Key.Format != key.Format || len(h.Key.Sources) != len(key.Sources) {
		return nil, errForeign
	}
	for i, source := range key.Sources {
		if h.Key.Sources[i] != source {
			return nil, fmt.Errorf("%s has changed since", source.Path)
		}
	}
	return read(data, h, begin)
}

// Store keeps rows. The error says why it could not; nothing is left of the
// attempt then.
func (f Folder) Store(key Key, rows *Rows) error {
	err := f.store(key, rows)
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}

func (f Folder) store(key Key, rows *Rows) error {
	if err := os.MkdirAll(string(f), 0o777); err != nil {
		return err
	}
	path := f.path(key)
	file, err := os.CreateTemp(string(f), filepath.Base(path)+".*"+unfinished)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // in vain once it is renamed
	defer file.Close()
	if err := write(file, key, rows); err != nil {
		return err
	}
	if err := file.Close(); err != nil { // a full disk may be noticed only now
		return err
	}
	return os.Rename(file.Name(), path)
}

// Info describes a file of a folder.
type Info struct {
	Path     string
	Source   string // what was read; empty if the file cannot be used or is unfinished
	Rows     int
	Bytes    int64
	Modified time.Time
}

// List returns the files of a folder, by source; none if there is no folder.
func (f Folder) List() ([]Info, error) {
	files, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	var all []Info
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), suffix) && !strings.HasSuffix(file.Name(), unfinished) {
			continue
		}
		state, err := file.Info()
		if err != nil { // another process has removed it
			continue
		}
		info := Info{Path: filepath.Join(string(f), file.Name()), Bytes: state.Size(), Modified: state.ModTime()}
		if strings.HasSuffix(info.Path, suffix) {
			info.Source, info.Rows = describe(info.Path)
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Source+"\n"+a.Path, b.Source+"\n"+b.Path) })
	return all, nil
}

// describe returns what was read to make a file, and its rows; "" if it cannot be
// used.
func describe(path string) (source string, rows int) {
	data, release, err := mapFile(path)
	if err != nil {
		return "", 0
	}
	defer release()
	h, _, err := readHeader(data)
	if err != nil || len(h.Key.Sources) == 0 {
		return "", 0
	}
	return h.Key.Sources[0].Path, h.Rows
}

// Clear removes the files of a folder and nothing else, and returns their number
// and size. Processes that use them go on.
func (f Folder) Clear() (files int, bytes int64, err error) {
	all, err := f.List()
	if err != nil {
		return 0, 0, err
	}
	for _, info := range all {
		if err := os.Remove(info.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, bytes, fmt.Errorf("cache: %w", err)
		}
		files, bytes = files+1, bytes+info.Bytes
	}
	return files, bytes, nil
}
