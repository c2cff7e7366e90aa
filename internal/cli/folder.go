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

// Folder is a results folder in the making. Its files are written beside their
// place, and get there all at once, so that a folder under its final name is
// always whole.
type Folder struct {
	target  string
	working string
}

// DefaultFolder names the results folder of a run for which the user named none:
// results/<time>-<name>, with -2, -3, … behind it if another run has that name.
func DefaultFolder(now time.Time, name string) string {
	first := filepath.Join("results", now.Format("20060102-150405")+"-"+name)
	target := first
	for i := 2; taken(target); i++ {
		target = fmt.Sprintf("%s-%d", first, i)
	}
	return target
}

// taken tells whether target exists or is in the making.
func taken(target string) bool {
	if exists(target) {
		return true
	}
	siblings, _ := os.ReadDir(filepath.Dir(target)) // none, if it cannot be read
	return slices.ContainsFunc(siblings, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), workingPrefix(target)) })
}

// workingPrefix is how the hidden folder begins that will become target.
func workingPrefix(target string) string { return "." + filepath.Base(target) + "-" }

// CheckNew returns an error unless target is empty or does not exist: a *Fault
// that wraps ErrNotEmpty if there are files.
func CheckNew(target string) error {
	entries, err := os.ReadDir(target)
	switch {
	case len(entries) > 0:
		return &Fault{
			Err:  fmt.Errorf("%s: %w", target, ErrNotEmpty),
			Hint: "results are never overwritten: give --out a new folder",
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return unusable("cannot use "+target+" as a folder", err)
	}
	return nil
}

// unusable returns a fault for a folder that files cannot get into. Of a system
// call's error it gives the reason alone, as the path may be a hidden one.
func unusable(what string, err error) error {
	var call *fs.PathError
	if errors.As(err, &call) {
		err = call.Err
	}
	return &Fault{Err: fmt.Errorf("%s: %w", what, err), Hint: "give --out a folder that can be written"}
}

// NewFolder prepares a folder that will be named target, for which CheckNew must
// hold. Errors are a *Fault.
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

// makeWorking makes a folder of a new name in parent, and parent if need be.
func makeWorking(parent, prefix string) (string, error) {
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return "", err
	}
	working, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", err
	}
	return working, os.Chmod(working, 0o755) // as a folder made by hand
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
