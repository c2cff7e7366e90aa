// Package record keeps the recordings of package algo/exec/replay in folders: a file
// for every role instance. So each process of a run writes its own files, on
// whatever machine, and put into one folder they are the recording of the run.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/algo/exec/replay"
	"tandem/algo/histogram"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
)

// extension ends the names of recorded files.
const extension = ".recording"

// Folder is a recording in the making. It is a driver.Recorder.
type Folder struct {
	path  string
	job   []byte
	files []*os.File
}

// Create makes a folder, if need be, for the recording of a run, or of the roles
// of one process. Job is the resolved job as YAML: whoever replays it makes the
// executor and the rule from it.
func Create(path string, job []byte) (*Folder, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return &Folder{path: path, job: job}, nil
}

// Open implements driver.Recorder. It refuses to write over a file: a process that comes back after another
// that was killed records its role into a file of its own, whose name has the incarnation.
func (f *Folder) Open(at msg.Address, incarnation uint32, cfg *role.Config) (driver.Log, error) {
	name := fmt.Sprintf("%s-%d", at.Role, at.Index)
	if incarnation > 0 {
		name += fmt.Sprintf(".incarnation-%d", incarnation)
	}
	name += extension
	file, err := os.OpenFile(filepath.Join(f.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	f.files = append(f.files, file)
	log, err := replay.NewWriter(file, replay.Header{Role: at, Incarnation: incarnation, Job: f.job, Config: *cfg})
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return log, nil
}

// Close closes the files, after the run. Those of a run that failed stay as they
// are, cut short.
func (f *Folder) Close() error {
	var all []error
	for _, file := range f.files {
		all = append(all, file.Close())
	}
	f.files = nil
	return errors.Join(all...)
}

// measuredName is the file of what the run itself has measured.
const measuredName = "staleness.json"

// Measured is a summary of the staleness that a run itself has measured, as far
// as it does not depend on what happened between roles, which nobody has recorded.
type Measured struct{ Own, Cross, Dense histogram.Summary }

// Measured keeps the staleness that the run has measured beside the recording.
func (f *Folder) Measured(s pace.Staleness) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.path, measuredName), append(text, '\n'), 0o644)
}

// Files are the open files of a recording.
type Files struct {
	Readers []*replay.Reader
	files   []*os.File
	Bytes   int64 // their size
	// Measured is what the run has measured; nil if that was not kept, as where the
	// roles were started by hand.
	Measured *Measured
}

// errNoRecording says that a folder holds no recorded file.
var errNoRecording = errors.New("no recording is there")

// Load opens the recording in a folder. Errors name the file.
func Load(path string) (*Files, error) {
	names, err := filepath.Glob(filepath.Join(path, "*"+extension))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoRecording)
	}
	f := &Files{}
	for _, name := range names {
		if err := f.open(name); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := f.readMeasured(filepath.Join(path, measuredName)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// measuredMax is above the size of any summary of staleness.
const measuredMax = 1 << 20

func (f *Files) readMeasured(name string) error {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer file.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(file, measuredMax)); err == nil {
			err = json.Unmarshal(text, &f.Measured)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (f *Files) open(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	f.files = append(f.files, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.Bytes += info.Size()
	r, err := replay.NewReader(file, filepath.Base(name))
	if err != nil {
		return err
	}
	f.Readers = append(f.Readers, r)
	return nil
}

// Close closes the files.
func (f *Files) Close() {
	for _, file := range f.files {
		_ = file.Close() // nothing was written
	}
}

// Find returns the folders at and below path that hold a recording, in lexical
// order; at least one.
func Find(path string) ([]string, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	var found []string
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := filepath.Dir(name)
		if filepath.Ext(name) == extension && !entry.IsDir() && (len(found) == 0 || found[len(found)-1] != folder) {
			found = append(found, folder)
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: %w; what --record wrote ends in %s", path, errNoRecording, extension)
	}
	return found, err
}
