package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNotEmpty says that a results folder holds files already.
var ErrNotEmpty = errors.New("folder is not empty")

// Folder is a results folder that is being written. It has a temporary name until it is
// finished, so that a folder under its final name is always complete.
type Folder struct {
	target  string
	working string
}

// DefaultFolder returns the name of a run's results folder if the user gave none:
// results/<time>-<name>, followed by -2, -3, … if another run has that name.
func DefaultFolder(now time.Time, name string) string {
	first := filepath.Join("results", now.Format("20060102-150405")+"-"+name)
	target := first
	for i := 2; taken(target); i++ {
		target = fmt.Sprintf("%s-%d", first, i)
	}
	return target
}

// taken reports whether target exists or is being written.
func taken(target string) bool {
	if exists(target) {
		return true
	}
	siblings, _ := os.ReadDir(filepath.Dir(target)) // none if the folder cannot be read
	return slices.ContainsFunc(siblings, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), workingPrefix(target))
	})
}

// workingPrefix returns how the name of the temporary folder of target begins.
func workingPrefix(target string) string { return "." + filepath.Base(target) + "-" }

// CheckNew returns an [*Error] unless target is empty or does not exist. The error wraps
// ErrNotEmpty if there are files.
func CheckNew(target string) error {
	entries, err := os.ReadDir(target)
	switch {
	case len(entries) > 0:
		return &Error{
			Err:  fmt.Errorf("%s: %w", target, ErrNotEmpty),
			Hint: "results are never overwritten: give --out a new folder",
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return unusable("cannot use "+target+" as a folder", err)
	}
	return nil
}

// unusable returns the error for a folder that cannot be written. It gives only the reason
// of a failed system call, because the path may be a temporary one.
func unusable(what string, err error) error {
	var call *fs.PathError
	if errors.As(err, &call) {
		err = call.Err
	}
	return &Error{Err: fmt.Errorf("%s: %w", what, err), Hint: "give --out a folder that can be written"}
}

// NewFolder creates a folder that Finish will name target. CheckNew must accept target. Its
// errors are of type [*Error].
func NewFolder(target string) (*Folder, error) {
	target = filepath.Clean(target)
	if err := CheckNew(target); err != nil {
		return nil, err
	}
	parent := filepath.Dir(target)
	working, err := makeWorking(parent, workingPrefix(target))
	if err != nil {
		return nil, unusable("cannot create a folder in "+parent, err)
	}
	return &Folder{target: target, working: working}, nil
}

// makeWorking creates a folder with a new name in parent, and parent if it does not exist.
func makeWorking(parent, prefix string) (string, error) {
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return "", err
	}
	working, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", err
	}
	return working, os.Chmod(working, 0o755) // as mkdir does
}

// Path returns the folder to write to.
func (f *Folder) Path() string { return f.working }

// Finish gives the folder its name and returns it.
func (f *Folder) Finish() (string, error) {
	return f.target, f.rename(f.target)
}

// Abandon keeps what has been written under the name TARGET-partial, or TARGET-partial-N if
// that exists, and returns the name. It removes an empty folder and returns "".
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

// exists reports whether there is a file or folder of a name.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// rename gives the folder its final name, and replaces an empty folder of that name.
func (f *Folder) rename(name string) error {
	// Not every system renames onto an empty folder. Remove fails on a folder with files.
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(f.working, name)
}

// Discard removes what has been written, unless the folder was finished or
// abandoned.
func (f *Folder) Discard() {
	// A hidden folder that cannot be removed is not a reason to fail.
	_ = os.RemoveAll(f.working)
}
