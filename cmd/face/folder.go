package face

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotEmpty says that a results folder holds files already.
var ErrNotEmpty = errors.New("folder is not empty")

// Folder is a results folder in the making. Its files are written beside their
// place, and get there all at once, so that a folder under its final name is
// always whole.
type Folder struct {
	target  string
	working string
}

// NewFolder prepares a folder that will be named target, which must be empty or
// not exist, else the error wraps ErrNotEmpty.
func NewFolder(target string) (*Folder, error) {
	target = filepath.Clean(target)
	entries, err := os.ReadDir(target)
	switch {
	case len(entries) > 0:
		return nil, fmt.Errorf("%s: %w", target, ErrNotEmpty)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	parent := filepath.Dir(target)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, err
	}
	working, err := os.MkdirTemp(parent, "."+filepath.Base(target)+"-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(working, 0o755); err != nil { // as a folder made by hand
		return nil, err
	}
	return &Folder{target: target, working: working}, nil
}

// Path returns where to write.
func (f *Folder) Path() string { return f.working }

// Finish gives the folder its name and returns it.
func (f *Folder) Finish() (string, error) {
	return f.target, f.rename(f.target)
}

// Abandon keeps what has been written, under the name with "-partial" behind
// it, or with a number behind that if there is such a folder, and returns the
// name. Of an empty folder nothing is left and the name is "".
func (f *Folder) Abandon() (string, error) {
	entries, err := os.ReadDir(f.working)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "", os.Remove(f.working)
	}
	name := f.target + "-partial"
	for i := 2; exists(name); i++ {
		name = fmt.Sprintf("%s-partial-%d", f.target, i)
	}
	return name, f.rename(name)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func (f *Folder) rename(name string) error {
	// Not every system renames onto an empty folder; Remove leaves a full one.
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(f.working, name)
}

// Discard removes what has been written, unless the folder was finished or
// abandoned.
func (f *Folder) Discard() {
	// What cannot be removed is a hidden folder, and no reason to fail.
	_ = os.RemoveAll(f.working)
}
