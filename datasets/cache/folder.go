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

// Folder is a folder of cache files.
type Folder string

// The endings of file names: suffix of cache files, unfinished of files that are being written.
const (
	suffix     = ".columns"
	unfinished = ".unfinished"
)

// Key identifies rows by their sources and by how they were read.
type Key struct {
	Sources []Source `json:"sources"` // at least one: the file, and further files that it needs
	Format  string   `json:"format"`  // everything else that the rows depend on
}

// path returns the cache file of a key. It depends on the path of the source and on the format,
// not on the content of the source.
func (f Folder) path(key Key) string {
	digest := sha256.Sum256([]byte(key.Sources[0].Path + "\n" + key.Format))
	return filepath.Join(string(f), hex.EncodeToString(digest[:12])+suffix)
}

// Load returns the rows of a key. The error wraps fs.ErrNotExist if they were never stored;
// otherwise it says why the stored rows cannot be used.
//
// The rows are mapped, not read: they use memory that the system can reclaim, until the process
// ends. Writing to them changes the memory of this process only.
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
	rows, err := readFor(data, key)
	if err != nil {
		release()
		return nil, fmt.Errorf("cache: %s: %w", path, err)
	}
	return rows, nil
}

// readFor returns the rows of a file if it belongs to a key.
func readFor(data []byte, key Key) (*Rows, error) {
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

// Store writes rows. After an error, no file is left of the attempt.
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
	defer os.Remove(file.Name()) // fails after the rename
	defer file.Close()
	if err := write(file, key, rows); err != nil {
		return err
	}
	if err := file.Close(); err != nil { // may be the first to notice a full disk
		return err
	}
	return os.Rename(file.Name(), path)
}

// Info describes a file of a folder.
type Info struct {
	Path     string
	Source   string // the file that was read; empty if the cache file is invalid or unfinished
	Rows     int
	Bytes    int64
	Modified time.Time
}

// List returns the files of a folder in the order of their sources, or none if the folder does
// not exist.
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
		info := Info{Path: filepath.Join(string(f), file.Name()), Bytes: state.Size(),
			Modified: state.ModTime()}
		if strings.HasSuffix(info.Path, suffix) {
			info.Source, info.Rows = describe(info.Path)
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int {
		return strings.Compare(a.Source+"\n"+a.Path,
			b.Source+"\n"+b.Path)
	})
	return all, nil
}

// describe returns the source of a cache file and its number of rows, or "" if it is invalid.
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

// Clear removes the cache files of a folder, nothing else, and returns their number and size.
// Processes that have loaded them are not affected.
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
