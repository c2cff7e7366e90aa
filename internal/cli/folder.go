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

	"tandem/internal/filelock"
)

// ErrNotEmpty says that a results folder holds files already.
var ErrNotEmpty = errors.New("folder is not empty")

// ErrInUse says that another process writes to a results folder.
var ErrInUse = errors.New("another process writes to this folder")

// Folder is a results folder that is being written. It has a temporary name until it is
// finished, so that a folder under its final name is complete, unless its command has said otherwise.
type Folder struct {
	target  string
	working string
	lock    *os.File // nil unless Lock was called
}

// partial is what Abandon appends to the name of a folder.
const partial = "-partial"

// lockName is the name of the file that Lock locks.
const lockName = ".lock"

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

// Unfinished returns the folders that runs with this target have left behind: those that Abandon kept, and
// those of processes that were killed or are still running.
func Unfinished(target string) []string {
	parent, base := filepath.Split(filepath.Clean(target))
	entries, _ := os.ReadDir(filepath.Clean(parent)) // none if the folder cannot be read
	var found []string
	for _, e := range entries {
		kept, numbered := strings.CutPrefix(e.Name(), base+partial+"-")
		working, killed := strings.CutPrefix(e.Name(), workingPrefix(target))
		if e.Name() == base+partial || numbered && isNumber(kept) || killed && isNumber(working) {
			found = append(found, parent+e.Name())
		}
	}
	return found
}

// isNumber reports whether text consists of digits.
func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// ReopenFolder opens a folder that [Unfinished] returns, to write the rest. Finish will name it target.
func ReopenFolder(working, target string) (*Folder, error) {
	if err := CheckNew(target); err != nil {
		return nil, err
	}
	return &Folder{target: filepath.Clean(target), working: filepath.Clean(working)}, nil
}

// Lock keeps other processes from the folder until Finish, Abandon or the end of this process. The error
// wraps ErrInUse if another process has locked the folder.
func (f *Folder) Lock() error {
	file, err := os.OpenFile(filepath.Join(f.working, lockName), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return unusable("cannot write to "+f.working, err)
	}
	if err := filelock.Try(file); err != nil {
		_ = file.Close() // nothing was written
		return &Error{Err: fmt.Errorf("%s: %w", f.working, ErrInUse), Hint: "wait until that run has ended"}
	}
	f.lock = file
	return nil
}

// IsLocked reports whether a process has locked a folder.
func IsLocked(folder string) bool {
	file, err := os.OpenFile(filepath.Join(folder, lockName), os.O_WRONLY, 0)
	if err != nil {
		return false // there is no lock, or it cannot be asked
	}
	defer file.Close() // and gives the lock back
	return filelock.Try(file) != nil
}

// unlock removes the lock.
func (f *Folder) unlock() {
	if f.lock == nil {
		return
	}
	// A file that stays is not a reason to fail: its lock ends with this process.
	_ = os.Remove(f.lock.Name())
	_ = f.lock.Close()
	f.lock = nil
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
	f.unlock()
	return f.target, f.rename(f.target)
}

// Abandon keeps what has been written under the name TARGET-partial, or TARGET-partial-N if
// that exists, and returns the name. A reopened folder that has such a name keeps it. It removes an empty
// folder and returns "".
func (f *Folder) Abandon() (string, error) {
	f.unlock()
	entries, err := os.ReadDir(f.working)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "", os.Remove(f.working)
	}
	if !strings.HasPrefix(filepath.Base(f.working), workingPrefix(f.target)) {
		return f.working, nil
	}
	name := f.target + partial
	for i := 2; exists(name); i++ {
		name = fmt.Sprintf("%s%s-%d", f.target, partial, i)
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
	f.unlock()
	// A hidden folder that cannot be removed is not a reason to fail.
	_ = os.RemoveAll(f.working)
}
